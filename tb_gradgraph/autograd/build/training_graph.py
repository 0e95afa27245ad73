"""The graph of a training step, built when its backward is about to begin."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import FrameType

import torch

from tb_gradgraph.autograd.build.build import BuiltGraph, build_graph
from tb_gradgraph.autograd.build.unreached import walk_behind_cuts
from tb_gradgraph.autograd.forward.forward import KnownTensor
from tb_gradgraph.autograd.forward.idle_calls import without_idle_calls
from tb_gradgraph.autograd.forward.named_tensors import name_roots
from tb_gradgraph.autograd.seen.training_forward import TrainingForward
from tb_gradgraph.autograd.torch_internals.orders import second_order
from tb_gradgraph.autograd.torch_internals.walk import free_in_parts, walk


def build_training_graph(
    roots: Sequence[torch.Tensor],
    forward: TrainingForward,
    owned: Mapping[int, KnownTensor],
    parameters: Sequence[torch.Tensor],
    frame: FrameType | None,
) -> BuiltGraph:
    """Build the graph behind ``roots``.

    Args:
        roots: What the backward begins with.
        forward: What has been seen of the step so far.
        owned: Kind and names of parameters and buffers, by ``id``.
        parameters: Parameters to draw even if the graph does not reach them.
        frame: Where the backward was called; its variables give names.
    """
    walked = walk(roots)
    seen = forward.so_far(owned, frame, walked)
    walked, known = walk_behind_cuts(roots, walked, seen, parameters)
    free_in_parts(walked)
    numbers = (known.number_of(node) for node in walked.nodes)
    second = second_order(number for number in numbers if number >= 0)
    known = dataclasses.replace(known, second_order={*known.second_order, *second})
    return build_graph(walked, without_idle_calls(known, walked), name_roots(roots, frame))
