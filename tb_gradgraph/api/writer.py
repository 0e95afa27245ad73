"""The user's calls: capture a graph, and write it with its gradients through a summary writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter as TorchSummaryWriter

from tb_gradgraph.api.arguments import names_inputs, names_mistakes
from tb_gradgraph.api.begin_watch import begin_watch
from tb_gradgraph.api.grad_graph import GradGraph
from tb_gradgraph.api.recorder import GraphRecorder, Request
from tb_gradgraph.api.switch import no_graph, no_watch, unless_off
from tb_gradgraph.api.writer_log import default_tag, graph_log_of
from tb_gradgraph.autograd import Selector, capture_model, capture_tensors, check_parts, user_frame
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.training import UPDATE_MEMORY, Watch


@unless_off(no_graph)
@names_mistakes("add_grad_graph", 4)
@names_inputs("add_grad_graph", 4)
def add_grad_graph(
    writer: Any,
    model: torch.nn.Module | torch.Tensor | Sequence[torch.Tensor],
    input_to_model: Any = None,
    global_step: int | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    loss_fn: Callable[[Any], torch.Tensor] | None = None,
    grad_outputs: Any = None,
    tag: str | None = None,
    select: Selector = "*",
    exclude: Selector = (),
    retain: Selector = (),
    level: str = "op",
    all_ranks: bool = False,
) -> GradGraph:
    """Write the graph of ``model`` as autograd ran it, with the gradient of every tensor in it.

    A module is run forward and backward once, and nothing is left behind: ``.grad``,
    buffers, random state, mode, hooks and version counters of parameters are as
    before. For tensors (``add_grad_graph(writer, loss)``) the structure is written
    now, and the gradients of every backward that you run over it are added as it
    runs.

    Args:
        writer: A SummaryWriter: ours, torch's, tensorboardX's, a logger's ``.experiment``, or
            Accelerate's tracker. In a training of several processes, those without one may give
            None, or what their logger or tracker is there: then nothing is written.
        model: A module, or one or several tensors that you computed.
        input_to_model: As for ``add_graph``: a tensor; a tuple of positional arguments;
            a dict of keyword arguments; anything else is the one argument.
        kwargs: Keyword arguments of the model besides ``input_to_model``, which then gives
            only positional ones: ``(model, (x, y), kwargs={"mask": mask})``. A dict beside it is
            the one argument.
        global_step: Step to record. By default 0, then one more than this tag's last.
        loss_fn: From the model's output to a scalar. By default the output itself if it is
            a scalar, its ``.loss`` or ``["loss"]``; else ``grad_outputs`` says the gradient of each
            output; else the sum of all floating outputs is differentiated.
        grad_outputs: As in ``torch.autograd.grad``.
        tag: Name of the graph. By default the module's class, or the tensor's variable.
        select: Whose gradients to read: glob patterns on names, a function of a
            ``Node``, or a list of patterns, tensors and modules. ``exclude`` takes some away again.
        exclude: See ``select``.
        retain: Whose gradients to keep whole, up to 65,536 elements each. Tensors of at
            most 16 elements are always kept, value and gradient.
        level: ``"op"`` for every node, ``"module"`` for module outputs and leaves,
            ``"param"`` for leaves alone.
        all_ranks: Say that every process of the training makes this call. Without it, a model
        that would wait for other processes is refused, and what DistributedDataParallel
        wraps is run by itself and gives this process's own gradient.

    Returns:
        The graph. If its backward is still to come, it fills in as that runs.

    Raises:
        CaptureError: Nothing can be differentiated, or an argument is not as above.
        WriterError: The writer is closed, or of an unknown kind.
        Exception: What the model raises, unchanged; then nothing is written.
    """
    request = Request(select, exclude, retain, level, "add_grad_graph()")
    log = graph_log_of(writer, request.where)
    owner = model if isinstance(model, torch.nn.Module) else None
    if log is None:  # a process without a writer still runs what the others run
        recorder = GraphRecorder(lambda graph: tag or default_tag(owner, graph), owner, request)
    else:
        recorder = log.recorder(owner, tag, global_step, request)
    return _capture(
        model, input_to_model, kwargs, loss_fn, grad_outputs, recorder, request.where, all_ranks
    )


@unless_off(no_watch)
@names_mistakes("watch", 2, "optimizer")
def watch(
    writer: Any,
    model: torch.nn.Module,
    *,
    optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None = None,
    grad_scaler: torch.amp.GradScaler | None = None,
    every_n_steps: int = 50,
    level: str = "module",
    tag: str | None = None,
    select: Selector = "*",
    exclude: Selector = (),
    retain: Selector = (),
    budget: float | None = None,
    update_memory: int = UPDATE_MEMORY,
    strict: bool = False,
) -> Watch:
    """Record every n-th step of a training loop, which needs no other change.

    No extra pass is run and nothing is put on the model. Each recorded step keeps the
    gradients of every backward over ``model``; with ``optimizer`` also what accumulated
    in ``.grad``, what the optimizer saw (after unscaling and clipping), weights and
    updates. Watching a model again under the same tag ends the first watch.

    Args:
        writer: A SummaryWriter: ours, torch's, tensorboardX's, a logger's ``.experiment``, or
            Accelerate's tracker. In a training of several processes, those without one may give
            None, or what their logger or tracker is there: then nothing is written.
        model: The module that is trained.
        optimizer: One or several. A step is then a step of theirs (with several: until all
        have stepped), and parameters outside the model are recorded too; without one, a
        step is one backward over the model.
        grad_scaler: The scaler of the loss, whose factor is divided out of all numbers.
            By default the one that has ``optimizer`` step is found, and one that is among the
            variables where backward is called.
        every_n_steps: Steps whose number is a multiple of it are recorded.
        level: ``"param"``, only parameters; ``"module"``, the outputs of modules as well;
            ``"op"``, every node.
        tag: Name of the training. By default the module's class.
        select: As for ``add_grad_graph``.
        exclude: As for ``add_grad_graph``.
        retain: Which gradients to keep whole, as for ``add_grad_graph``.
        budget: Share of the time that recording may take, such as 0.02; the cadence is
            lengthened to stay below it.
        update_memory: Bytes that copies of weights may take while an optimizer steps in a
            recorded step, on an accelerator at most 5 % of what is free. How far the step moved
            a weight is exact if a copy fits, else an estimate, and recorded as one.
        strict: Raise a fault of the recording itself at the next use of the result. The
            training is never interrupted.

    Returns:
        The watch: ``step`` can be set when a run is resumed, ``close()`` ends it, as the
        end of a ``with`` block or the writer's ``close()`` do.

    Raises:
        CaptureError: An argument is not as above; then nothing is attached.
        WriterError: The writer is closed, or of an unknown kind.
    """
    request = Request(select, exclude, retain, level, "watch()")
    log = graph_log_of(writer, request.where)
    return begin_watch(
        log,
        model,
        optimizer,
        grad_scaler,
        every_n_steps,
        tag,
        request,
        budget,
        update_memory,
        strict,
    )


class SummaryWriter(TorchSummaryWriter):
    """torch's SummaryWriter, with graphs and the gradients that flowed through them."""

    add_grad_graph = add_grad_graph
    watch = watch


