"""Usual nets as they are right after their initialization: nothing is wrong with any of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

Net = tuple[nn.Module, torch.Tensor]
WIDTH, HEADS, TOKENS = 16, 2, 6


class Attention(nn.Module):
    """Separate queries, keys and values with biases; by hand or by torch's function."""

    def __init__(self, causal: bool = False, fused: bool = True, joined: bool = False) -> None:
        super().__init__()
        if not joined:
            self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH) if joined else None
        self.out, self.causal, self.fused = nn.Linear(WIDTH, WIDTH), causal, fused

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, _ = x.shape
        parts = (self.q(x), self.k(x), self.v(x)) if self.qkv is None else self.qkv(x).chunk(3, -1)
        q, k, v = (one.view(batch, tokens, HEADS, -1).transpose(1, 2) for one in parts)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
            if self.causal:
                later = torch.ones(tokens, tokens).triu(1).bool()
                scores = scores.masked_fill(later, -torch.inf)
            y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, tokens, WIDTH))


class Block(nn.Module):
    """Attention and an MLP, normalized before or after, each perhaps with a LayerScale."""

    def __init__(self, after: bool = False, scale: float = 0.0, **attention: bool) -> None:
        super().__init__()
        self.attention, self.after = Attention(**attention), after
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))
        self.scales = nn.ParameterList(nn.Parameter(scale * torch.ones(WIDTH)) for _ in range(2))
        if not scale:
            self.scales = nn.ParameterList()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.after:
            x = self.first(x + self.attention(x))
            return self.second(x + self.mlp(x))
        one, two = self.scales if len(self.scales) else (1.0, 1.0)
        x = x + one * self.attention(self.first(x))
        return x + two * self.mlp(self.second(x))


class Vit(nn.Module):
    """Patches, a class token, positions, blocks, a head that may begin at zero."""

    def __init__(self, zero_head: bool, scale: float = 0.0) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, WIDTH, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.place = nn.Parameter(torch.randn(1, 17, WIDTH) * 0.02)
        self.blocks = nn.Sequential(*(Block(scale=scale) for _ in range(3)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5)
        if zero_head:
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.place
        return self.head(self.norm(self.blocks(x))[:, 0])


class Language(nn.Module):
    """Embeds tokens and positions; as BERT, or as GPT with tied weights."""

    def __init__(self, causal: bool, fused: bool) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(20, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        blocks = (Block(after=not causal, causal=causal, fused=fused) for _ in range(3))
        self.blocks, self.causal = nn.Sequential(*blocks), causal
        self.head = nn.Linear(WIDTH, 20, bias=not causal)
        if causal:
            nn.init.normal_(self.embed.weight, std=0.02)
            self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids) + self.place(torch.arange(ids.shape[1]))
        if not self.causal:
            x = self.norm(x)
        return self.head(self.norm(self.blocks(x)) if self.causal else self.blocks(x)).mean(1)


class Inverted(nn.Module):
    """A block of MobileNetV2: its last norm has no activation."""

    def __init__(self, old: int, new: int) -> None:
        super().__init__()
        wide = 3 * old
        self.body = nn.Sequential(
            *(nn.Conv2d(old, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()),
            *(nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False),),
            *(nn.BatchNorm2d(wide), nn.ReLU6()),
            *(nn.Conv2d(wide, new, 1, bias=False), nn.BatchNorm2d(new)),
        )
        self.skips = old == new

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.skips else self.body(x)


def mobile() -> nn.Module:
    stem = (nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
    blocks = (Inverted(8, 8), Inverted(8, 12), Inverted(12, 12), Inverted(12, 16))
    last = (nn.Conv2d(16, 32, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6())
    return nn.Sequential(
        *stem, *blocks, *last, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 5)
    )


class ConvNext(nn.Module):
    """A block of ConvNeXt, with its LayerScale."""

    def __init__(self, scale: float = 1e-6) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(WIDTH, WIDTH, 3, padding=1, groups=WIDTH)
        self.norm, self.scale = nn.LayerNorm(WIDTH), nn.Parameter(scale * torch.ones(WIDTH))
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.mlp(y)).permute(0, 3, 1, 2)


def convnext(blocks: int, head: bool = True) -> nn.Module:
    end = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5))
    body = (ConvNext() for _ in range(blocks))
    return nn.Sequential(nn.Conv2d(3, WIDTH, 4, 4), *body, *(end if head else end[:2]))


