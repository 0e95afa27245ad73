"""The second derivative of z = x*x*y at x = 2, y = 3, in the four ways there are."""

import argparse
import warnings

import torch

from tb_gradgraph import SummaryWriter

# torch warns of backward(create_graph=True) because .grad and its graph hold each other.
warnings.filterwarnings("ignore", "Using backward.. with create_graph=True")


def differentiate_twice(writer: SummaryWriter, first: str, second: str) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    z = x * x * y
    tag = f"{first}, {second}"
    z_graph = writer.add_grad_graph(z, tag=f"{tag}: z")
    if first == "grad":
        (dx,) = torch.autograd.grad(z, x, create_graph=True)
    else:
        z.backward(create_graph=True)
        dx = x.grad
    dx_graph = writer.add_grad_graph(dx, tag=f"{tag}: dx")
    if second == "grad":
        torch.autograd.grad(dx, x)
    else:
        dx.backward()  # adds to x.grad, whatever is in it
    shares = (z_graph["x"].gradient.item(), dx_graph["x"].gradient.item())
    left = "nothing" if x.grad is None else f"{x.grad.item():g}"
    print(f"{tag}: dz/dx {shares[0]:g}, d2z/dx2 {shares[1]:g}; in x.grad: {left}")
    x.grad = None


def main(logdir: str) -> None:
    with SummaryWriter(logdir) as writer:
        for first in ("grad", "backward"):
            for second in ("grad", "backward"):
                differentiate_twice(writer, first, second)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/second_order", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
