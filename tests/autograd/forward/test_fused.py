"""Kernels that do the work of many operations say so on their node."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import tb_gradgraph
from tb_gradgraph.autograd.user_code.functions import _OPAQUE


def _notes(graph: tb_gradgraph.GradGraph) -> set[str]:
    return {node.note for node in graph.nodes if node.kind == "operation" and node.note}


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_layer_says_whether_it_is_one_kernel(kind: type[nn.Module]) -> None:
    graph = tb_gradgraph.capture(kind(3, 4, num_layers=2), torch.ones(5, 2, 3))
    fused = [node for node in graph.nodes if node.operation.startswith("MkldnnRnnLayer")]
    said = {node.name for node in graph.nodes if "one kernel" in node.note}
    assert said == {node.name for node in fused}
    if not fused:  # drawn step by step
        assert sum(node.operation.startswith("Tanh") for node in graph.nodes) >= 10


def test_fused_attention_says_so() -> None:
    x = torch.randn(1, 2, 8, 16, requires_grad=True)
    attention = nn.functional.scaled_dot_product_attention
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        fused = tb_gradgraph.capture(attention(x, x, x).sum())
    assert any("softmax" in note and "one kernel" in note for note in _notes(fused))
    with sdpa_kernel(SDPBackend.MATH):
        plain = tb_gradgraph.capture(attention(x, x, x).sum())
    assert _notes(plain) == set() and len(plain.nodes) > len(fused.nodes)


def test_a_ctc_loss_says_so() -> None:
    scores = torch.randn(6, 1, 4, requires_grad=True).log_softmax(2)
    lengths = torch.tensor([6]), torch.tensor([2])
    loss = nn.functional.ctc_loss(scores, torch.tensor([[1, 2]]), *lengths)
    assert any(note.startswith("CTC loss") for note in _notes(tb_gradgraph.capture(loss)))


def test_each_name_is_one_of_torchs() -> None:
    """A name that torch does not have (any more, or yet) says nothing; most must be there."""
    known = {name.rstrip("0123456789") for name in dir(torch._C._functions)}
    made_in_autograd = {name for name in _OPAQUE if name in known}
    assert len(made_in_autograd) >= 8, sorted(_OPAQUE.keys() - known)


def test_complex_numbers_are_said_to_be_magnitudes() -> None:
    z = torch.tensor([3 + 4j, 0.6 - 0.8j], requires_grad=True)
    loss = (z * z.conj()).real.sum()
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    of = graph["z"].statistics
    magnitudes = z.grad.abs().double()
    assert (of.min, of.max) == pytest.approx((magnitudes.min().item(), magnitudes.max().item()))
    assert of.mean == pytest.approx(magnitudes.mean().item())
    assert of.std == pytest.approx(magnitudes.std().item())
    assert "the mean of complex gradients is that of |g|" in str(graph)
    x = torch.ones(2, requires_grad=True)
    assert "|g|" not in str(tb_gradgraph.capture((x * 2).sum()))
