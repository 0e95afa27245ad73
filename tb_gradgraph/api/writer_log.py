"""What one summary writer has logged: its session, tags, steps and passes."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import os
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import torch

from tb_gradgraph.api.grad_graph import BackwardPass, GradGraph
from tb_gradgraph.api.processes import describe_process, process_rank, warn_if_alone, world_size
from tb_gradgraph.api.recorder import GraphRecorder, Request, forward_record_of, record_of
from tb_gradgraph.api.trackers import writer_of
from tb_gradgraph.autograd import class_name_of, unwrapped
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.graph import Graph, is_step
from tb_gradgraph.health import findings_of_run
from tb_gradgraph.ranks import rank_directory
from tb_gradgraph.record import MAX_TAG_BYTES, RankWriter, Session, WriterSink
from tb_gradgraph.training import Watch

#: Attribute of a writer that holds our log of it.
_ATTRIBUTE = "_tb_gradgraph"


def graph_log_of(writer: Any, where: str) -> GraphLog | None:
    """Return the log of ``writer``, made at the first call; None if this process has no writer.

    Raises:
        WriterError: The writer is closed, or of an unknown kind.
    """
    target = writer_of(writer, where)
    if target is None:
        return None
    log = getattr(target, _ATTRIBUTE, None)
    if isinstance(log, GraphLog):
        log.check_open()
        log.reopen()
        return log
    log = GraphLog(target, where)
    setattr(target, _ATTRIBUTE, log)
    _flush_and_close_with(target, log)
    return log


def default_tag(model: torch.nn.Module | None, graph: Graph) -> str:
    """Return the default tag: the name of the model's class, or of the tensor that the graph ends in."""
    if model is not None:
        return class_name(model)
    return next(node.name for node in graph.nodes if node.kind == "root")


def class_name(model: torch.nn.Module) -> str:
    """Return the name of a model's class, not of its wrapper."""
    return class_name_of(type(unwrapped(model)))


@dataclasses.dataclass(slots=True)
class _TagState:
    """One tag: the model that owns it, and its last step."""

    model: weakref.ref[torch.nn.Module] | None
    step: int = -1
    passes: int = 0


class GraphLog:
    """Gives each graph its tag and step, and passes graphs and records to the session."""

    def __init__(self, writer: Any, where: str) -> None:
        self._sink = WriterSink(writer, where)
        #: The run's directory, if the writer tells it and it is one of this machine; otherwise "".
        self.directory = _directory_of(writer)
        self._of_rank: RankWriter | None = None  # of a process above rank 0
        if (rank := process_rank()) and world_size() > 1:
            self._of_rank = RankWriter(writer, rank_directory(self._sink.directory, rank))
            self._sink = WriterSink(self._of_rank, where)
            self.directory = self.directory and self._sink.directory
        self._session = self._new_session()
        self._closed = False
        self._tags: dict[str, _TagState] = {}
        self.watches: list[Watch] = []  # closed with the writer
        self._bare: dict[tuple[str, int], None] = {}  # structures whose backward has not run yet

    def check_open(self) -> None:
        """Raise WriterError if the writer was closed."""
        self._sink.check_open()

    def reopen(self) -> None:
        """Begin a new session if a closed writer is used again, as trainers' loggers do."""
        if self._closed:
            self._session, self._closed = self._new_session(), False

    def _new_session(self) -> Session:
        session = Session(
            self._sink.add_summary,
            flush_writer=self._sink.flush,
            torch_version=torch.__version__,
            disk=self._sink,
        )
        self._mesh: dict[str, tuple[int, int]] = {}
        session.describe(describe_process({}))
        return session

    def describe(self, mesh: Mapping[str, tuple[int, int]]) -> None:
        """Record which process this is, and its place in a mesh."""
        self._mesh.update(mesh)
        self._session.describe(describe_process(self._mesh))

    def recorder(
        self,
        model: torch.nn.Module | None,
        tag: str | None,
        global_step: int | None,
        request: Request,
    ) -> GraphRecorder:
        """Return a recorder for one graph at ``global_step``, or at the tag's next step."""
        step = _checked_step(global_step, request.where)
        place = _Place(self, model, _checked_tag(tag, request.where), step)
        return GraphRecorder(place.name, model, request, place.write_structure, place.write_pass)

    def watch_tag(self, model: torch.nn.Module, tag: str | None, where: str) -> str:
        """Return the tag that a training of ``model`` is recorded under."""
        checked = _checked_tag(tag, where)
        name = checked or _free_tag(self._tags, class_name(model), model)
        self._tags.setdefault(name, _TagState(weakref.ref(model)))
        return name

    @property
    def session(self) -> Session:
        """The session that takes graphs and records."""
        return self._session

    def flush(self) -> None:
        """Write everything recorded so far to the writer's file."""
        self._session.flush()

    def findings(self, tag: str) -> list[RunFinding]:
        """Return what looks wrong in a training, from what is in the writer's directory by now."""
        if not self._closed:
            self.flush()
            self._sink.flush()
        return findings_of_run(self._sink.directory, tag)

    def close(self) -> None:
        """Write what is left, and warn of graphs that no backward ran over. A second call does nothing."""
        with contextlib.ExitStack() as stack:  # a strict watch raises when it is closed
            if self._of_rank is not None:
                stack.callback(self._of_rank.close)
            stack.callback(self._session.close)
            for watch in self.watches:
                stack.callback(watch.close)
            self.watches.clear()
            self._closed = True
        mesh, self._mesh = self._mesh, {}
        if mesh and self.directory and not process_rank():
            warn_if_alone(self.directory)
        bare, self._bare = self._bare, {}
        if bare:
            tag, step = next(iter(bare))
            more = f" (and {len(bare) - 1} more)" if len(bare) > 1 else ""
            warnings.warn(
                f"add_grad_graph(): no backward ran over graph {tag!r} of step {step}{more} before "
                "the writer was closed; the structure is kept without gradients.",
                UserWarning,
                stacklevel=3,
            )


