"""Functions of one real variable by name, in double precision, safe over the whole real line.

Outside the domain (log of 0 and below, reciprocal, rsqr and rsqrt of 0) a function takes its limit, +inf or -inf, which
a table stores as the end of its range; log, sqrt and rsqrt of negative numbers continue with the value at 0.
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


def elu(x: float, alpha: float = 1.0) -> float:
    return x if x > 0 else alpha * math.expm1(x)


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def selu(x: float) -> float:
    return SELU_SCALE * (x if x > 0 else SELU_ALPHA * math.expm1(x))


def leaky_relu(x: float, alpha: float = 0.01) -> float:
    return x if x > 0 else alpha * x


def relu6(x: float) -> float:
    return min(max(x, 0.0), 6.0)


def hard_sigmoid(x: float) -> float:
    return relu6(x + 3.0) / 6.0


def hard_swish(x: float) -> float:
    return x * hard_sigmoid(x)


def gelu_tanh(x: float) -> float:
    """The approximation of gelu through tanh."""
    return 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


def mish(x: float) -> float:
    return x * math.tanh(softplus(x))


def softsign(x: float) -> float:
    return x / (1.0 + abs(x))


def exp2(x: float) -> float:
    return 2.0**x if x < 1024.0 else math.inf


def log2(x: float) -> float:
    return math.log2(x) if x > 0 else -math.inf


def sqrt(x: float) -> float:
    """0 for negative numbers."""
    return math.sqrt(x) if x > 0 else 0.0


def square(x: float) -> float:
    return x * x


def rsqr(x: float) -> float:
    """1 / x^2."""
    return 1.0 / (x * x) if x * x > 0 else math.inf


FUNCTIONS: Final[Mapping[str, Callable[[float], float]]] = {
    "exp": exp, "sigmoid": sigmoid, "tanh": math.tanh, "log": log, "reciprocal": reciprocal, "rsqrt": rsqrt,
    "relu": relu, "gelu": gelu, "silu": silu, "softplus": softplus, "hard_swish": hard_swish, "abs": abs,
    "elu": elu, "selu": selu, "leaky_relu": leaky_relu, "relu6": relu6, "hard_sigmoid": hard_sigmoid,
    "gelu_tanh": gelu_tanh, "mish": mish, "softsign": softsign, "exp2": exp2, "log2": log2, "sqrt": sqrt,
    "square": square, "rsqr": rsqr, "erf": math.erf, "sin": math.sin, "cos": math.cos,
}  # fmt: skip

ALPHAS: Final[Mapping[str, Callable[[float, float], float]]] = {"elu": elu, "leaky_relu": leaky_relu}


def with_alpha(name: str, alpha: float) -> Callable[[float], float]:
    """`elu` or `leaky_relu` with another slope, or limit, of the negative side. Raises KeyError for other names."""
    function = ALPHAS[name]
    return lambda x: function(x, alpha)
