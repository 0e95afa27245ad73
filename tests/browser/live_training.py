"""A training that goes on when it is told to: ``python -m tests.browser.live_training LOGDIR``.

Each line of its input is a number of steps; when they are on disk it answers with the number of the last one.
"""

from __future__ import annotations

import sys

import torch
from torch import nn

import tb_gradgraph


def main() -> None:
    """Train until the input ends."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = 0
    with tb_gradgraph.SummaryWriter(sys.argv[1]) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=1)
        for line in sys.stdin:
            for _ in range(int(line)):
                loss = model(torch.randn(16, 4)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("loss", loss.item(), step)
                step += 1
            writer.flush()
            print(step - 1, flush=True)


if __name__ == "__main__":
    main()
