"""What schemas say of torch's functions is what the functions do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tb_gradgraph.autograd.forward.schemas import gives_tensor, parameters_of, schemas_of, word_of

_NAMESPACES = (torch._C._VariableFunctions, torch._C._nn, torch._C._linalg, torch._C._special)
#: Arguments with which many functions can be called.
_X, _Y, _I = torch.eye(3) + 1, torch.ones(3, 3), torch.zeros(3, 3, dtype=torch.long)
_ARGUMENTS: tuple[tuple[Any, ...], ...] = (
    (), (_X,), (_X, _Y), (_X, _Y, _Y), (_X, 1), (_X, 0, _I), (3,), (2, 3), ((2, 3),), (_X, 0), (_X, 0, 1),
    ([_X, _Y],), (2.0,), ("cpu",), (_I,), (_X > 1, _X, _Y), (_X, torch.float64),
)  # fmt: skip
#: Functions that leave something on, end something, or read the whole machine.
_LEFT_OUT = frozenset(("from_file", "manual_seed", "set_flush_denormal"))


def _results(is_method: bool) -> Iterator[tuple[str, Any]]:
    """Call everything that is said to give a tensor, and yield what it gives."""
    owners = [torch.Tensor.__base__] if is_method else _NAMESPACES
    for owner in owners:
        for name in sorted(set(dir(owner)) - _LEFT_OUT):
            function = getattr(owner, name)
            if name.startswith("__") or not callable(function) or not gives_tensor(name, is_method):
                continue
            for arguments in _ARGUMENTS:
                if is_method and not (arguments and isinstance(arguments[0], torch.Tensor)):
                    continue
                given = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
                try:
                    yield name, function(*given)
                except Exception:  # they are not for such arguments
                    continue


@pytest.mark.parametrize("is_method", [False, True])
def test_what_is_said_to_give_a_tensor_gives_no_number(is_method: bool) -> None:
    with warnings.catch_warnings(), torch.random.fork_rng([]):
        warnings.simplefilter("ignore")
        results = list(_results(is_method))
    others = {name: result for name, result in results if not isinstance(result, torch.Tensor)}
    assert not any(isinstance(result, (int, float, complex)) for result in others.values()), others
    assert len({name for name, _ in results}) > 200


@pytest.mark.parametrize(
    "name",
    ["item", "size", "numel", "dim", "stride", "max", "std_mean", "split", "is_nonzero", "tolist"],
)
def test_what_gives_numbers_or_several_is_not_said_to_give_a_tensor(name: str) -> None:
    assert not gives_tensor(name, True)


def test_arguments_have_torchs_names() -> None:
    assert parameters_of("index_add_") == ("self", "", "index", "source")
    assert parameters_of("scaled_dot_product_attention")[3] == "attn_mask"
    assert parameters_of("cat") == ("tensors", "")
    assert parameters_of("no such function") == schemas_of("no such function") == ()


def test_nodes_have_torchs_words() -> None:
    kinds = (
        "IndexAddBackward0",
        "CopyBackwards",
        "AddmmBackward0",
        "CtcLossBackward1",
        "PowBackward1",
    )
    assert [word_of(kind) for kind in kinds] == ["index_add", "copy", "addmm", "ctc_loss", "pow"]
