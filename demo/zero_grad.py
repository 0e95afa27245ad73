"""model.zero_grad() against optimizer.zero_grad(), of an optimizer that owns more than the model."""

import argparse

import torch

from tb_gradgraph import SummaryWriter

X = torch.tensor([[1.0, 2.0], [3.0, -1.0]])


def train(writer: SummaryWriter, zeroed: str) -> None:
    model = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.eye_(model.weight)
    pref_vec = torch.nn.Parameter(torch.tensor([1.0, -1.0]))
    optimizer = torch.optim.SGD([*model.parameters(), pref_vec], lr=0.01)
    with writer.watch(model, optimizer=optimizer, every_n_steps=1, tag=f"{zeroed}.zero_grad"):
        for step in range(3):
            if zeroed == "model":
                model.zero_grad()  # leaves pref_vec.grad as it is
            else:
                optimizer.zero_grad()
            loss = (model(X) @ pref_vec).square().mean()
            loss.backward()
            print(f"{zeroed}.zero_grad, step {step}: pref_vec.grad {pref_vec.grad.tolist()}")
            optimizer.step()


def main(logdir: str) -> None:
    with SummaryWriter(logdir) as writer:
        train(writer, "optimizer")
        train(writer, "model")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/zero_grad", help="where to write (%(default)s)")
    main(**vars(parser.parse_args()))
