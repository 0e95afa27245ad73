"""Changes in place: one tensor in two versions, and the two errors that torch raises."""

import argparse
import warnings

import torch
from torch import nn

from tb_gradgraph import SummaryWriter

# A graph that no backward ran over is worth a warning, except where that is the point.
warnings.filterwarnings("ignore", r"add_grad_graph\(\): no backward ran")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.w
        y *= 3  # y is another version of itself
        return y.sum()


def modify_what_backward_needs(writer: SummaryWriter) -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = x.exp()  # its backward multiplies by y
    loss = y.sum()
    graph = writer.add_grad_graph(loss, tag="modified")
    y += 1
    try:
        loss.backward()
    except RuntimeError as error:
        writer.add_text("modified", str(error))
        print(f"torch: {error} ({len(graph.backward_passes)} passes recorded)")


def modify_a_leaf(writer: SummaryWriter) -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    writer.add_grad_graph((x * x).sum(), tag="leaf")
    try:
        x += 1
    except RuntimeError as error:
        writer.add_text("leaf", str(error))
        print(f"torch: {error}")


def main(logdir: str) -> None:
    with SummaryWriter(logdir) as writer:
        print(writer.add_grad_graph(Net(), torch.ones(2), tag="versions"))
        modify_what_backward_needs(writer)
        modify_a_leaf(writer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/in_place", help="where to write (%(default)s)")
    main(**vars(parser.parse_args()))
