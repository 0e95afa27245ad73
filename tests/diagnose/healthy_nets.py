"""Sound trainings whose forward holds NaN or infinity only where it is meant, or nowhere."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.forward_faults import Attention


class Residual(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.block = nn.Sequential(
            *(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True)),
            *(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)),
        )
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.stem(x)
        return self.head(F.relu(self.block(h) + h).mean((2, 3)))


class Causal(nn.Module):
    """Embeds, attends by torch's own layer with a float mask, and masks its logits."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 11)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        logits = self.head(self.layer(self.embed(ids), src_mask=mask, is_causal=True))
        forbidden = torch.zeros(11, dtype=torch.bool)
        forbidden[7:] = True
        return logits.masked_fill(forbidden, -torch.inf)


class Recurrent(nn.Module):
    """Keeps the last state of an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x)[0][:, -1])


class Nearest(nn.Module):
    """Looks for the nearest other point; the distance to itself is made infinite."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.lin(x.flatten(0, 1))
        distances = torch.cdist(h, h) + 1e-3
        return distances.masked_fill(torch.eye(len(h)).bool(), torch.inf).min(1).values


class Biased(nn.Module):
    """Adds the logarithm of a mask to the scores, which is -inf where the mask is 0."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = torch.tensor([1.0, 1, 1, 0, 1])
        return torch.softmax(self.lin(x) + torch.log(kept), -1)


def squared(output: torch.Tensor) -> torch.Tensor:
    return output.float().square().mean()


def crossed(output: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(
        output.flatten(0, 1), torch.zeros(output.shape[:-1].numel(), dtype=torch.long)
    )


Sound = tuple[
    Callable[[], nn.Module], Callable[[], torch.Tensor], Callable[[torch.Tensor], torch.Tensor]
]


def sequence() -> torch.Tensor:
    return torch.randn(2, 5, 8)


HEALTHY: dict[str, Sound] = {
    **{
        f"attention, mask {how}": (lambda how=how: Attention(how, False), sequence, squared)
        for how in ("filled", "added", "where", "written")
    },
    "residual": (Residual, lambda: torch.randn(4, 1, 8, 8), squared),
    "causal": (Causal, lambda: torch.randint(0, 7, (2, 5)), crossed),
    "recurrent": (Recurrent, sequence, squared),
    "nearest": (Nearest, sequence, squared),
    "logarithm of a mask": (Biased, sequence, squared),
}
