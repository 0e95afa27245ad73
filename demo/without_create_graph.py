"""Without create_graph a gradient has no graph of its own: torch says so, and nothing hides it."""

import argparse

import torch

from tb_gradgraph import SummaryWriter


def main(logdir: str) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    z = x * x * y
    with SummaryWriter(logdir) as writer:
        graph = writer.add_grad_graph(z)
        (dx,) = torch.autograd.grad(z, x)
        try:
            torch.autograd.grad(dx, x)
        except RuntimeError as error:
            writer.add_text("second derivative", str(error))
            print(f"torch: {error}")
    print(f"dz/dx = {graph['x'].gradient.item():g}, and no graph behind it: {dx.grad_fn}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/without_create_graph", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
