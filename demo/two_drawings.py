"""One graph, drawn forward and backward: as plain tensors, and as a module."""

import argparse

import torch
from torch import nn

from tb_gradgraph import SummaryWriter


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.tensor(2.0))
        self.w2 = nn.Parameter(torch.tensor(3.0))
        self.w3 = nn.Parameter(torch.tensor(4.0))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        l1 = input * self.w1
        l2 = l1 + self.w2
        l3 = l1 * self.w3
        l4 = l2 * l3
        return l4.mean()


def log_tensors(writer: SummaryWriter) -> None:
    input = torch.ones(2, 2)
    w1 = torch.tensor(2.0, requires_grad=True)
    w2 = torch.tensor(3.0, requires_grad=True)
    w3 = torch.tensor(4.0, requires_grad=True)
    l1 = input * w1
    l2 = l1 + w2
    l3 = l1 * w3
    l4 = l2 * l3
    loss = l4.mean()
    graph = writer.add_grad_graph(loss, tag="tensors")
    loss.backward()
    for name in ("w1", "w2", "w3", "l1", "l2", "l3", "l4", "loss"):
        tensor = graph[name]
        print(
            f"{name:4} value {tensor.value.ravel()[0]:3g}, gradient {tensor.gradient.ravel()[0]:g}"
        )


def main(logdir: str) -> None:
    with SummaryWriter(logdir) as writer:
        log_tensors(writer)
        print(writer.add_grad_graph(Net(), torch.ones(2, 2), tag="module"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/two_drawings", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
