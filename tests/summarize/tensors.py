"""Tensors of every kind that autograd may hand over."""

from __future__ import annotations

import math
import warnings

import torch

from tb_gradgraph.summarize.batch import SMALL

NAN, INF = math.nan, math.inf


def random_tensor(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def sprinkled(count: int) -> torch.Tensor:
    """Make a tensor in which NaN, both infinities and zero stand among numbers."""
    values = random_tensor(count)
    values[::7], values[1::11], values[2::13], values[3::5] = NAN, INF, -INF, 0.0
    return values


def sparse_tensor(indices: object, values: object, shape: tuple[int, ...]) -> torch.Tensor:
    places = torch.as_tensor(indices, dtype=torch.int64)
    numbers = torch.as_tensor(values)
    return torch.sparse_coo_tensor(places, numbers, shape, check_invariants=True)


def half_complex(tensor: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():  # torch says once that these are experimental
        warnings.simplefilter("ignore")
        return tensor.to(torch.complex32)


TENSORS = {
    "0-d": torch.tensor(-3.5),
    "one element": torch.tensor([2.0]),
    "empty": torch.zeros(0, 3),
    "zeros": torch.zeros(5),
    "ones": torch.ones(3, 4),
    "zeros of both signs": torch.tensor([0.0, -0.0, 1.0, -0.0]),
    "large zeros of both signs": torch.tensor([0.0, -0.0, 1e-45]).repeat(3000),
    "integers": torch.arange(-3, 4),
    "booleans, large": torch.arange(5000) % 3 == 0,
    "great mean": random_tensor(500) * 1e-2 + 1e3,
    "very large with a great mean": random_tensor(70_000) * 1e-2 + 1e3,
    "tiny, squares vanish in float32": random_tensor(500) * 1e-30,
    "large and tiny": random_tensor(20_000) * 1e-30,
    "great, squares overflow in float32": random_tensor(500) * 1e30,
    "equal magnitudes": torch.tensor([0.1, -0.1]).repeat(70_000),
    "imaginary part of a conjugate": torch.complex(random_tensor(5000), random_tensor(5000)).conj().imag,
    "random": random_tensor(7, 5),
    "at the limit of small": random_tensor(SMALL),
    "large": random_tensor(100, 97),
    "large with a great mean": random_tensor(9000, dtype=torch.float64) * 1e-6 + 1e4,
    "very large": random_tensor(300, 301),
    "very large with some mean": random_tensor(70_001) + 2,
    "very large, permuted": random_tensor(30, 50, 60).permute(2, 0, 1),
    "very large bfloat16": random_tensor(70_000, dtype=torch.bfloat16),
    "very large, out of float32's squares": random_tensor(70_000) * 1e25,
    "strided": random_tensor(200, 100)[:, ::2],
    "expanded in one dimension": random_tensor(3, 1).expand(3, 4000),
    "large transposed": random_tensor(90, 110).t(),
    "large expanded": torch.tensor([0.25]).expand(9000),
    "all nan": torch.full((4,), NAN),
    "large, all nan": torch.full((5000,), NAN),
    "nan, inf and numbers": torch.tensor([NAN, INF, -INF, 1.0, -2.0, 0.0]),
    "large with nan and inf": sprinkled(6000),
    "only infinities": torch.tensor([INF, -INF]),
    "one finite": torch.tensor([NAN, 5.0, INF]),
    "float16": torch.tensor([60000.0, 60000.0, -300.0], dtype=torch.float16),
    "float16 large": (random_tensor(5000) * 300).to(torch.float16),
    "bfloat16": random_tensor(33, dtype=torch.bfloat16),
    "bfloat16 large": random_tensor(5001, dtype=torch.bfloat16),
    "float64 huge": torch.tensor([1e200, -3e200, 2e180], dtype=torch.float64),
    "float64 huge, large": random_tensor(5000, dtype=torch.float64) * 1e200,
    "float64 tiny": torch.tensor([1e-200, -3e-200], dtype=torch.float64),
    "float64 tiny, large": random_tensor(5000, dtype=torch.float64) * 1e-200,
    "float32 near its end": torch.tensor([3e38, -3e38, 1e38]),
    "denormal": torch.tensor([1e-45, -2e-45]),
    "complex": torch.complex(random_tensor(6), random_tensor(6, seed=1)),
    "complex with nan": torch.tensor([complex(NAN, 1), complex(3, 4), complex(0, INF)]),
    "complex large": torch.complex(random_tensor(5000), random_tensor(5000, seed=1)),
    "complex with a great mean": 1e3 + 1e-4 * torch.complex(random_tensor(4000), random_tensor(4000)),
    "complex with a great mean, large": torch.complex(1e3 + random_tensor(90_000) * 1e-4, torch.ones(1)),
    "complex great and tiny": torch.complex(random_tensor(9000) * 1e30, random_tensor(9000) * 1e-30),
    "complex128": torch.complex(random_tensor(50, dtype=torch.float64), torch.ones(50, dtype=torch.float64)),
    "complex, conjugate": torch.complex(random_tensor(5000), random_tensor(5000, seed=1)).conj(),
    "complex32": half_complex(torch.complex(random_tensor(7), random_tensor(7, seed=1))),
    "complex32, large": half_complex(torch.complex(random_tensor(70_000), random_tensor(70_000, seed=1))),
    "complex32 with nan": half_complex(torch.tensor([complex(NAN, 1), complex(3, 4), complex(0, INF)])),
    "float8": random_tensor(33).to(torch.float8_e4m3fn),
    "float8, large": (random_tensor(70_000) * 10).to(torch.float8_e5m2),
    "float8, permuted": random_tensor(90, 70).to(torch.float8_e4m3fn).t(),
    "unsigned": torch.arange(9).to(torch.uint16),
    "unsigned, large": torch.arange(5000).to(torch.uint32),
    "great integers": 2**40 + torch.arange(500),
    "sparse": sparse_tensor([[0, 2, 2]], [1.0, -2.0, 5.0], (4,)),
    "sparse rows": sparse_tensor([[1, 3]], random_tensor(2, 3), (6, 3)),
    "sparse, nothing stored": sparse_tensor(torch.zeros(1, 0), torch.zeros(0), (4,)),
    "sparse with nan": sparse_tensor([[0, 1]], [NAN, -1.0], (3,)),
    "sparse large": sparse_tensor([list(range(100))], random_tensor(100, 60), (1000, 60)),
}  # fmt: skip

LARGE = [name for name, tensor in TENSORS.items() if tensor.numel() > SMALL]
