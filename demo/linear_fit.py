"""A linear fit: every operation as it ran, and what is left of the graph after backward()."""

import argparse

import torch

from tb_gradgraph import SummaryWriter

X = torch.tensor([[-1.0, -1.0], [1.0, 1.0]])
Y = torch.tensor([[2.0, 3.0]])


def fit(writer: SummaryWriter, tag: str, retain_graph: bool) -> None:
    w = torch.tensor([[3.0, 1.0]], requires_grad=True)
    b = torch.tensor([[3.0]], requires_grad=True)
    Y_hat = X @ w.t() + b
    loss = torch.mean((Y_hat - Y) ** 2)

    graph = writer.add_grad_graph(loss, tag=tag)
    loss.backward(retain_graph=retain_graph)
    try:
        loss.backward()
    except RuntimeError as error:  # torch's own: the graph's saved tensors are freed
        writer.add_text(tag, str(error))
        print(f"{tag}: second backward() raised: {error}")
    print(f"{tag}: {len(graph.backward_passes)} recorded, loss {loss.item():g}")
    print(f"{tag}: w.grad {w.grad.tolist()}, b.grad {b.grad.tolist()}")


def main(logdir: str) -> None:
    with SummaryWriter(logdir) as writer:
        fit(writer, "freed", retain_graph=False)
        fit(writer, "retained", retain_graph=True)  # .grad accumulates; the record keeps both


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/linear_fit", help="where to write (%(default)s)")
    main(**vars(parser.parse_args()))
