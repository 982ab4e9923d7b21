"""How far elementary functions of float32 are from the exact results, in units of the last place (0.5: rounded right).

    python benchmarks/elementary.py [OPERATOR ...] [--step N]

Every N-th number of float32 (all of them with 1) goes through the engine's kernel and, in float64, through the C
library; for POW, as many random pairs. Subnormal results have the units of the least normal number's neighbours.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import Session, types
from tosa_engine.builder import Builder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Array = np.ndarray[Any, Any]

CHUNK = 1 << 20
LEAST_NORMAL = np.float32(2.0**-126)


def erf(x: Array) -> Array:
    return np.array([math.erf(v) for v in x.tolist()])


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "COS": np.cos,
    "ERF": erf,
    "EXP": np.exp,
    "LOG": np.log,
    "POW": np.power,
    "RSQRT": lambda x: 1.0 / np.sqrt(x),
    "SIGMOID": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "SIN": np.sin,
    "TANH": np.tanh,
}


def chunks(op: str, step: int) -> Iterator[list[Array]]:
    """Inputs; of POW pairs that it is defined for, whose results float32 has as a rule."""
    rng = np.random.default_rng(0)
    for low in range(0, 1 << 32, step * CHUNK):
        if op == "POW":
            base = np.exp2(rng.choice([1.0, 126.0], CHUNK) * rng.uniform(-1, 1, CHUNK)).astype(np.float32)
            reach = rng.uniform(-151, 129, CHUNK)
            with np.errstate(divide="ignore", over="ignore"):
                exponent = np.clip(reach / np.log2(base.astype(np.float64)), -3e38, 3e38)
            yield [base, exponent.astype(np.float32)]
        else:
            last = min(low + step * CHUNK, 1 << 32)
            bits = np.resize(np.arange(low, last, step, dtype=np.uint32), CHUNK)
            yield [bits.view(np.float32)]


@np.errstate(all="ignore")
def units(got: Array, inputs: list[Array], function: Callable[..., Array]) -> Array:
    """Errors in units of the last place; infinite where one of the two is infinite or NaN alone."""
    exact = function(*(x.astype(np.float64) for x in inputs))
    near = exact.astype(np.float32)
    error = np.abs(got - exact) / np.spacing(np.maximum(np.abs(near), LEAST_NORMAL)).astype(np.float64)
    same = (got == near) & np.isinf(got) | np.isnan(got) & np.isnan(near)
    return np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))


def measure(op: str, step: int) -> None:
    b = Builder()
    names = ("x", "y") if op == "POW" else ("x",)
    b.output(b.op(op, *(b.input(types.fp32, (CHUNK,), name) for name in names)))
    session = Session(b.graph(), 1, compiled=True)
    worst, where, beyond, count = 0.0, [np.float32(0)], 0, 0
    for inputs in chunks(op, step):
        (got,) = session.run(None, dict(zip(names, inputs, strict=True)))
        error = units(got, inputs, FUNCTIONS[op])
        beyond, count = beyond + int((error > 0.5).sum()), count + len(error)
        at = int(error.argmax())
        if error[at] > worst:
            worst, where = float(error[at]), [x[at] for x in inputs]
    shown = ", ".join(repr(float(x)) for x in where)
    print(f"{op:8} {worst:.6f} at {shown}; {1e6 * beyond / count:.1f} of a million beyond 0.5")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", choices=[[], *FUNCTIONS])
    parser.add_argument("--step", type=int, default=61)
    arguments = parser.parse_args()
    for op in arguments.operators or FUNCTIONS:
        measure(op, arguments.step)


if __name__ == "__main__":
    main()
