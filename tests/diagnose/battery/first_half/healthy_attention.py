"""Healthy trainings of transformers: masks, class tokens, tied weights, rare tokens."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import Batches, images, tokens
from tests.diagnose.battery.first_half.fit import STEPS, fit, of_tokens
from tests.diagnose.battery.first_half.nets import GPT, SelfAttention, ViT

Losses = list[float]


def causal(watch: Watch) -> Losses:
    torch.manual_seed(240)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    return fit(watch, model, tokens(), of_tokens, optimizer)


def tied(watch: Watch) -> Losses:
    """The head is the embedding; small weights, as is usual then."""
    torch.manual_seed(241)
    model = GPT(width=24)
    nn.init.normal_(model.embed.weight, std=0.1)
    model.head.weight = model.embed.weight
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return fit(watch, model, tokens(), of_tokens, optimizer)


class Encoder(nn.Module):
    """Torch's own encoder, with padding, and a mean over what is no padding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(13, 16, padding_idx=0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        padding = ids == 0
        h = self.encoder(self.embed(ids), src_key_padding_mask=padding)
        kept = (~padding).unsqueeze(-1)
        return self.head((h * kept).sum(1) / kept.sum(1))


def padded_sentences() -> Batches:
    """Yield sentences of different lengths, whose label is that of their commonest words."""
    source = torch.Generator().manual_seed(3)
    while True:
        labels = torch.randint(3, (16,), generator=source)
        words = 1 + 4 * labels[:, None] + torch.randint(4, (16, 9), generator=source)
        noise = torch.randint(1, 13, (16, 9), generator=source)
        ids = torch.where(torch.rand(16, 9, generator=source) < 0.25, noise, words)
        lengths = torch.randint(3, 10, (16, 1), generator=source)
        yield ids * (torch.arange(9) < lengths), labels


def padded(watch: Watch) -> Losses:
    torch.manual_seed(242)
    return fit(watch, Encoder(), padded_sentences())


def vit(watch: Watch) -> Losses:
    torch.manual_seed(243)
    optimizer = torch.optim.AdamW((model := ViT()).parameters(), lr=4e-3)
    return fit(watch, model, images(24), optimizer=optimizer, steps=60)


class Fused(nn.Module):
    """Attention by scaled_dot_product_attention, after a norm of queries and keys."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.qkv = nn.Embedding(12, 24), nn.Linear(24, 72, bias=False)
        self.q_norm, self.k_norm = nn.RMSNorm(12), nn.RMSNorm(12)
        self.norm, self.proj, self.head = nn.RMSNorm(24), nn.Linear(24, 24), nn.Linear(24, 12)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 2, 12)).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v, is_causal=True)
        return self.head(x + self.proj(out.transpose(1, 2).flatten(2)))


def fused(watch: Watch) -> Losses:
    torch.manual_seed(244)
    return fit(watch, Fused(), tokens(), of_tokens, steps=50)


def zipf() -> Batches:
    """Yield the next token after tokens of which a few are frequent, and most are rare."""
    source = torch.Generator().manual_seed(8)
    weights = 1 / torch.arange(1, 201.0)
    while True:
        ids = torch.multinomial(weights, 120, True, generator=source).unflatten(0, (12, 10))
        yield ids, (ids + 1) % 12


def rare_tokens(watch: Watch) -> Losses:
    torch.manual_seed(245)
    model = GPT(vocabulary=200)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return fit(watch, model, zipf(), of_tokens, optimizer)


def warmed_up(watch: Watch) -> Losses:
    """The learning rate begins at zero and grows; gradients are clipped at every step."""
    torch.manual_seed(246)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: step / 10 if step < 10 else 0.5 + 0.5 * math.cos(math.pi * (step - 10) / 60),
    )
    watch(model, optimizer=optimizer)
    losses = []
    for _, (ids, targets) in zip(range(STEPS), tokens()):
        optimizer.zero_grad(set_to_none=True)
        loss = of_tokens(model(ids), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


class Translator(nn.Module):
    """Encodes a sequence, and attends to it while it decodes; with scores masked by -inf."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, 16)
        self.position = nn.Parameter(0.3 * torch.randn(10, 16))
        self.encode, self.decode = SelfAttention(causal=False), SelfAttention(causal=True)
        self.cross = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.head = nn.Linear(16, 12)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids) + self.position
        memory = self.norm1(x + self.encode(x))
        shifted = F.pad(x, (0, 0, 1, 0))[:, :-1]
        h = self.norm2(shifted + self.decode(shifted))
        h = h + self.cross(h, memory, memory, need_weights=False)[0]
        return self.head(h)


def translator(watch: Watch) -> Losses:
    torch.manual_seed(247)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return fit(watch, model, tokens(), of_tokens, optimizer, steps=50)


class Gating(nn.Module):
    """A gMLP's block: one half gates the other along the tokens, and the gate begins at one."""

    def __init__(self, width: int = 16, length: int = 10) -> None:
        super().__init__()
        self.norm, self.up = nn.LayerNorm(width), nn.Linear(width, 2 * width)
        self.gate_norm, self.spatial = nn.LayerNorm(width), nn.Linear(length, length)
        self.down = nn.Linear(width, width)
        nn.init.zeros_(self.spatial.weight)
        nn.init.ones_(self.spatial.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value, gate = F.gelu(self.up(self.norm(x))).chunk(2, -1)
        gate = self.spatial(self.gate_norm(gate).transpose(1, 2)).transpose(1, 2)
        return x + self.down(value * gate)


def gated(watch: Watch) -> Losses:
    torch.manual_seed(250)
    model = nn.Sequential(nn.Embedding(12, 16), Gating(), Gating(), Gating(), nn.Linear(16, 12))
    return fit(watch, model, tokens(), of_tokens)


def masked_language(watch: Watch) -> Losses:
    """Some tokens are hidden, and only they are to be guessed."""
    torch.manual_seed(248)
    model = GPT(vocabulary=13)
    for block in model.blocks:
        block.attn.causal = False
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    def hidden() -> Batches:
        for ids, _ in tokens(24):
            is_hidden = torch.rand(ids.shape) < 0.2
            is_hidden[:, 3] = True
            yield ids.masked_fill(is_hidden, 12), ids.masked_fill(~is_hidden, -100)

    return fit(watch, model, hidden(), of_tokens, optimizer, steps=60)


def in_bfloat16(watch: Watch) -> Losses:
    """Autocast to bfloat16, with weights in float32."""
    torch.manual_seed(249)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    watch(model, optimizer=optimizer)
    losses = []
    for _, (ids, targets) in zip(range(STEPS), tokens()):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = of_tokens(model(ids), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


CASES = [
    Case("gpt: causal mask of -inf", causal, family="transformer"),
    Case("gpt: tied head", tied, family="transformer"),
    Case("encoder: padding", padded, family="transformer"),
    Case("vit: class token", vit, family="transformer"),
    Case("gpt: fused attention, RMS norm", fused, family="transformer"),
    Case("gpt: rare tokens", rare_tokens, family="transformer"),
    Case("gpt: warm-up, clipped at every step", warmed_up, family="transformer"),
    Case("translator: encoder and decoder", translator, family="transformer"),
    Case("gmlp: gates that begin at one", gated, family="transformer"),
    Case("bert: masked tokens", masked_language, family="transformer"),
    Case("gpt: autocast to bfloat16", in_bfloat16, family="transformer"),
]
