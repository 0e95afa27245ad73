"""The chain rule at x = 3: two paths lead from x to the loss, and their gradients add up."""

import argparse

import torch

from tb_gradgraph import SummaryWriter


def main(logdir: str) -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y1 = x + 1
    y2 = 2 * x
    loss = (y1 - y2) ** 2

    with SummaryWriter(logdir) as writer:
        graph = writer.add_grad_graph(loss, global_step=0)
        loss.backward()  # recorded as it runs

    for name in ("loss", "y1", "y2", "x"):
        tensor = graph[name]
        print(
            f"{name:4} = {tensor.value.item():3g}, d loss/d {name:4} = {tensor.gradient.item():3g}"
        )
    print(f"x's gradient is the sum over its two paths: {-4 * 1} through y1 and {4 * 2} through y2")
    print(f".grad is where torch leaves it, on the leaf alone: {x.grad.item():g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/chain_rule", help="where to write (%(default)s)")
    main(**vars(parser.parse_args()))
