"""What the compiled reduction once got wrong."""

from __future__ import annotations

import pathlib
import re
import threading

import numpy as np
import pytest
import torch

from tb_gradgraph.summarize import StatisticsBatch, native
from tb_gradgraph.summarize.arithmetic.moments import COLUMNS
from tb_gradgraph.summarize.native import DTYPE, NativeReducer, NativeSnapshot, _native
from tests.compiled import require_compiled_code
from tests.summarize.oracle import assert_equal_the_oracle
from tests.summarize.tensors import random_tensor


@pytest.fixture(autouse=True)
def reduced_by() -> None:
    """Stands in for the one that has every test run twice."""
    require_compiled_code()


def test_small_halves_are_read_where_subnormal_floats_are_flushed() -> None:
    tensor = torch.tensor([1, 2, 1023, 1024, 0x8001], dtype=torch.int32).to(torch.uint16)
    batch = StatisticsBatch(1)
    assert torch.set_flush_denormal(True)
    try:
        batch.add(0, tensor.view(torch.float16))
    finally:
        torch.set_flush_denormal(False)
    assert_equal_the_oracle(batch.finish()[0].row(0), tensor.view(torch.float16))


def test_how_far_a_weight_moved_is_not_known_once_it_lies_otherwise() -> None:
    weights = [torch.nn.Parameter(random_tensor(6, 4)) for _ in range(3)]
    snapshot = NativeSnapshot()
    snapshot.read(weights, 100, 10)
    weights[1].data = weights[1].data.t().contiguous().t()
    weights[2].data = weights[2].data.clone()
    moved = snapshot.compare()[:, 1]
    assert moved[0] == moved[2] == 0 and np.isnan(moved[1])


def test_nothing_is_taken_out_before_it_is_reduced() -> None:
    """Tensors of 65,536 elements or more are reduced while other threads run."""
    tensors = [torch.full((300_000 + row,), row + 1.0) for row in range(8)]
    reducer, done = NativeReducer(8, 64), threading.Event()

    def add() -> None:
        for _ in range(25):
            reducer.add_many(list(range(8)), tensors)
        done.set()

    thread = threading.Thread(target=add)
    thread.start()
    parts = []
    while not done.is_set():
        parts.append(reducer.take_out())
    thread.join()
    parts.append(reducer.take_out())
    found = [taken[0] for taken in parts if taken is not None]
    taken = [(part.entries, *part.read([], None)) for part in found]
    assert sum(entries.shape[1] for entries, _, _ in taken) == 200
    for (row, _, numel), moments, histogram in taken:
        assert moments[:, COLUMNS.index("mean")].tolist() == (row + 1).tolist()
        assert moments[:, COLUMNS.index("finite")].tolist() == numel.tolist()
        assert numel.tolist() == (300_000 + row).tolist()
        assert (histogram.argmax(1) == 24 + np.log2(row + 1).astype(int) // 2).all()


def test_a_list_that_loses_its_tensors_meanwhile_is_read_to_its_end() -> None:
    tensors = [torch.full((400_000,), 2.0) for _ in range(4)]
    reducer, lost = _native.Reducer(4, 64, 2**40, bytes(4), 16), list(tensors)
    del tensors
    started = threading.Barrier(2)

    def empty() -> None:
        started.wait()
        lost.clear()

    thread = threading.Thread(target=empty)
    thread.start()
    started.wait()
    reducer.add_many([0, 1, 2, 3], lost)
    thread.join()
    table = np.frombuffer(reducer.take_out()[0], DTYPE)
    assert (table["moments"][:, COLUMNS.index("mean")] == 2).all()


def test_a_hook_is_made_by_a_reducer_alone() -> None:
    hook = NativeReducer(1, 1).hook(((0,),), print)
    with pytest.raises(TypeError, match="cannot create"):
        type(hook)()


def test_no_format_of_an_argument_means_another_thing_under_an_earlier_python() -> None:
    """One wheel is for every Python; of "y#", built by 3.13, all earlier ones say SystemError."""
    sources = list((pathlib.Path(native.__file__).parent / "csrc").glob("*.c"))
    assert sources
    for source in sources:
        assert not re.search(r'"[A-Za-z!]*#', source.read_text(encoding="utf-8")), source.name
