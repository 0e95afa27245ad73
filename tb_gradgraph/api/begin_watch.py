"""Check the arguments of ``watch``, and attach a watch."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from tb_gradgraph.api.arguments import check_cadence, check_update_memory
from tb_gradgraph.api.at_step.reaction import OnFinding, Reaction, check_on_finding
from tb_gradgraph.api.at_step.writing import Writing
from tb_gradgraph.api.processes import check_ranks, warn_of_parts, why_idle
from tb_gradgraph.api.recorder import Request, check_values, warn_of_large
from tb_gradgraph.api.writer_log import GraphLog, class_name
from tb_gradgraph.autograd import (
    LEVELS,
    BuiltGraph,
    TrainingForward,
    build_training_graph,
    check_parts,
    check_selector,
    matching_rows,
    mesh_of,
    placement_in,
    selected_rows,
    user_frame,
    warn_of_nothing,
)
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.graph import Graph
from tb_gradgraph.statistics import RETAIN_LIMIT, WHOLE_LIMIT
from tb_gradgraph.training import (
    Cadence,
    IdleWatch,
    OwnCalls,
    OwnRows,
    Parameters,
    Setting,
    Structures,
    Watch,
    followed,
    own_rows,
    prefixes_of,
    registered,
    why_not_followed,
)

WHERE = "watch()"


def begin_watch(
    log: GraphLog | None,
    model: Any,
    optimizer: Any,
    grad_scaler: Any,
    every_n_steps: int,
    tag: str | None,
    request: Request,
    budget: float | None,
    update_memory: int,
    strict: bool,
    scalars: bool = False,
    on_finding: OnFinding = "warn",
    keep_batch: bool = False,
    ranks: Any = "shards",
) -> Watch:
    """Attach a watch to a training; see ``watch``. Without a log the watch records nothing.

    Raises:
        CaptureError: An argument is invalid; then nothing is attached.
    """
    check_parts("watch", WHERE)
    _check_model(model)
    optimizers = _optimizers(optimizer)
    check_cadence(every_n_steps, budget)
    check_update_memory(update_memory)
    if request.level not in LEVELS:
        raise CaptureError(f"{WHERE}: expected level to be one of {LEVELS}, got {request.level!r}.")
    check_values(request)
    if not isinstance(scalars, bool):
        raise CaptureError(f"{WHERE}: expected scalars to be True or False, got {scalars!r}.")
    check_on_finding(on_finding, WHERE)
    if not isinstance(keep_batch, bool):
        raise CaptureError(f"{WHERE}: expected keep_batch to be True or False, got {keep_batch!r}.")
    for selector in (request.select, request.exclude, request.retain):
        check_selector(selector, WHERE)
    frame = user_frame()
    scaler = _scaler(grad_scaler)
    check_ranks(ranks, WHERE)
    idle = "this process has no writer" if log is None else why_idle(model, ranks)
    if log is None or idle:
        return IdleWatch(tag or class_name(model), every_n_steps, idle)
    name = log.watch_tag(model, tag, WHERE)
    for earlier in [watch for watch in log.watches if watch.tag == name]:
        earlier.end()
        log.watches.remove(earlier)
    placement = placement_in(model)  # if there is one, optimizers step copies of parameters
    parameters = Parameters(model, [] if placement else optimizers, frame)
    if not parameters.tensors:
        raise CaptureError(f"{WHERE}: expected a model with parameters, got one without any.")
    if not placement:  # otherwise optimizers may hold parts that the wrapper made
        _warn_of_strangers(model, optimizers)
    warn_of_parts(model, WHERE, 5)
    own = OwnCalls(registered())
    writing = Writing(log.session, None if on_finding is None else Reaction(name, on_finding))
    setting = Setting(
        tag=name,
        parameters=parameters,
        structures=_structures(parameters, model, request, placement, own),
        follows_modules=request.level != "param",
        scaler=scaler,
        is_open=lambda: log.session.is_open,
        tell_end=partial(_tell_end, log, name),
        write_graph=writing.write_graph,
        write_later=writing.write_later,
        write_facts=writing.write_facts,
        flush=log.session.flush,
        update_memory=update_memory,
        is_opaque=bool(placement),
        prefixes=prefixes_of(optimizers),
        level=request.level,
        reads_values=bool(request.value_level),
        own=own,
        denser=_denser(model, request, placement),
        find=partial(log.findings, name),
    )
    batches = log.directory if keep_batch else ""
    told = (writing.reaction, batches)
    watch = Watch(setting, model, optimizers, Cadence(every_n_steps, budget), strict, *told)
    log.describe(mesh_of(parameters.tensors))
    log.watches.append(watch)
    log.session.draw_scalars(name, scalars, is_named=tag is not None)
    log.session.add_holder(watch)
    return watch


def _denser(
    model: torch.nn.Module, request: Request, placement: str
) -> Callable[[Setting], Setting]:
    """Return what makes, of a setting, that of steps which are recorded in detail."""
    alive = weakref.ref(model)
    request = dataclasses.replace(request, level="op", values=True)

    def make(setting: Setting) -> Setting:
        model = alive()
        if model is None:
            return setting
        structures = _structures(setting.parameters, model, request, placement, setting.own)
        return dataclasses.replace(
            setting, structures=structures, follows_modules=True, level="op", reads_values=True
        )

    return make


def _tell_end(log: GraphLog, tag: str, step: int, error: Exception) -> None:
    with contextlib.suppress(Exception):
        why = f"{type(error).__name__}: {error}"
        log.session.write_end(f"recording of {tag!r} ended at step {step} by a fault: {why}")


def _structures(
    parameters: Parameters,
    model: torch.nn.Module,
    request: Request,
    placement: str,
    own: OwnCalls,
) -> Structures:
    alive = weakref.ref(model)
    warned = False

    def build(roots: Sequence[Any], forward: TrainingForward) -> BuiltGraph:
        built = build_training_graph(
            roots, forward, parameters.known, parameters.tensors, user_frame()
        )
        if not placement:
            return built
        owned = {index for of, index in built.drawn.items() if of in parameters.known}
        offsets = built.graph.slot_offsets
        rows = {int(offsets[index]): placement for index in owned}
        return dataclasses.replace(built, graph=built.graph.placed(rows))

    def select(built: BuiltGraph) -> tuple[frozenset[int] | None, frozenset[int]]:
        nonlocal warned
        with warnings.catch_warnings():
            if warned:  # warn once, not at every new graph
                warnings.simplefilter("ignore")
            warned = True
            rows = selected_rows(
                built, alive(), request.select, request.exclude, request.level, WHERE
            )
            warn_of_nothing(built, rows, request.level, WHERE)
            retained = matching_rows(built, alive(), request.retain, WHERE)
            warn_of_large(built.graph, retained, WHERE)
        return rows, _small_or(retained, built.graph)

    def select_own(built: BuiltGraph, rows: frozenset[int] | None) -> OwnRows:
        return own_rows(own, built, alive(), rows)

    return Structures(parameters, build, select, request.level != "param", select_own)


def _small_or(retained: set[int], graph: Graph) -> frozenset[int]:
    """Return the rows of tensors to keep whole: small ones, and larger ones that ``retain`` names."""
    slots = enumerate(slot for node in graph.nodes for slot in node.slots)
    sizes = ((row, math.prod(slot.shape)) for row, slot in slots if slot.requires_grad)
    return frozenset(
        row
        for row, size in sizes
        if size <= WHOLE_LIMIT or (row in retained and size <= RETAIN_LIMIT)
    )


def _check_model(model: Any) -> None:
    if not isinstance(model, torch.nn.Module):
        got = model.__name__ if isinstance(model, type) else type(model).__name__
        cure = " Pass the module, not its forward method." if inspect.ismethod(model) else ""
        kind = "the class " if isinstance(model, type) else ""
        raise CaptureError(f"{WHERE}: expected a torch.nn.Module, got {kind}{got}.{cure}")


def _optimizers(given: Any) -> list[torch.optim.Optimizer]:
    if given is None:
        return []
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    if not listed:
        raise CaptureError(
            f"{WHERE}: expected optimizer to be one or several, got an empty list. Leave it out to "
            "count backward passes as steps."
        )
    found = []
    for optimizer in listed:
        is_scheduler = isinstance(optimizer, torch.optim.lr_scheduler.LRScheduler)
        one = optimizer if is_scheduler else followed(optimizer)
        lacks = why_not_followed(one)
        if lacks:
            kind = optimizer if isinstance(optimizer, type) else type(optimizer)
            raise CaptureError(
                f"{WHERE}: expected optimizer to be a torch.optim.Optimizer or several, or what steps "
                f"like one, got {kind.__name__} ({lacks})."
            )
        found.append(one)
    return found


def _warn_of_strangers(model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """Warn of an optimizer that has no parameter of the model, such as one created before the model."""
    owned = {id(parameter) for parameter in model.parameters()}
    for optimizer in optimizers:
        held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        is_of_model = any(id(parameter) in owned for parameter in held)
        if not is_of_model and not _are_masters(list(model.parameters()), held):
            warnings.warn(
                f"{WHERE}: expected an optimizer of the model's parameters, got {type(optimizer).__name__} "
                "that holds none of them. Its steps are counted, but its changes to the model are not "
                "recorded. If it should update the model's own parameters, create it after the model, from "
                "model.parameters(). If it updates copies of them (master weights), ignore this.",
                UserWarning,
                stacklevel=4,
            )


def _are_masters(parameters: Sequence[torch.Tensor], held: Sequence[torch.Tensor]) -> bool:
    """Return whether tensors are like copies of the trained parameters in a type with more digits."""
    trained = [one for one in parameters if one.requires_grad]
    shapes = sorted((tuple(one.shape) for one in held), key=str)
    if shapes != sorted((tuple(one.shape) for one in trained), key=str):
        return False
    longest = max((one.element_size() for one in trained), default=0)
    return all(one.element_size() > longest for one in held)


def _scaler(given: Any) -> Any:
    if given is not None and not isinstance(given, torch.amp.GradScaler):
        raise CaptureError(
            f"{WHERE}: expected grad_scaler to be a torch.amp.GradScaler, got "
            f"{type(given).__name__}."
        )
    return given
