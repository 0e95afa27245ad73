"""The user's calls: capture a graph, and write it with its gradients through a summary writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter as TorchSummaryWriter

from tb_gradgraph.api.arguments import names_inputs, names_mistakes
from tb_gradgraph.api.begin_watch import begin_watch
from tb_gradgraph.api.grad_graph import GradGraph
from tb_gradgraph.api.recorder import GraphRecorder, Request, check_values
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
    values: bool | None = None,
    all_ranks: bool = False,
) -> GradGraph:
    """Record the graph of ``model`` as autograd ran it, with the gradient of every tensor in it.

    A module is run twice forward and once backward. Afterwards ``.grad``, buffers, random state,
    mode, hooks and version counters of parameters are as before. For tensors
    (``add_grad_graph(writer, loss)``) the structure is recorded now. Gradients are added whenever
    you run a backward over it.

    Args:
        writer: A SummaryWriter: ours, torch's, tensorboardX's, a logger's ``.experiment``, or
            Accelerate's tracker. A process without a writer may pass None, or the placeholder that
            its logger or tracker gives there; then nothing is written.
        model: A module, or one or several tensors that you computed.
        input_to_model: The model's input, as for ``add_graph``. A tuple holds positional arguments,
            and a dict holds keyword arguments. Anything else is a single argument.
        kwargs: Keyword arguments of the model: ``(model, (x, y), kwargs={"mask": mask})``. If it is
            given, ``input_to_model`` holds only positional arguments; a dict there is then a single
            argument.
        global_step: Number of the step. By default 0, and then one more than the last step of this
            tag.
        loss_fn: A function from the model's output to a scalar, which is differentiated. By default
            that is the output itself if it is a scalar, or its ``.loss`` or ``["loss"]``. Otherwise
            ``grad_outputs`` gives the gradient of each output. Without that, the sum of all
            floating outputs is differentiated.
        grad_outputs: As in ``torch.autograd.grad``.
        tag: Name of the graph. By default the module's class, or the tensor's variable.
        select: The nodes whose gradients are read: glob patterns on names, a function of a
            ``Node``, or a list of patterns, tensors and modules.
        exclude: The nodes to leave out of ``select``, in the same form.
        retain: The nodes whose gradients are stored whole, up to 65,536 elements each. Tensors of
            at most 16 elements are always stored whole, both value and gradient.
        level: ``"op"`` for every node, ``"module"`` for module outputs and leaves,
            ``"param"`` for leaves alone.
        values: Whether the statistics of values are recorded too: of each weight, and at level
            ``"module"`` or ``"op"`` of each input and of what is made. By default True
            at level ``"param"`` and otherwise False. ``graph[name].value_statistics`` has them.
        all_ranks: Whether every process of the training makes this call. If not, a model that would
            wait for other processes is refused, and the model inside DistributedDataParallel is run
            directly, so gradients are those of this process alone.

    Returns:
        The graph. If its backward has not run yet, gradients are added when it runs.

    Raises:
        CaptureError: Nothing can be differentiated, or an argument is invalid.
        WriterError: The writer is closed, or of an unknown kind.
        Exception: Whatever the model raises, unchanged; then nothing is written.
    """
    request = Request(select, exclude, retain, level, "add_grad_graph()", values)
    check_values(request)
    log = graph_log_of(writer, request.where)
    owner = model if isinstance(model, torch.nn.Module) else None
    if log is None:  # a process without a writer still makes the run that the others make
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
    values: bool | None = None,
    scalars: bool = False,
    on_finding: str | Callable[[Any], Any] | None = "warn",
    keep_batch: bool = False,
    strict: bool = False,
    ranks: str | Iterable[int] = "shards",
) -> Watch:
    """Record every n-th step of a training loop, which needs no other change.

    No extra pass is run, and no hooks are put on the model. Each recorded step holds the gradients
    of every backward over ``model``. With ``optimizer`` it also holds the accumulated ``.grad``,
    the gradients that the optimizer used (after unscaling and clipping), weights and updates.
    Watching a model again under the same tag ends the first watch.

    Args:
        writer: A SummaryWriter: ours, torch's, tensorboardX's, a logger's ``.experiment``, or
            Accelerate's tracker. A process without a writer may pass None, or the placeholder that
            its logger or tracker gives there; then nothing is written.
        model: The module that is trained.
        optimizer: One or several optimizers. A step then ends when the optimizer has stepped (with
            several: when all have), and their parameters outside the model are recorded too.
            Without an optimizer, a step is one backward over the model.
        grad_scaler: The scaler of the loss, whose factor is divided out of all numbers. By default
            it is found, if it steps ``optimizer`` or is a variable where backward is called.
        every_n_steps: A step is recorded if its number is a multiple of this.
        level: ``"param"``, only parameters; ``"module"``, the outputs of modules as well;
            ``"op"``, every node.
        tag: Name of the training. By default the module's class.
        select: As for ``add_grad_graph``.
        exclude: As for ``add_grad_graph``.
        retain: Which gradients to keep whole, as for ``add_grad_graph``.
        budget: Share of the time that recording may take, such as 0.02. Steps are recorded less
            often to stay below it.
        update_memory: Bytes for copies of weights while an optimizer steps in a recorded step; on
            an accelerator at most 5 % of the free memory. With a copy, the norm of an update is
            exact. Without one it is an estimate, and is marked as an estimate. On the CPU the
            memory is kept from step to step if every step is recorded.
        values: Whether the statistics of values are recorded too: of each weight; at level
            ``"module"`` also of what each module puts out; at ``"op"`` also of what each operation
            makes. By default True at level ``"param"`` and otherwise False.
        scalars: Whether the quantities of each recorded step are also written as scalars for
            TensorBoard's own dashboard, under ``gradgraph/<name>``; under ``gradgraph/<tag>/<name>``
            if ``tag`` is given, or if scalars of another training are written through the writer.
        on_finding: What happens when something is found to be wrong while the training runs. With
            ``"warn"``, the first error of each kind is a warning: step, place and what to try. With
            ``"raise"`` it is raised as FindingError from the optimizer's step before the weights
            change, or else from the model's next forward. A function is called there with each
            ``RunFinding``, errors and warnings. Between recorded steps only losses, the norms of
            ``clip_grad_norm_`` and a scaler's skipped steps are looked at; the next steps are then
            recorded at level ``"op"`` with values. With None nothing is looked at.
        keep_batch: Whether what the model was last given is kept in the run's directory when a loss or
            norm is not finite: arguments of at most 64 MiB, the random states of torch, Python, numpy
            and the devices in use, and whether weights were finite, for
            ``torch.load(path, weights_only=True)``. A hook on the model notes them, except in
            compiled code; it takes some 60 us.
        strict: Whether an error of the recording itself is raised at the next use of the result.
            It never interrupts the training.
        ranks: Which of several processes record, if all make this call: "shards" (rank 0, and the
            first of those that have the same part of a sharded model), "all", or numbers of ranks.
            Ranks above 0 write into ``ranks/<rank>`` below the writer's directory. The parts are
            joined when the log is read; no process waits for another.

    Returns:
        The watch. Set its ``step`` when you resume a run. ``close()`` ends it; so do the end of a
        ``with`` block and the writer's ``close()``.

    Raises:
        CaptureError: An argument is invalid; then nothing is attached.
        WriterError: The writer is closed, or of an unknown kind.
    """
    request = Request(select, exclude, retain, level, "watch()", values)
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
        scalars,
        on_finding,
        keep_batch,
        ranks,
    )


class SummaryWriter(TorchSummaryWriter):
    """torch's SummaryWriter with two more methods: ``add_grad_graph`` and ``watch``."""

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
    values: bool | None = None,
    all_ranks: bool = False,
) -> GradGraph:
    """Return the graph that ``add_grad_graph`` would record, without a writer.

    Arguments and errors are those of ``add_grad_graph``.

    Example:
        >>> import torch, tb_gradgraph
        >>> graph = tb_gradgraph.capture(torch.nn.Linear(2, 1), torch.ones(1, 2))
        >>> graph["weight"].gradient.tolist()
        [[1.0, 1.0]]
    """
    request = Request(select, exclude, retain, level, "capture()", values)
    check_values(request)
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
            *(model, input_to_model, kwargs, loss_fn, grad_outputs, prepare, where),
            all_ranks=all_ranks,
            values=recorder.values,
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
