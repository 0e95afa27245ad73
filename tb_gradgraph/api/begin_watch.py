"""Check the arguments of ``watch``, and attach a watch."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import operator
import warnings
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from tb_gradgraph.api.processes import warn_of_parts
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
) -> Watch:
    """Attach a watch to a training; see ``watch``. Without a log the watch records nothing.

    Raises:
        CaptureError: An argument is invalid; then nothing is attached.
    """
    check_parts("watch", WHERE)
    _check_model(model)
    optimizers = _optimizers(optimizer)
    _check_numbers(every_n_steps, budget)
    _check_memory(update_memory)
    if request.level not in LEVELS:
        raise CaptureError(f"{WHERE}: expected level to be one of {LEVELS}, got {request.level!r}.")
    check_values(request)
    if not isinstance(scalars, bool):
        raise CaptureError(f"{WHERE}: expected scalars to be True or False, got {scalars!r}.")
    for selector in (request.select, request.exclude, request.retain):
        check_selector(selector, WHERE)
    frame = user_frame()
    scaler = _scaler(grad_scaler)
    if log is None:
        return IdleWatch(tag or class_name(model), every_n_steps, "this process has no writer")
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
    setting = Setting(
        tag=name,
        parameters=parameters,
        structures=_structures(parameters, model, request, placement, own),
        follows_modules=request.level != "param",
        scaler=scaler,
        is_open=lambda: log.session.is_open,
        tell_end=partial(_tell_end, log, name),
        write_graph=log.session.write_graph,
        write_later=log.session.write_later,
        update_memory=update_memory,
        is_opaque=bool(placement),
        prefixes=prefixes_of(optimizers),
        level=request.level,
        reads_values=bool(request.value_level),
        own=own,
    )
    watch = Watch(setting, model, optimizers, Cadence(every_n_steps, budget), strict)
    log.describe(mesh_of(parameters.tensors))
    log.watches.append(watch)
    log.session.draw_scalars(name, scalars, is_named=tag is not None)
    log.session.add_holder(watch)
    return watch


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
        if not any(id(parameter) in owned for parameter in held):
            warnings.warn(
                f"{WHERE}: expected an optimizer of the model's parameters, got {type(optimizer).__name__} "
                "that holds none of them. Its steps are counted, but its changes to the model are not "
                "recorded. If it should update the model's own parameters, create it after the model, from "
                "model.parameters(). If it updates copies of them (master weights), ignore this.",
                UserWarning,
                stacklevel=4,
            )


def _check_numbers(every_n_steps: Any, budget: Any) -> None:
    try:
        steps = 0 if isinstance(every_n_steps, bool) else operator.index(every_n_steps)
    except TypeError:
        steps = 0
    if steps < 1:
        raise CaptureError(
            f"{WHERE}: expected every_n_steps to be an integer of at least 1, got {every_n_steps!r}."
        )
    if budget is not None and not (isinstance(budget, (int, float)) and 0 < budget < 1):
        raise CaptureError(
            f"{WHERE}: expected budget to be a share of the time between 0 and 1, such as 0.02, got "
            f"{budget!r}."
        )


def _check_memory(update_memory: Any) -> None:
    if isinstance(update_memory, bool) or not isinstance(update_memory, int) or update_memory < 0:
        raise CaptureError(
            f"{WHERE}: expected update_memory to be a number of bytes such as 256 * 2**20, or 0, got "
            f"{update_memory!r}."
        )


def _scaler(given: Any) -> Any:
    if given is not None and not isinstance(given, torch.amp.GradScaler):
        raise CaptureError(
            f"{WHERE}: expected grad_scaler to be a torch.amp.GradScaler, got "
            f"{type(given).__name__}."
        )
    return given
