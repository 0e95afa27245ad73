"""B trains on A's detached output: the cut is in the graph, and A says why it learns nothing."""

import argparse

import torch
from torch import nn

from tb_gradgraph import SummaryWriter


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.A = nn.Linear(2, 3)
        self.B = nn.Linear(3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.A(x)
        return self.B(features.detach())


def main(logdir: str) -> None:
    torch.manual_seed(0)
    pair = Pair()
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with SummaryWriter(logdir) as writer:
        graph = writer.add_grad_graph(pair, x)
    for name, _ in pair.named_parameters():
        tensor = graph[name]
        print(f"{name}: {tensor.node.note if tensor.gradient is None else tensor.gradient}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/detached", help="where to write (%(default)s)")
    main(**vars(parser.parse_args()))
