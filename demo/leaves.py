"""Leaf and non-leaf: .grad is kept on leaves alone, the record has every tensor's gradient."""

import argparse
import warnings

import torch

from tb_gradgraph import SummaryWriter


def main(logdir: str) -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y1 = x + 1
    y2 = 2 * x
    loss = (y1 - y2) ** 2
    hooked = {}
    y1.register_hook(lambda gradient: hooked.update(y1=gradient.item()))
    y2.register_hook(lambda gradient: hooked.update(y2=gradient.item()))
    loss.retain_grad()

    with SummaryWriter(logdir) as writer:
        graph = writer.add_grad_graph(loss)
        loss.backward()

    torch_says = {"x": x.grad.item(), **hooked, "loss": loss.grad.item()}
    for name, gradient in torch_says.items():
        tensor = graph[name]
        kind = "leaf" if tensor.is_leaf else "non-leaf"
        keeps = ", retains grad" if tensor.retains_grad else ""
        print(f"{name:4} {kind}{keeps}: {tensor.gradient.item():g}, torch's own {gradient:g}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns whoever looks at .grad of a non-leaf
        print(f"y1.grad is {y1.grad}, y2.grad is {y2.grad}: nothing that was not asked for")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/leaves", help="where to write (%(default)s)")
    main(**vars(parser.parse_args()))
