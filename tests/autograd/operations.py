"""Models of operations that autograd treats in ways of their own, and of how tensors are handed on."""

from __future__ import annotations

import copy
import types
import warnings
from collections.abc import Callable, Generator
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize, prune
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def splits(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    left, right = y.split([1, 2], dim=1)
    top, bottom = torch.tensor_split(y, 2)
    first, second = torch.unsafe_chunk(y, 2, dim=1)
    first.mul_(2)
    return left.sum() * right.prod() + (top - bottom).exp().sum() + first.sum() * second.sum()


def views_of_views(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    part = y.view(6)[1:5].view(2, 2).T
    part.add_(1)
    y[0].mul_(2)
    return part.sum() * y.sum()


def detached_in_place(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    total = y.sum()
    y.detach_()
    cut = y.detach()
    cut.zero_()
    return total + (y * 2).sum()


def indexed_in_place(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x).clone()
    y.index_add_(0, torch.tensor([0, 1]), x)
    y.scatter_add_(1, torch.tensor([[0, 1, 1], [1, 0, 2]]), lin(x))
    y.masked_fill_(y > 1, 0.0)
    y.index_fill_(1, torch.tensor([0]), 1.0)
    y[y > 0.5] = 0
    return y.sum()


def copied_into(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    target = torch.zeros(2, 3)
    target.copy_(y)
    target[0] = y[1]
    with torch.no_grad():
        torch.add(x, 1, out=(given := torch.empty(2, 3)))
    return target.sum() + (lin(given) * given).sum()


def complex_in_place(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    z = torch.complex(lin(x), lin(x))
    z.mul_(1j)
    z.real.add_(1)
    return torch.view_as_real(z).square().sum() + torch.fft.fft(z).abs().sum()


def foreach_in_place(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    ys = [lin(x), lin(x) * 2]
    torch._foreach_mul_(ys, 2.0)
    return ys[0].sum() + ys[1].square().sum()


def ordered(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    values, places = y.sort(1)
    best = (y.topk(2).values, y.cummax(1).values, y.median(1).values, y.kthvalue(1).values)
    return (values * places).sum() + sum(part.sum() for part in best)


def factored(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    square = lin.weight @ lin.weight.T + torch.eye(3)
    solved = torch.linalg.solve(square, lin(x).T).sum()
    return solved + torch.linalg.slogdet(square)[1] + torch.linalg.cholesky(square).sum()


def losses(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    log = y.log_softmax(1)
    lengths = torch.tensor([2]), torch.tensor([1])
    return (
        functional.kl_div(log, x.softmax(1), reduction="batchmean")
        + functional.huber_loss(y, x)
        + functional.gaussian_nll_loss(y, x, x.exp())
        + functional.ctc_loss(log[:, None], torch.tensor([[1]]), *lengths)
    )


def random_numbers(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = functional.dropout(lin(x), 0.5) + functional.rrelu(lin(x), training=True)
    mask = torch.bernoulli(torch.full((2, 3), 0.5))
    return (y * mask + functional.gumbel_softmax(lin(x))).sum()


def sparse_products(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    first = torch.sparse.mm(torch.eye(2).to_sparse(), lin(x))
    return first.sum() + torch.sparse.sum(lin(x).to_sparse() * 2)


def padded(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    sequences = lin(x)[:, None].expand(2, 4, 3).contiguous()
    packed = pack_padded_sequence(sequences, torch.tensor([4, 2]), batch_first=True)
    return pad_packed_sequence(packed, batch_first=True)[0].sin().sum()


def fake_quantized(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = torch.fake_quantize_per_tensor_affine(lin(x), 0.1, 0, -128, 127)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor", UserWarning)
        constant = torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8)
    return (y @ constant.dequantize()).sum()


def until_large(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    while y.norm().item() < 5:
        y = y * 2
    return y.sum()


def through_numpy(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    return (y * torch.from_numpy(y.detach().numpy() * 2)).sum()


def not_a_number(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, lin(x), torch.sqrt(-lin(x).abs() - 1)).nansum()


@types.coroutine
def _pause() -> Generator[None, None, None]:
    yield


def coroutines(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    async def part(factor: int) -> torch.Tensor:
        await _pause()
        y = lin(x * factor)
        await _pause()
        return y.sin()

    running, results = [part(1), part(2)], []
    while running:  # in turns; no event loop, because a browser's may be running in this process
        coroutine = running.pop(0)
        try:
            coroutine.send(None)
            running.append(coroutine)
        except StopIteration as ended:
            results.append(ended.value)
    return sum(y.sum() for y in results)


def made_inside(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    parameter = nn.Parameter(x.clone())
    constant = (x * 2).requires_grad_()
    y = nn.Linear(3, 3)(lin(x)) + copy.deepcopy(lin)(lin(constant))
    return (y * parameter * constant).sum()


def same_tensor_twice(lin: nn.Module, x: torch.Tensor) -> Any:
    y = lin(x)
    return {"first": y, "again": y, "view": y.view(-1), "weight": lin.weight}


def grad_mode_on_and_off(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        doubled = x * 2
    y = lin(doubled.clone())
    with torch.set_grad_enabled(False):
        z = y * 2
        with torch.enable_grad():
            z = z + y
    return z.sum()


class Keywords(nn.Module):
    """Tensors with gradient go from module to module as keywords."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Bilinear(3, 3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(input=x * 2)
        return self.second(input1=y.exp(), input2=y).sum()


class ByAttribute(nn.Module):
    """A tensor with gradient is handed to a module by an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.scale = nn.Linear(3, 3), Scaled()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.scale.factor = self.lin(x).exp()
        return self.scale(x).sum()


class Scaled(nn.Module):
    factor: Any = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 2).sin() * self.factor


class TiedByCall(nn.Module):
    """``functional_call`` with computed weights that two layers share."""

    def __init__(self) -> None:
        super().__init__()
        first, second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
        second.weight = first.weight
        self.layers = nn.Sequential(first, second)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = {"0.weight": self.layers[0].weight * self.scale}
        return torch.func.functional_call(self.layers, weights, (x,), tie_weights=True).sum()


class Doubling(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def right_inverse(self, x: torch.Tensor) -> torch.Tensor:
        return x / 2


class Cached(nn.Module):
    """Parametrizations with ``right_inverse``, computed once for two calls."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = parametrizations.weight_norm(nn.Linear(3, 3), "bias", dim=0)
        parametrize.register_parametrization(self.lin, "weight", Doubling())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with parametrize.cached():
            return self.lin(self.lin(x)).sum()


class Widths(nn.Module):
    """Parameters of float16 and float64."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow = nn.Parameter(torch.full((3,), 1.5, dtype=torch.float16))
        self.wide = nn.Parameter(torch.full((3,), 0.1, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.half() * self.narrow).float().sum() + (x.double() * self.wide).float().sum()


def pruned() -> nn.Module:
    return prune.l1_unstructured(nn.Linear(3, 3), "weight", amount=4)


def averaged() -> nn.Module:
    return torch.optim.swa_utils.AveragedModel(nn.Linear(3, 3))


def parallel() -> nn.Module:
    return nn.DataParallel(nn.Linear(3, 3))


FUNCTIONS: tuple[Callable[[nn.Module, torch.Tensor], Any], ...] = (
    splits, views_of_views, detached_in_place, indexed_in_place, copied_into, complex_in_place,
    foreach_in_place, ordered, factored, losses, random_numbers, sparse_products, padded,
    fake_quantized, until_large, through_numpy, not_a_number, coroutines, made_inside,
    same_tensor_twice, grad_mode_on_and_off,
)  # fmt: skip
OPERATIONS = {function.__name__.replace("_", " "): function for function in FUNCTIONS}
BUILT: dict[str, Callable[[], nn.Module]] = {
    "keywords between modules": Keywords,
    "tensor handed on by attribute": ByAttribute,
    "functional_call with tied weights": TiedByCall,
    "cached parametrizations": Cached,
    "float16 and float64 parameters": Widths,
    "pruned": pruned,
    "averaged": averaged,
    "data parallel": parallel,
}
