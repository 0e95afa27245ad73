"""A vector output needs the gradient to begin with: ones, or the weights of several losses."""

import argparse
import warnings
from collections.abc import Callable

import torch

from tb_gradgraph import SummaryWriter

# A graph that no backward ran over is worth a warning, except where that is the point.
warnings.filterwarnings("ignore", r"add_grad_graph\(\): no backward ran")

WAYS: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "sum": lambda x, y: y.sum().backward(),
    "grad_tensors": lambda x, y: torch.autograd.backward(y, grad_tensors=torch.ones(2)),
    "grad_outputs": lambda x, y: torch.autograd.grad(y, x, grad_outputs=torch.ones(2)),
}


def differentiate(writer: SummaryWriter, way: str) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    graph = writer.add_grad_graph(y, tag=way)
    WAYS[way](x, y)
    print(f"{way}: at y {graph['y'].gradient.tolist()}, at x {graph['x'].gradient.tolist()}")


def weigh_two_losses(writer: SummaryWriter) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    squares = (x * x).sum()
    triples = (3 * x).sum()
    graph = writer.add_grad_graph([squares, triples], tag="two losses")
    torch.autograd.backward([squares, triples], [torch.tensor(0.5), torch.tensor(2.0)])
    print(f"0.5 squares + 2 triples: at x {graph['x'].gradient.tolist()}")


def main(logdir: str) -> None:
    with SummaryWriter(logdir) as writer:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        graph = writer.add_grad_graph(y, tag="no gradient given")
        try:
            y.backward()
        except RuntimeError as error:
            writer.add_text("no gradient given", str(error))
            print(f"torch: {error}; {len(graph.backward_passes)} passes recorded")
        for way in WAYS:
            differentiate(writer, way)
        weigh_two_losses(writer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/vector_output", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
