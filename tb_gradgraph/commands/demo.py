"""The trainings that ``tb-gradgraph demo`` logs: a small GPT, once with a mistake and once without."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from tb_gradgraph.api import SummaryWriter

TOKENS, LENGTH, BATCH = 32, 32, 16
BLOCKS, WIDTH, HEADS = 4, 32, 4
STEPS, EVERY_N_STEPS = 100, 2
RATE = 3e-3
#: Steps at which the learning rate is by mistake forty times too high.
MISTAKE = range(50, 53)
TIMES = 40

#: The two trainings by the ends of their runs' names: whether the mistake is made. TensorBoard opens
#: the first run by name, which is to be the one with the mistake.
TRAININGS: Mapping[str, bool] = {"mistake": True, "no-mistake": False}


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix each token with those before it."""
        batch, length, width = x.shape
        heads = self.qkv(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        q, k, v = heads.unbind(0)
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One block of a GPT, with its norms after the sums, as in the first one."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width)
        self.ln_2 = nn.LayerNorm(width)
        wide = nn.Linear(width, 4 * width)
        self.mlp = nn.Sequential(wide, nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what attention and the two layers make of ``x``."""
        x = self.ln_1(x + self.attn(x))
        return self.ln_2(x + self.mlp(x))


class GPT(nn.Module):
    """Embeddings, equal blocks, a head."""

    def __init__(self, blocks: int = BLOCKS, width: int = WIDTH) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(TOKENS, width), nn.Embedding(LENGTH, width)
        self.h = nn.ModuleList(Block(width) for _ in range(blocks))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, TOKENS, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return a logit for each token that could come next, at each place."""
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def tell(mistake: bool) -> str:
    """Return the end of the sentence that says what is trained."""
    if not mistake:
        return "without a mistake"
    return f"whose learning rate is {TIMES} times too high at steps {MISTAKE[0]} to {MISTAKE[-1]}"


def make_batch(length: int) -> torch.Tensor:
    """Return sequences that count up, each by a stride of its own."""
    start, stride = torch.randint(TOKENS, (2, BATCH, 1))
    return (start + (1 + stride % 6) * torch.arange(length)) % TOKENS


def train(logdir: str | pathlib.Path, steps: int = STEPS, *, mistake: bool = True) -> float:
    """Train the GPT to count and log graph, values, gradients and loss into ``logdir``.

    The data and the result are the same at every call; torch's global random
    state is left as it was.

    Args:
        logdir: The directory of the run.
        steps: How many steps.
        mistake: Whether the learning rate is ``TIMES`` too high at the steps of ``MISTAKE``.

    Returns:
        The last loss.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return _train(str(logdir), steps, MISTAKE if mistake else range(0))


def _train(logdir: str, steps: int, mistake: range) -> float:
    model, last = GPT(), 0.0
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    with SummaryWriter(logdir) as writer:
        watched = {"every_n_steps": EVERY_N_STEPS, "level": "op", "values": True}
        writer.watch(model, optimizer=optimizer, tag="GPT", **watched)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = RATE * (TIMES if step in mistake else 1)
            tokens = make_batch(LENGTH + 1)
            logits = model(tokens[:, :-1])
            loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            last = loss.item()
            writer.add_scalar("loss", last, step)
    return last
