"""A process that loads torch's compiler in a step that is watched already."""

from __future__ import annotations

import sys

import torch

import tb_gradgraph


def main(logdir: str) -> None:
    """Run three steps; print how many graphs torch has compiled."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    own = torch.compile
    with tb_gradgraph.SummaryWriter(logdir) as writer:
        writer.watch(net, every_n_steps=1)
        # An optimizer loads it when it is made.
        assert "torch._dynamo" not in sys.modules
        forward = torch.compile(lambda x: net(x), backend="aot_eager")
        for _ in range(3):
            net.zero_grad()
            forward(torch.ones(4, 3)).square().mean().backward()
    assert torch.compile is own
    from torch._dynamo.utils import counters

    print(counters["stats"]["unique_graphs"], sum(counters["graph_break"].values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