class Gated(nn.Module):
    """A block of gMLP: half of the width is gated by the other, mixed over tokens from near zero."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(WIDTH, 32), nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.inner, self.mix = nn.LayerNorm(WIDTH), nn.Linear(TOKENS, TOKENS)
        nn.init.zeros_(self.mix.weight)
        nn.init.ones_(self.mix.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept, gate = F.gelu(self.first(self.norm(x))).chunk(2, -1)
        gate = self.mix(self.inner(gate).transpose(1, 2)).transpose(1, 2)
        return x + self.last(kept * gate)


class Mixer(nn.Module):
    """A block of MLP-Mixer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.tokens = nn.Sequential(nn.Linear(TOKENS, 8), nn.GELU(), nn.Linear(8, TOKENS))
        self.channels = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.tokens(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.second(x))


class Pooled(nn.Module):
    """Blocks over tokens, their mean, a head."""

    def __init__(self, make: Callable[[], nn.Module], blocks: int = 3) -> None:
        super().__init__()
        self.first = nn.Linear(8, WIDTH)
        self.blocks = nn.Sequential(*(make() for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.first(x))).mean(1))


class Adapted(nn.Module):
    """A frozen layer with a LoRA adapter."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(WIDTH, WIDTH).requires_grad_(False)
        self.a, self.b = nn.Linear(WIDTH, 4, bias=False), nn.Linear(4, WIDTH, bias=False)
        nn.init.zeros_(self.b.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + F.gelu(self.base(x) + self.b(self.a(x)))


class Modulated(nn.Module):
    """A block of a diffusion transformer, whose scale, shift and gate begin at zero (adaLN-zero)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH, elementwise_affine=False)
        self.condition = nn.Linear(WIDTH, 3 * WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))
        nn.init.zeros_(self.condition.weight)
        nn.init.zeros_(self.condition.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shift, scale, gate = self.condition(F.silu(x.mean(1, keepdim=True))).chunk(3, -1)
        return x + gate * self.mlp(self.norm(x) * (1 + scale) + shift)


class Residual(nn.Module):
    """A block of a ResNet, whose last norm may begin at zero."""

    def __init__(self, zero: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.BatchNorm2d(WIDTH), nn.ReLU()),
            *(nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.BatchNorm2d(WIDTH)),
        )
        if zero:
            nn.init.zeros_(self.body[-1].weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.body(x))


def residual(zero: bool) -> nn.Module:
    blocks = (Residual(zero) for _ in range(3))
    end = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(WIDTH, 5))
    return nn.Sequential(nn.Conv2d(3, WIDTH, 3, padding=1), *blocks, *end)


class ReZero(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor, self.mlp = nn.Parameter(torch.zeros(1)), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.factor * torch.tanh(self.mlp(x))


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 12, 2, batch_first=True), nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x)[0][:, -1])


def images() -> torch.Tensor:
    return torch.randn(10, 3, 16, 16)


def rows() -> torch.Tensor:
    return torch.randn(10, TOKENS, 8)


def tokens() -> torch.Tensor:
    return torch.randint(0, 20, (10, TOKENS))


def loss(output: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(output, torch.arange(len(output)) % 5)


FRESH: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "vit": (lambda: Vit(False), images),
    "vit, head of zeros": (lambda: Vit(True), images),
    "cait": (lambda: Vit(False, 1e-5), images),
    "bert": (lambda: Language(False, False), tokens),
    "bert, fused": (lambda: Language(False, True), tokens),
    "gpt": (lambda: Language(True, False), tokens),
    "gpt, fused": (lambda: Language(True, True), tokens),
    "mobilenet": (mobile, images),
    "convnext": (lambda: convnext(3), images),
    "convnext, deep": (lambda: convnext(9), images),
    "convnext, no head": (lambda: convnext(4, False), images),
    "gmlp": (lambda: Pooled(Gated), rows),
    "mixer": (lambda: Pooled(Mixer), rows),
    "lora": (lambda: Pooled(Adapted), rows),
    "dit": (lambda: Pooled(Modulated), rows),
    "resnet": (lambda: residual(False), images),
    "resnet, zeros": (lambda: residual(True), images),
    "rezero": (lambda: Pooled(ReZero), rows),
    "joined attention": (lambda: Pooled(lambda: Block(joined=True)), rows),
    "lstm": (Lstm, rows),
}
