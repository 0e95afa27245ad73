"""Nets for sequences: translation with attention, a gated decoder, experts, adapters and others."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class CrossAttention(nn.Module):
    def __init__(self, width: int, scale: float | None = None) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.scale = width**-0.5 if scale is None else scale

    def forward(self, x: Tensor, memory: Tensor, padding: Tensor) -> Tensor:
        scores = self.query(x) @ self.key(memory).transpose(1, 2) * self.scale
        scores = scores.masked_fill(padding[:, None, :], float("-inf"))
        attention = torch.softmax(scores, dim=-1)
        return attention @ self.value(memory)


class Translator(nn.Module):
    """GRU to GRU with attention over the encoder's outputs."""

    def __init__(self, words: int = 24, width: int = 24, scale: float | None = None) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, width, 0), nn.Embedding(words, width, 0)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.attend = CrossAttention(width, scale)
        self.out = nn.Linear(2 * width, words)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        return self.encoder(self.source(source))

    def decode(self, memory: Tensor, state: Tensor, before: Tensor, padding: Tensor) -> Tensor:
        hidden, _ = self.decoder(self.target(before), state)
        return self.out(torch.cat([hidden, self.attend(hidden, memory, padding)], -1))

    def forward(self, source: Tensor, before: Tensor, padding: Tensor) -> Tensor:
        memory, state = self.encode(source)
        return self.decode(memory, state, before, padding)


def translation_loss(model: Translator, source: Tensor, padding: Tensor, words: int = 24) -> Tensor:
    """Return the loss of copying the source, the token before given."""
    before = F.pad(source[:, :-1], (1, 0), value=1)
    logits = model(source, before, padding)
    return F.cross_entropy(logits.reshape(-1, words), source.reshape(-1), ignore_index=0)


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class GatedLayer(nn.Module):
    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        size, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(size, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(size, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class GatedDecoder(nn.Module):
    """A decoder with RMS norms, gated units and tied embeddings."""

    def __init__(self, words: int = 24, width: int = 24, depth: int = 2, length: int = 10) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.position = nn.Parameter(0.02 * torch.randn(length, width))
        self.layers = nn.ModuleList(GatedLayer(width) for _ in range(depth))
        self.norm = RmsNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.lm_head.weight = self.embed.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens) + self.position[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


def next_token_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)


class Experts(nn.Module):
    """One of several experts for each token, chosen by a router."""

    def __init__(self, width: int, count: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(width, count)
        self.experts = nn.ModuleList(self.make_expert(width) for _ in range(count))
        self.balance = torch.zeros(())

    @staticmethod
    def make_expert(width: int) -> nn.Module:
        return nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(0, 1)
        shares = self.router(flat).softmax(-1)
        weight, chosen = shares.max(-1)
        out = torch.zeros_like(flat)
        for index, expert in enumerate(self.experts):
            rows = (chosen == index).nonzero()[:, 0]
            if len(rows):
                out = out.index_add(0, rows, expert(flat[rows]) * weight[rows, None])
        used = F.one_hot(chosen, shares.shape[1]).float().mean(0)
        self.balance = shares.shape[1] * (used * shares.mean(0)).sum()
        return out.view_as(x)


class ExpertModel(nn.Module):
    def __init__(self, words: int = 24, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.ffn: nn.Module = Experts(width)
        self.out = nn.Linear(width, words)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        x = x + self.mix(self.norm1(x))[0]
        return self.out(x + self.ffn(self.norm2(x)))


class LowRank(nn.Module):
    """A frozen linear layer with an update of low rank."""

    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 2.0 * F.linear(F.linear(x, self.lora_a), self.lora_b)


class Encoder(nn.Module):
    """A small "pretrained" encoder of tokens with a classifier."""

    def __init__(self, words: int = 24, width: int = 32, classes: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 2, 48, 0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classifier = nn.Linear(width, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.classifier(self.body(self.embed(tokens)).mean(1))

    def adapt(self) -> None:
        """Freeze everything, and put adapters around the feed-forward layers."""
        self.requires_grad_(False)
        for layer in self.body.layers:
            layer.linear1, layer.linear2 = LowRank(layer.linear1), LowRank(layer.linear2)
        self.classifier.requires_grad_(True)


class CausalConv(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        conv = nn.Conv1d(width, width, 3, dilation=dilation)
        self.conv = nn.utils.parametrizations.weight_norm(conv)
        self.pad = 2 * dilation

    def forward(self, x: Tensor) -> Tensor:
        return x + F.relu(self.conv(F.pad(x, (self.pad, 0))))


class TemporalNet(nn.Module):
    """Dilated causal convolutions over a signal."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv1d(2, width, 1)
        self.convs = nn.Sequential(*(CausalConv(width, 2**i) for i in range(4)))
        self.head = nn.Conv1d(width, 1, 1)

    def forward(self, signal: Tensor) -> Tensor:
        return self.head(self.convs(self.stem(signal)))


def signals(size: int = 8, length: int = 48) -> tuple[Tensor, Tensor]:
    """Return noisy waves, and the waves two moments later."""
    phase, speed = 6.28 * torch.rand(size, 1), 0.2 + 0.3 * torch.rand(size, 1)
    time = torch.arange(length + 2.0)
    wave = torch.sin(phase + speed * time)
    noisy = wave[:, :-2] + 0.1 * torch.randn(size, length)
    return torch.stack([noisy, noisy.roll(1, 1)], 1), wave[:, None, 2:]


class LinearRecurrence(nn.Module):
    """A cell without gates that is called once a moment."""

    def __init__(self, gain: float, width: int = 16) -> None:
        super().__init__()
        self.width = width
        self.into = nn.Linear(2, width)
        self.cell = nn.Linear(width, width, bias=False)
        self.readout = nn.Linear(width, 1)
        nn.init.orthogonal_(self.cell.weight, gain)

    def forward(self, signal: Tensor) -> Tensor:
        state = signal.new_zeros(len(signal), self.width)
        for moment in self.into(signal.transpose(1, 2)).unbind(1):
            state = self.cell(state) + moment
        return self.readout(state)
