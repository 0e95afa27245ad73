"""JSON and frames, byte by byte."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from tb_gradgraph.serve.request.frames import encode_frame, flat_numbers, to_float32, to_json


def test_nonfinite_numbers_are_spelt():
    value = {"a": [float("nan"), float("inf"), {"b": (-float("inf"), 1.0)}], "c": "NaN", "d": None}
    assert json.loads(to_json(value)) == {
        "a": ["NaN", "Infinity", {"b": ["-Infinity", 1.0]}],
        "c": "NaN",
        "d": None,
    }


def test_frame_layout():
    content = encode_frame(
        {"k": 1}, {"values": np.array([[1.5, np.nan]]), "present": np.array([True] * 3)}
    )
    (length,) = struct.unpack_from("<I", content)
    assert (length + 4) % 8 == 0
    assert json.loads(content[4 : 4 + length]) == {
        "k": 1,
        "arrays": [
            {"name": "values", "dtype": "float32", "shape": [1, 2]},
            {"name": "present", "dtype": "uint8", "shape": [3]},
        ],
    }
    assert content[4 + length :] == struct.pack("<2f", 1.5, np.nan) + b"\1\1\1" + bytes(5)


def test_wide_frame_keeps_float64_alone():
    arrays = {"a": np.array([1 / 3]), "b": np.array([1 / 3], np.float32), "c": np.array([True])}
    content = encode_frame({}, arrays, wide=True)
    (length,) = struct.unpack_from("<I", content)
    dtypes = [entry["dtype"] for entry in json.loads(content[4 : 4 + length])["arrays"]]
    assert dtypes == ["float64", "float32", "uint8"]
    assert content[4 + length :][:8] == struct.pack("<d", 1 / 3)


def test_frame_of_nothing():
    content = encode_frame({}, {"values": np.zeros((0, 4))})
    (length,) = struct.unpack_from("<I", content)
    assert len(content) == 4 + length


@pytest.mark.parametrize("header", [{}, {"k": "ü"}, {"k": "a" * 7}])
def test_data_begins_at_a_multiple_of_eight(header: dict):
    content = encode_frame(header, {"values": np.ones(1, np.float32)})
    assert content.endswith(struct.pack("<f", 1) + bytes(4))
    assert len(content) % 8 == 0


def test_narrowing_keeps_finite_finite_and_nonzero_nonzero():
    limits = np.finfo(np.float32)
    values = np.array([1e300, -1e300, 1e-300, -1e-300, 0.0, np.nan, 0.5])
    narrow = to_float32(values)
    least = limits.smallest_subnormal
    np.testing.assert_array_equal(
        narrow, np.float32([limits.max, -limits.max, least, -least, 0, np.nan, 0.5])
    )


def test_whole_tensors_are_flat_and_complex_ones_in_pairs():
    assert flat_numbers(np.arange(4).reshape(2, 2).T) == [0, 2, 1, 3]
    assert flat_numbers(np.array([1 + 2j, 3 - 4j])) == [1, 2, 3, -4]
    assert flat_numbers(np.array(7.0)) == [7]
