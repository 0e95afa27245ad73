"""Check whether recording works with this torch, by recording something."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import os
import pathlib
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

from tb_gradgraph.commands.checked import Checked

_CURE = "use a torch that docs/compatibility.md lists, or report this with the versions above"
_CLOSE = 1e-5


def examine_torch() -> Iterator[Checked]:
    """Import the torch side, record one training step, and read it back; say what is lost."""
    try:
        installed = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return  # another check reports it; viewing logs needs no torch
    if os.environ.get("TB_GRADGRAPH") == "0":
        text = "tb_gradgraph is switched off by TB_GRADGRAPH=0: nothing is recorded"
        yield Checked("note", text, "unset TB_GRADGRAPH")
        return
    try:
        expected, found = _record_a_step()
    except Exception as error:
        text = f"recording fails under torch {installed}: {type(error).__name__}: {error}"
        yield Checked("wrong", text, _CURE)
        yield from _missing_parts()
        return
    wrong = [name for name, norm in expected.items() if not _is_close(found.get(name), norm)]
    if wrong:
        text = f"recorded gradients differ from those of torch {installed}: {', '.join(wrong)}"
        yield Checked("wrong", text, _CURE)
    else:
        yield Checked("ok", f"a training step is recorded and read back under torch {installed}")
    yield from _missing_parts()
    yield from _compiled_statistics()


def _is_close(found: float | None, expected: float) -> bool:
    return found is not None and math.isclose(found, expected, rel_tol=_CLOSE)


def _record_a_step() -> tuple[dict[str, float], dict[str, float]]:
    """Return the gradients' norms as plain torch computes them, and as they were recorded."""
    import torch

    from tb_gradgraph.api import SummaryWriter, capture

    generator = torch.Generator().manual_seed(0)
    net = torch.nn.Linear(3, 2)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.rand(parameter.shape, generator=generator))
    x = torch.ones(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing parts are reported below
        capture(net, x)
        with SummaryWriter(folder) as writer:
            writer.watch(net, optimizer=optimizer, every_n_steps=1, strict=True)
            net(x).square().mean().backward()
            optimizer.step()
        expected = {
            n: float(p.grad.norm()) for n, p in net.named_parameters() if p.grad is not None
        }
        return expected, _norms_in(pathlib.Path(folder))


def _norms_in(folder: pathlib.Path) -> dict[str, float]:
    from tb_gradgraph.record import read_logdir

    found: dict[str, float] = {}
    for run in read_logdir(folder):
        for record in run.records:
            if record.stage == "backward":
                found.update(_norms_of(run.graphs[record.graph_hash], record.table))
    return found


def _norms_of(graph: Any, table: Any) -> dict[str, float]:
    owners = [node for node in graph.nodes for _ in node.slots]
    numbers = ((node, table.row(row)) for row, node in enumerate(owners))
    return {
        node.name: one.l2_norm or 0.0
        for node, one in numbers
        if node.kind == "parameter" and one is not None
    }


def _missing_parts() -> Iterator[Checked]:
    if importlib.util.find_spec("torch") is None:
        return
    try:
        from tb_gradgraph.autograd import missing_parts, names_of
    except ImportError:
        return  # recording failed because of it, as reported above

    for part in missing_parts():
        text = f"torch has no {names_of(part)}; without it these are lost: {part.lost}"
        yield Checked("wrong" if part.stops else "note", text, _CURE)


def _compiled_statistics() -> Iterator[Checked]:
    from tb_gradgraph.summarize import SWITCH, is_available, is_built

    if not is_built():
        text = "there is no compiled code for statistics on the CPU: recording takes several times as long"
        yield Checked("note", text, "install a C compiler, then tb-gradgraph again")
    elif not is_available():
        text = f"compiled statistics are switched off by {SWITCH}=0: recording takes longer"
        yield Checked("note", text, f"unset {SWITCH}")
    else:
        yield Checked("ok", "statistics on the CPU are computed by compiled code")
