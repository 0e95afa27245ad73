"""Encode JSON and binary frames, as http_api.md describes them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_FLOAT32 = np.finfo(np.float32)
_ALIGNMENT = 8
_SPELLED = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def to_json(value: Any) -> str:
    """Encode a value as JSON, with non-finite numbers as ``"NaN"``, ``"Infinity"``, ``"-Infinity"``."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_spell(value), allow_nan=False, separators=(",", ":"))


def _spell(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return _SPELLED[str(value)]
    if isinstance(value, Mapping):
        return {key: _spell(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_spell(item) for item in value]
    return value


def to_float32(values: np.ndarray) -> np.ndarray:
    """Convert to float32. Finite numbers stay finite, and nonzero numbers stay nonzero."""
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore", under="ignore"):
        narrow = values.astype(np.float32)
    limits = np.copysign(_FLOAT32.max, values).astype(np.float32)
    narrow = np.where(np.isinf(narrow) & np.isfinite(values), limits, narrow)
    least = np.copysign(_FLOAT32.smallest_subnormal, values).astype(np.float32)
    return np.where((narrow == 0) & (values != 0), least, narrow)


def flat_numbers(array: np.ndarray) -> list[Any]:
    """List the elements in row-major order. A complex element gives its real and then its imaginary part."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    return flat.tolist()


def encode_frame(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], *, wide: bool = False
) -> bytes:
    """Join a JSON header and arrays to one body. Arrays of float64 are sent as float32, unless ``wide``."""
    sent = {name: _sendable(array, wide) for name, array in arrays.items()}
    layout = [
        {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
        for name, array in sent.items()
    ]
    text = to_json({**header, "arrays": layout}).encode()
    text += b" " * (-(len(text) + 4) % _ALIGNMENT)
    parts = [struct.pack("<I", len(text)), text]
    for array in sent.values():
        parts += [array.tobytes(), bytes(-array.nbytes % _ALIGNMENT)]
    return b"".join(parts)


def _sendable(array: np.ndarray, wide: bool) -> np.ndarray:
    if array.dtype.kind == "f" and not (wide and array.dtype.itemsize == 8):
        return to_float32(array).astype("<f4", copy=False)
    return array.astype("u1" if array.dtype == bool else array.dtype.newbyteorder("<"), copy=False)
