"""Case 22: one of several optimizers misses steps; what each did at the others is recorded all the same."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch

import tb_gradgraph
from tests.logged import read_one_run, read_tensor
from tests.training.loops import Bare, run_both, small_net, state_of

#: Which optimizers step, in order, at each step of a training.
MISSES = {
    "the last misses one": ["ba", "ba", "b", "ba", "ba", "ba"],
    "the first misses one": ["ba", "ba", "a", "ba", "ba", "ba"],
    "each misses one": ["ba", "b", "ba", "a", "ba", "ba"],
    "every second": ["ba", "b", "ba", "b", "ba", "b", "ba", "b"],
    "the last warms up": ["b", "b", "b", "ba", "ba", "ba"],
    "the first warms up": ["a", "a", "a", "ba", "ba", "ba"],
    "one of three": ["abc", "ac", "abc", "ab", "abc", "bc", "abc"],
    "the last of three warm up": ["a", "a", "abc", "abc", "a", "abc"],
}


def _loop(steps: list[str], sets_step: bool = False) -> Any:
    def loop(run: Bare) -> Any:
        net = small_net()
        body, head = net[0], net[-1]
        parts = {"a": body.weight, "b": head.weight, "c": body.bias}
        of = {key: torch.optim.SGD([part], 0.1, momentum=0.5) for key, part in parts.items()}
        used = sorted(set("".join(steps)))
        watch = run.watch(net, optimizer=[of[key] for key in used])
        names = {id(part): name for name, part in net.named_parameters()}
        for step, stepping in enumerate(steps):
            if sets_step and watch is not None:
                watch.step = step
            net.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            for key in stepping:
                named = {names[id(parts[key])]: parts[key]}
                run.note(step, "applied", named)
                with run.stepping(step, named):
                    of[key].step()
        return state_of(net, *of.values())

    return loop


@pytest.mark.parametrize("sets_step", [False, True])
@pytest.mark.parametrize("steps", MISSES.values(), ids=MISSES.keys())
def test_every_update_is_at_its_step(
    steps: list[str], sets_step: bool, tmp_path: pathlib.Path
) -> None:
    """Each gradient, weight norm and update norm is that of plain torch, and there are no others."""
    run_both(_loop(steps, sets_step), tmp_path, level="module")
    _check_who_stepped(tmp_path, steps, every=1)


@pytest.mark.parametrize("steps", MISSES.values(), ids=MISSES.keys())
def test_every_second_step(steps: list[str], tmp_path: pathlib.Path) -> None:
    """A step is begun in time whoever missed the one before: none that is due is lost."""
    torch.manual_seed(0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        run = Bare()
        run.watch = lambda net, **options: writer.watch(net, every_n_steps=2, **options)
        _loop(steps)(run)
    _check_who_stepped(tmp_path, steps, every=2)


def _check_who_stepped(logdir: pathlib.Path, steps: list[str], every: int) -> None:
    run = read_one_run(logdir)
    names = {"a": "0.weight", "b": "2.weight", "c": "0.bias"}
    wanted = {
        (step, names[key])
        for step, stepping in enumerate(steps)
        for key in stepping
        if step % every == 0
    }
    found = {
        (record.step, name)
        for record in run.records
        if record.stage == "applied"
        for name in names.values()
        if (statistics := read_tensor(run, record, name).statistics) is not None
        and statistics.update_norm is not None
    }
    assert found == wanted
