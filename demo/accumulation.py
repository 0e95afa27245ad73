"""Accumulation: two batches of 64 as one of 128; each one's gradient and what they add up to."""

import argparse

import torch

from tb_gradgraph import SummaryWriter

STEPS = 3
X = torch.randn(STEPS, 128, 3, generator=torch.Generator().manual_seed(0))
Y = X.sum(2, keepdim=True)


def train(writer: SummaryWriter, tag: str, batches: int, zero_grad: bool = True) -> None:
    model = torch.nn.Linear(3, 1)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with writer.watch(model, optimizer=optimizer, every_n_steps=1, tag=tag):
        for step in range(STEPS):
            if zero_grad:
                optimizer.zero_grad()
            for x, y in zip(X[step].chunk(batches), Y[step].chunk(batches)):
                loss = torch.nn.functional.mse_loss(model(x), y) / batches
                loss.backward()
                print(f"{tag}, step {step}: bias.grad {model.bias.grad.item():.4f}")
            optimizer.step()


def main(logdir: str) -> None:
    with SummaryWriter(logdir) as writer:
        train(writer, "one of 128", 1)
        train(writer, "two of 64", 2)
        train(writer, "never zeroed", 1, zero_grad=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/accumulation", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
