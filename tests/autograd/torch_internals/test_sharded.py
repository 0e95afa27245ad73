"""How placements are spelt, for meshes that two processes cannot make."""

from __future__ import annotations

import math
import types

import pytest
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

from tb_gradgraph.autograd.torch_internals.tensor_classes import (
    is_distributed,
    mesh_of,
    placement_of,
)


def _tensor(shape: tuple[int, ...], names: tuple[str, ...] | None, *placements: object):
    mesh = types.SimpleNamespace(
        shape=shape, mesh_dim_names=names, ndim=len(shape),
        size=lambda: math.prod(shape), get_coordinate=lambda: [0] * len(shape),
    )  # fmt: skip
    return types.SimpleNamespace(device_mesh=mesh, placements=placements)


@pytest.mark.parametrize(
    ("shape", "names", "placements", "spelt"),
    [
        ((4,), ("fsdp",), [Shard(0)], "fsdp:S0"),
        ((4,), None, [Shard(1)], "0:S1"),
        ((1,), ("fsdp",), [Shard(0)], ""),
        ((2, 2), ("fsdp", "tp"), [_StridedShard(0, split_factor=2), Shard(0)], "fsdp:_S0,tp:S0"),
        ((2, 1, 4), ("dp", "fsdp", "tp"), [Replicate(), Shard(0), Partial()], "dp:R,tp:P"),
        ((2,), ("tp",), [object()], "tp:?"),
    ],
)
def test_placements_are_spelt(shape, names, placements, spelt: str):
    tensor = _tensor(shape, names, *placements)
    assert placement_of(tensor) == spelt
    assert is_distributed(tensor) is bool(spelt)


def test_meshes_are_put_together():
    one, other = (
        _tensor((2, 2), ("fsdp", "tp"), Shard(0), Shard(0)),
        _tensor((3,), ("ep",), Shard(0)),
    )
    assert mesh_of([one, other, one]) == {"fsdp": (2, 0), "tp": (2, 0), "ep": (3, 0)}
