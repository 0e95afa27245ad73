"""A statistic of the user's own is checked at the call, stays a function, and can be removed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tb_gradgraph
from tb_gradgraph import CaptureError
from tb_gradgraph.training import registered
from tests.training.own.added import Add


def test_it_stays_a_function(add: Add) -> None:
    @add("total", of="weight", unit="kg", worse="higher")
    def total(weight: torch.Tensor, factor: float = 1) -> float:
        """Add all up."""
        return float(weight.sum()) * factor

    assert total(torch.ones(3), factor=2) == 6
    assert (total.__name__, total.__doc__) == ("total", "Add all up.")
    assert registered() == (total,) and total.is_registered
    assert repr(total) == "<Statistic 'total' of the weight>"
    total.remove()
    total.remove()
    assert registered() == () and not total.is_registered
    assert total(torch.ones(3)) == 3
    again = add("total")(total)
    total.remove()
    assert again.is_registered


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"name": ""}, "expected a name of at most 80 letters"),
        ({"name": "a b"}, "got 'a b'"),
        ({"name": "a,b"}, "got 'a,b'"),
        ({"name": "a/b"}, "got 'a/b'"),
        ({"name": "1st"}, "got '1st'"),
        ({"name": "größe"}, "got 'größe'"),
        ({"name": "x" * 81}, "at most 80 letters"),
        ({"name": 3}, "got 3"),
        ({"name": print}, r'got the function print. Write @tb_gradgraph.statistic\("my'),
        ({"name": "l2_norm"}, "expected a name of your own, got 'l2_norm', which is built in"),
        ({"name": "histogram"}, "which is built in"),
        ({"name": "a", "of": "activation"}, r"of to be one of \(.*\), got 'activation'"),
        ({"name": "a", "of": None}, "got None"),
        ({"name": "a", "worse": "up"}, "worse to be 'higher', 'lower' or None, got 'up'"),
        ({"name": "a", "unit": 3}, "unit to be a text of at most 80 letters, got 3"),
        ({"name": "a", "unit": "x" * 81}, "unit to be a text of at most 80 letters"),
        ({"name": "a", "select": 3}, "expected a selector to be a glob pattern"),
        ({"name": "a", "select": ["*", 3]}, "expected a selector to be a glob pattern"),
    ],
)
def test_a_wrong_argument_is_an_error_at_the_call(
    add: Add, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CaptureError, match=r"^statistic\(\): .*" + sentence):
        add(**arguments)
    assert registered() == ()


def test_a_name_twice(add: Add) -> None:
    second = add("twice")
    first = add("twice")(abs)
    for call in (lambda: add("twice"), lambda: second(abs)):
        with pytest.raises(CaptureError, match=r"got 'twice' twice. Call remove\(\) of the first"):
            call()
    first.remove()
    assert second(abs).is_registered


def test_only_a_function_can_be_decorated(add: Add) -> None:
    with pytest.raises(CaptureError, match="expected a function to decorate, got int"):
        add("a")(3)


def test_it_is_public() -> None:
    assert "statistic" in tb_gradgraph.__all__
