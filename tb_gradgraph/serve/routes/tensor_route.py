"""Answer in a binary frame: one tensor that was kept whole."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.serve.evidence.whole import WHAT
from tb_gradgraph.serve.request.answer import BINARY, Answer
from tb_gradgraph.serve.request.find import find_entry
from tb_gradgraph.serve.request.frames import encode_frame
from tb_gradgraph.serve.request.parameters import Parameters, bad_request, not_found
from tb_gradgraph.serve.runs.reader import Reader

#: How many elements a tensor in an answer may have.
TENSOR_ELEMENTS = 2**22


def answer_tensor(reader: Reader, parameters: Parameters) -> Answer:
    """Return one whole tensor of one row of one record."""
    run, entry = find_entry(reader, parameters)
    row, what = parameters.integer("row"), parameters.choice("what", WHAT)
    if not 0 <= row < entry.rows:
        raise not_found(f"Expected a row below {entry.rows}, got {row}.")
    array = dict(zip(WHAT, reader.whole(run, entry)))[what].get(row)
    if array is None:
        raise not_found(
            f"Expected a row whose {what} was kept whole, got row {row}: only statistics are kept of others."
        )
    if array.size > TENSOR_ELEMENTS:
        raise bad_request(
            f"Expected a tensor of at most {TENSOR_ELEMENTS} elements, got one of {array.size}."
        )
    header = {
        "run": run.name,
        "tag": entry.tag,
        "hash": entry.graph_hash,
        "step": entry.step,
        "backward_pass": entry.backward_pass,
        "stage": entry.stage,
        "row": row,
        "what": what,
        "shape": list(array.shape),
        "dtype": array.dtype.name,
    }
    return Answer(encode_frame(header, {"elements": _real(array)}, wide=True), BINARY)


def _real(array: np.ndarray) -> np.ndarray:
    """Return floats: complex numbers get a last axis of real and imaginary part."""
    if array.dtype.kind == "c":
        part = array.real.dtype
        return np.ascontiguousarray(array).reshape(-1).view(part).reshape(*array.shape, 2)
    return array.astype(np.float64) if array.dtype.kind in "iu" else array
