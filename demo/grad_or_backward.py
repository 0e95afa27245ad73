"""Two 1x1 convolutions, differentiated by autograd.grad and by backward: the same numbers."""

import argparse

import torch
from torch import nn

from tb_gradgraph import SummaryWriter

LR = 0.01


def make_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 2, 1, bias=False), nn.Conv2d(2, 1, 1, bias=False))


def train(writer: SummaryWriter, tag: str) -> None:
    net = make_net()
    first, second = net.parameters()
    inputs = torch.arange(12.0).view(1, 3, 2, 2)
    for step in range(2):
        outputs = net(inputs).sum()
        writer.add_grad_graph(outputs, global_step=step, tag=tag)
        if tag == "grad":
            gradients = torch.autograd.grad(outputs, (first, second))
        else:
            net.zero_grad()
            outputs.backward()
            gradients = (first.grad, second.grad)
        print(f"{tag} {step}: {outputs.item():.6g}, {[g.ravel().tolist() for g in gradients]}")
        with torch.no_grad():
            first -= LR * gradients[0]
            second -= LR * gradients[1]


def main(logdir: str) -> None:
    with SummaryWriter(logdir) as writer:
        train(writer, "grad")
        train(writer, "backward")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/grad_or_backward", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
