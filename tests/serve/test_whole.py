"""Tensors kept whole: the smallest come with the step, every one can be asked for, exact to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.record.samples import make_graph
from tests.serve.conftest import Client
from tests.serve.logs import make_retained

PLACE = {"run": "retained", "tag": "net", "step": 7, "backward_pass": 1}
RECORD = make_retained()
KEPT = [
    (what, row)
    for what, arrays in (("gradient", RECORD.gradients), ("value", RECORD.values))
    for row in arrays
    if arrays[row].size <= 2**22
]


def test_step_holds_the_small_ones_and_says_which_it_left_out(client: Client):
    header, _ = client.get("step", **PLACE).frame()
    held = {(what, item["row"]) for item in header["whole"] for what in item if what != "row"}
    left_out = {(what, row) for what, rows in header["left_out"].items() for row in rows}
    assert left_out == {("gradient", 4), ("gradient", 5), ("value", 4)}
    assert held | left_out == {*KEPT, ("gradient", 5)}
    assert [item["row"] for item in header["whole"]] == [0, 2, 3]
    assert header["whole"][2]["gradient"] == [1, 2, 3, -4]


def test_node_counts_what_it_left_out(client: Client):
    query = {"run": "retained", "tag": "net", "hash": make_graph().hash}
    header, _ = client.get("node", row=0, **query).frame()
    assert (header["whole"], header["left_out"]) == (
        [{"record": 1, "gradient": [0.1, 1e-300], "value": [7, -8]}],
        0,
    )
    assert client.get("node", row=5, **query).frame()[0]["left_out"] == 1


@pytest.mark.parametrize(("what", "row"), KEPT)
def test_tensor_is_exact(client: Client, what: str, row: int):
    header, arrays = client.get("tensor", row=row, what=what, **PLACE).frame()
    expected = (RECORD.gradients if what == "gradient" else RECORD.values)[row]
    told = [header[name] for name in ("run", "tag", "hash", "step", "backward_pass", "stage")]
    assert told == ["retained", "net", make_graph().hash, 7, 1, "backward"]
    assert [header[name] for name in ("row", "what")] == [row, what]
    assert (header["shape"], header["dtype"]) == (list(expected.shape), expected.dtype.name)
    elements = arrays["elements"]
    if expected.dtype.kind == "c":
        assert elements.shape == (*expected.shape, 2)
        elements = elements[..., 0] + 1j * elements[..., 1]
    np.testing.assert_array_equal(elements, expected)


def test_both_loaders_give_the_same_tensor(clients: dict[str, Client]):
    rust, python = (
        clients[name].get("tensor", row=4, what="gradient", **PLACE) for name in ("rust", "python")
    )
    assert rust.status == 200 and rust.content == python.content
    assert rust.headers["Content-Type"] == "application/octet-stream"