class _Place:
    """Where one graph goes: tag, step and number of its next backward pass."""

    def __init__(
        self, log: GraphLog, model: torch.nn.Module | None, tag: str | None, step: int | None
    ) -> None:
        self._log = log
        self._model = model
        self._tag = tag
        self._step = step

    def name(self, graph: Graph) -> str:
        """Return the tag; another model of the same class gets its own tag."""
        tags = self._log._tags
        name = self._tag or default_tag(self._model, graph)
        if self._tag is None and self._model is not None:
            name = _free_tag(tags, name, self._model)
        state = tags.get(name)
        if state is None:
            owner = None if self._model is None else weakref.ref(self._model)
            state = tags[name] = _TagState(owner)
        step = state.step + 1 if self._step is None else self._step
        if step != state.step:
            state.step, state.passes = step, 0
        self._state, self._step = state, step
        return name

    def write_structure(self, graph: GradGraph) -> None:
        """Write a graph whose backward the user will run."""
        self._first = self._state.passes
        if self._model is None:
            self._log._session.write_graph(graph.tag, graph.graph)
            self._write(graph, 0, None)

    def write_pass(self, graph: GradGraph, number: int, found: BackwardPass) -> None:
        """Write one backward pass. The first pass of a model also writes its graph."""
        if self._model is not None:
            self._log._session.write_graph(graph.tag, graph.graph)
        self._write(graph, number, found)

    def _write(self, graph: GradGraph, number: int, found: BackwardPass | None) -> None:
        if self._step is None:
            raise AssertionError("name() fixes the step before anything is written")
        number += self._first
        self._state.passes = max(self._state.passes, number + 1)
        if found is None:
            self._log._bare[graph.tag, self._step] = None
        else:
            self._log._bare.pop((graph.tag, self._step), None)
        forward = forward_record_of(graph, self._step, number)
        if forward is not None:
            self._log._session.write_record(forward)
        self._log._session.write_record(record_of(graph, self._step, number, found))


def _free_tag(tags: dict[str, _TagState], name: str, model: torch.nn.Module) -> str:
    candidate, ordinal = name, 1
    while candidate in tags:
        owner = tags[candidate].model
        if owner is not None and owner() is model:
            return candidate
        ordinal += 1
        candidate = f"{name}_{ordinal}"
    return candidate


def _checked_step(step: Any, where: str) -> int | None:
    if step is None:
        return None
    value: Any = step.item() if isinstance(step, torch.Tensor) and step.numel() == 1 else step
    try:
        number = operator.index(value)
    except TypeError:
        raise CaptureError(
            f"{where}: expected global_step to be an integer, got {value!r}."
        ) from None
    if not is_step(number):
        raise CaptureError(f"{where}: expected global_step to fit in 64 bits, got {number}.")
    return number


def _checked_tag(tag: Any, where: str) -> str | None:
    if tag is None:
        return None
    if not isinstance(tag, str) or not tag:
        raise CaptureError(
            f"{where}: expected tag to be a string of at least one letter, got {tag!r}."
        )
    if len(tag.encode(errors="replace")) > MAX_TAG_BYTES:
        raise CaptureError(
            f"{where}: expected a tag of at most {MAX_TAG_BYTES} bytes, got {len(tag)} letters."
        )
    return tag


def _directory_of(writer: Any) -> str:
    found = getattr(writer, "log_dir", None) or getattr(writer, "logdir", None)
    return os.path.abspath(found) if isinstance(found, str) and os.path.isdir(found) else ""


def _flush_and_close_with(writer: Any, log: GraphLog) -> None:
    """Make the writer's ``flush`` and ``close`` call ours first."""
    for name, first in (("flush", log.flush), ("close", log.close)):
        setattr(writer, name, _after(first, getattr(writer, name)))


def _after(first: Any, then: Any) -> Any:
    def both(*args: Any, **kwargs: Any) -> Any:
        try:
            first()
        finally:
            result = then(*args, **kwargs)
        return result

    return both
