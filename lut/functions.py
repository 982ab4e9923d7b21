"""Functions of one real variable by name, in double precision, safe over the whole real line.

Outside the domain (log of 0 and below, reciprocal and rsqrt of 0) a function takes its limit, +inf or -inf, which a
table stores as the end of its range; log and rsqrt of negative numbers continue with the value at 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf


def sigmoid(x: float) -> float:
    if x >= 0:
        return 1.0 / (1.0 + exp(-x))
    e = exp(x)
    return e / (1.0 + e)


def log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def reciprocal(x: float) -> float:
    return 1.0 / x if x != 0 else math.copysign(math.inf, x)


def rsqrt(x: float) -> float:
    return 1.0 / math.sqrt(x) if x > 0 else math.inf


def relu(x: float) -> float:
    return max(x, 0.0)


def gelu(x: float) -> float:
    """The exact form, x times the normal distribution function; not the approximation through tanh."""
    return 0.5 * x * math.erfc(-x / math.sqrt(2.0))


def silu(x: float) -> float:
    return x * sigmoid(x)


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def hard_swish(x: float) -> float:
    return x * min(max(x + 3.0, 0.0), 6.0) / 6.0


FUNCTIONS: Final[Mapping[str, Callable[[float], float]]] = {
    "exp": exp, "sigmoid": sigmoid, "tanh": math.tanh, "log": log, "reciprocal": reciprocal, "rsqrt": rsqrt,
    "relu": relu, "gelu": gelu, "silu": silu, "softplus": softplus, "hard_swish": hard_swish, "abs": abs,
}  # fmt: skip