@unless_off(no_graph)
@names_inputs("capture", 2)
def capture(
    model: torch.nn.Module | torch.Tensor | Sequence[torch.Tensor],
    input_to_model: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    loss_fn: Callable[[Any], torch.Tensor] | None = None,
    grad_outputs: Any = None,
    tag: str | None = None,
    select: Selector = "*",
    exclude: Selector = (),
    retain: Selector = (),
    level: str = "op",
    all_ranks: bool = False,
) -> GradGraph:
    """Return the graph that ``add_grad_graph`` would write, without writing it.

    Arguments and errors are those of ``add_grad_graph``.

    Example:
        >>> import torch, tb_gradgraph
        >>> graph = tb_gradgraph.capture(torch.nn.Linear(2, 1), torch.ones(1, 2))
        >>> graph["weight"].gradient.tolist()
        [[1.0, 1.0]]
    """
    request = Request(select, exclude, retain, level, "capture()")
    owner = model if isinstance(model, torch.nn.Module) else None
    recorder = GraphRecorder(lambda graph: tag or default_tag(owner, graph), owner, request)
    return _capture(
        model, input_to_model, kwargs, loss_fn, grad_outputs, recorder, request.where, all_ranks
    )


def _capture(
    model: Any,
    input_to_model: Any,
    kwargs: Mapping[str, Any] | None,
    loss_fn: Callable[[Any], torch.Tensor] | None,
    grad_outputs: Any,
    recorder: GraphRecorder,
    where: str,
    all_ranks: bool,
) -> GradGraph:
    is_model = isinstance(model, torch.nn.Module)
    check_parts("model" if is_model else "tensors", where)
    if is_model:
        prepare = recorder.prepare
        capture_model(
            model, input_to_model, kwargs, loss_fn, grad_outputs, prepare, where, all_ranks
        )
    else:
        roots = _as_roots(model, input_to_model, kwargs, where)
        capture_tensors(roots, user_frame(), recorder.prepare, where)
    if recorder.result is None:
        raise AssertionError("a capture that raises nothing has a result")
    return recorder.result


def _as_roots(
    tensors: Any, input_to_model: Any, kwargs: Any, where: str
) -> tuple[torch.Tensor, ...]:
    roots = (tensors,) if isinstance(tensors, torch.Tensor) else tensors
    if not isinstance(roots, (list, tuple)) or not roots:
        raise CaptureError(_not_a_model(tensors, where))
    if not all(isinstance(root, torch.Tensor) for root in roots):
        raise CaptureError(_not_a_model(tensors, where))
    given = input_to_model if kwargs is None else kwargs
    if given is not None:
        raise CaptureError(
            f"{where}: expected no input_to_model or kwargs beside tensors, got "
            f"{type(given).__name__}. Pass the model to have it run, or the step as "
            "global_step=."
        )
    return tuple(roots)


def _not_a_model(got: Any, where: str) -> str:
    return (
        f"{where}: expected a torch.nn.Module, a tensor or several tensors, got "
        f"{type(got).__name__}. Pass the module, not its forward method, or the loss before .item()."
    )
