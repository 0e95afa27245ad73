"""Which part of a tensor a process has, in words; and damaged manifests."""

from __future__ import annotations

import pytest

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Slot
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.decode import decode_manifest
from tb_gradgraph.record.format.envelope import seal
from tb_gradgraph.record.format.process import Process, tell_part

HERE = Process(5, 8, "", (("dp", 2, 1), ("fsdp", 2, 0), ("tp", 2, 1)))


@pytest.mark.parametrize(
    ("placement", "told"),
    [
        ("", ""),
        ("tp:R", ""),
        ("dp:R,fsdp:R", ""),
        ("fsdp:S0", "shard 1 of 2"),
        ("tp:S1", "shard 2 of 2"),
        ("fsdp:_S0,tp:S0", "shard 2 of 4"),
        ("dp:S0,fsdp:S1,tp:R", "shard 3 of 4"),
        ("tp:P", "term 2 of 2"),
        ("fsdp:S0,tp:P", "part 2 of 4"),
        ("tp:?", "part 2 of 2"),
        ("zero:P", "a term (zero:P)"),
        ("new:S0", "a shard (new:S0)"),
    ],
)
def test_a_part_is_told_by_its_place(placement: str, told: str):
    assert tell_part(placement, HERE) == told
    assert Slot("", (), "float32", placement=placement).is_part is bool(told)


def test_without_a_process_its_placement_is_told():
    assert tell_part("fsdp:S0", None) == tell_part("fsdp:S0", Process()) == "a shard (fsdp:S0)"


@pytest.mark.parametrize(
    "columns",
    [
        {"mesh_name": ["a"], "mesh_size": [2]},
        {"mesh_name": ["a"], "mesh_size": [2], "mesh_place": [2]},
        {"rank": 2, "world_size": 2},
        {"rank": 1},
        {"mesh_name": ["a"] * 65, "mesh_size": [1] * 65, "mesh_place": [0] * 65},
        {"run_id": "a" * 5000},
    ],
    ids=str,
)
def test_a_process_that_cannot_be_is_damaged(columns: dict):
    with pytest.raises(FormatError, match="manifest"):
        decode_manifest(seal(pb.Manifest(**columns)))
