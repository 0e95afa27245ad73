"""MAML in small: the query loss is differentiated through the update that the support loss made."""

import argparse

import torch

from tb_gradgraph import SummaryWriter

INNER_LR, OUTER_LR = 0.1, 0.05


def learn(writer: SummaryWriter, w: torch.Tensor, step: int) -> torch.Tensor:
    support_x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    query_x = torch.tensor([[1.0, 1.0], [1.0, -1.0]])

    support_loss = (support_x @ w - 1).square().mean()
    support = writer.add_grad_graph(support_loss, global_step=step, tag="support")
    (inner,) = torch.autograd.grad(support_loss, w, create_graph=True)  # recorded as pass 0
    fast_w = w - INNER_LR * inner
    query_loss = (query_x @ fast_w - 1).square().mean()
    query = writer.add_grad_graph(query_loss, global_step=step, tag="query")
    query_loss.backward()  # through both orders of the graph; pass 1 of the support graph

    print(
        f"step {step}: support loss {support_loss.item():.5g}, query loss {query_loss.item():.5g}"
    )
    print(f"  inner gradient {support.view(0, 0).gradient.tolist()}")
    print(f"  outer gradient {query['w'].gradient.tolist()}, in w.grad {w.grad.tolist()}")
    with torch.no_grad():
        return (w - OUTER_LR * w.grad).requires_grad_()


def main(logdir: str) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with SummaryWriter(logdir) as writer:
        for step in range(3):
            w = learn(writer, w, step)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--logdir", default="runs/meta_learning", help="where to write (%(default)s)"
    )
    main(**vars(parser.parse_args()))
