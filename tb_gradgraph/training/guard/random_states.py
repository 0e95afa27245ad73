"""Read the states of all random number generators that a forward may use."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import torch

#: Torch modules of devices with generators whose state the host knows, so that nobody waits.
_DEVICES = ("cuda", "xpu")


def random_states() -> dict[str, Any]:
    """Return the states, as plain values and tensors that ``torch.load(weights_only=True)`` loads.

    ``random_state`` is for ``torch.set_rng_state``, ``python_random_state`` for ``random.setstate``.
    ``numpy_random_state`` is for ``numpy.random.set_state``, with a tensor in place of the array;
    None if numpy has another generator than its usual one. ``device_random_states`` has one for
    ``torch.<type>.set_rng_state`` by device, as ``"cuda:0"``, of devices in use. Generators that
    the user made are not among them. They are read, never changed.
    """
    return {
        "random_state": torch.get_rng_state(),
        "python_random_state": random.getstate(),
        "numpy_random_state": _of_numpy(),
        "device_random_states": _of_devices(),
    }


def _of_numpy() -> tuple[Any, ...] | None:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002  # the user's own generator
    name, inner = state["bit_generator"], state["state"]
    if name != "MT19937":
        return None
    keys = torch.from_numpy(inner["key"].astype(np.int64))
    return name, keys, int(inner["pos"]), int(state["has_gauss"]), float(state["gauss"])


def _of_devices() -> dict[str, torch.Tensor]:
    found = {}
    for kind in _DEVICES:
        module: Any = sys.modules.get(f"torch.{kind}")
        if module is not None and module.is_initialized():
            for number in range(module.device_count()):
                found[f"{kind}:{number}"] = module.get_rng_state(number)
    return found
