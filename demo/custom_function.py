"""A custom Function, MyReLU, in the graph under its own name."""

import argparse

import torch

from tb_gradgraph import SummaryWriter


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.masked_fill(input < 0, 0)


def main(logdir: str) -> None:
    X = torch.tensor([[-1.0, -1.0], [1.0, 1.0]])
    Y = torch.tensor([[2.0, 3.0]])
    w = torch.tensor([[3.0, 1.0]], requires_grad=True)
    b = torch.tensor([[3.0]], requires_grad=True)
    Y_hat = MyReLU.apply(X @ w.t() + b)
    loss = torch.mean((Y_hat - Y) ** 2)
    with SummaryWriter(logdir) as writer:
        graph = writer.add_grad_graph(loss)
        loss.backward()
    for name in ("w", "b", "Y_hat"):
        print(f"gradient of {name}: {graph[name].gradient.tolist()}")
    print(f"{graph['Y_hat'].node.operation}: {graph['Y_hat'].node.note}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/custom_function", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
