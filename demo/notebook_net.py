"""A net of one weight and one bias: torch's add_graph and add_grad_graph side by side."""

import argparse

import torch
from torch import nn

from tb_gradgraph import SummaryWriter


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, 1))
        self.b = nn.Parameter(torch.zeros(1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.w + self.b


def main(logdir: str) -> None:
    torch.manual_seed(0)
    net = Net()
    x = torch.rand(10, 2)
    with SummaryWriter(logdir) as writer:
        writer.add_graph(net, input_to_model=x)
        graph = writer.add_grad_graph(net, input_to_model=x)

    print(graph)
    print("w", graph["w"].gradient.ravel(), "= the sum of x over its rows", x.sum(0).numpy())
    print("b", graph["b"].gradient.ravel(), "= the number of rows")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/notebook_net", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
