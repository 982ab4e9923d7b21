"""How fast elementwise operators are beside numpy's functions, in nanoseconds for an element, one thread.

    python benchmarks/elementwise.py [WORD ...] [--rounds N] [--json FILE]

WORD selects lines that contain it. Each tensor has 256 x 256 elements, which the second-level cache holds; the last
lines but CAST have an operand that repeats along an axis. numpy writes into an array that is there, in few calls;
its results are compared with ours. Both run in turns in one process.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from cases import write
from operators import Line

from tosa_engine import Session, types
from tosa_engine.builder import Builder
from tosa_engine.kernels.work import DONE
from tosa_engine.runtime.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

SHAPE = (256, 256)
i8, i16, i32, fp32, fp16, bf16 = types.i8, types.i16, types.i32, types.fp32, types.fp16, types.bf16


@dataclass(frozen=True)
class Case:
    """An operator on tensors of these formats, and what numpy does for the same: numpy(*inputs, out)."""

    op: str
    formats: tuple[Any, ...]
    numpy: Callable[..., object]
    constants: tuple[Any, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    column: bool = False  # the last operand has one element for each row
    room: float = 0.0  # relative difference that is let pass: numpy rounds more than once, or in another place
    low: int = -100
    high: int = 100

    @property
    def name(self) -> str:
        return f"{self.op} {', '.join(map(str, self.formats))}{' of [256, 1]' * self.column}"


def half_up(a: Array, b: Array, out: Array) -> None:
    np.right_shift(a, b, out=out)
    out += np.right_shift(a, np.maximum(b, 1) - 1) & (b > 0)


def clz(x: Array, out: Array) -> None:
    np.subtract(32, np.frexp(x.view(np.uint32).astype(np.float64))[1], out=out)


def quotient(a: Array, b: Array, out: Array) -> None:
    np.copyto(out, np.trunc(a / b), casting="unsafe")


def as_integers(x: Array, out: Array) -> None:
    np.copyto(out, np.clip(np.rint(x), -128, 127), casting="unsafe")


def cast(x: Array, out: Array) -> None:
    np.copyto(out, x, casting="unsafe")


def sigmoid(x: Array, out: Array) -> None:
    np.reciprocal(1 + np.exp(-x), out=out)


def rsqrt(x: Array, out: Array) -> None:
    np.reciprocal(np.sqrt(x), out=out)


def to(ufunc: Any) -> Callable[..., object]:
    return lambda *arrays: ufunc(*arrays[:-1], out=arrays[-1])


def chosen(condition: Array, a: Array, b: Array, out: Array) -> None:
    np.copyto(out, b)
    np.copyto(out, a, where=condition)


POSITIVE = {"low": 1, "high": 100}
CASES = (
    Case("ADD", (i32, i32), to(np.add)),
    Case("SUB", (i32, i32), to(np.subtract)),
    Case("MUL", (i32, i32), to(np.multiply), (np.zeros(1, np.int8),)),
    Case("MAXIMUM", (i32, i32), to(np.maximum), settings=(("nan_mode", "PROPAGATE"),)),
    Case("GREATER", (i32, i32), to(np.greater)),
    Case("SELECT", (types.bool_, i32, i32), chosen),
    Case("SELECT", (types.bool_, i8, i8), chosen),
    Case("LOGICAL_LEFT_SHIFT", (i32, i32), to(np.left_shift), low=0, high=31),
    Case("ARITHMETIC_RIGHT_SHIFT", (i32, i32), half_up, settings=(("round", True),), low=0, high=31),
    Case("BITWISE_AND", (i8, i8), to(np.bitwise_and)),
    Case("LOGICAL_NOT", (types.bool_,), to(np.logical_not)),
    Case("CLZ", (i32,), clz),
    Case("ABS", (i32,), to(np.abs)),
    Case("INTDIV", (i32, i32), quotient, **POSITIVE),
    Case("ADD", (fp32, fp32), to(np.add)),
    Case("MUL", (fp32, fp32), to(np.multiply), (np.zeros(1, np.int8),)),
    Case("MAXIMUM", (fp32, fp32), to(np.maximum), settings=(("nan_mode", "PROPAGATE"),)),
    Case("GREATER", (fp32, fp32), to(np.greater)),
    Case("SELECT", (types.bool_, fp32, fp32), chosen),
    Case("RECIPROCAL", (fp32,), to(np.reciprocal), **POSITIVE),
    Case("FLOOR", (fp32,), to(np.floor)),
    Case("EXP", (fp32,), to(np.exp), room=1e-6, low=-10, high=10),
    Case("LOG", (fp32,), to(np.log), room=1e-6, **POSITIVE),
    Case("TANH", (fp32,), to(np.tanh), room=1e-6, low=-10, high=10),
    Case("SIGMOID", (fp32,), sigmoid, room=1e-6, low=-10, high=10),
    Case("RSQRT", (fp32,), rsqrt, room=1e-6, **POSITIVE),
    Case("SIN", (fp32,), to(np.sin), room=1e-6),
    Case("POW", (fp32, fp32), to(np.power), room=1e-6, low=1, high=8),
    Case("ADD", (fp16, fp16), to(np.add)),
    Case("EXP", (fp16,), to(np.exp), room=2e-3, low=-10, high=10),
    Case("ADD", (bf16, bf16), to(np.add)),
    Case("EXP", (bf16,), to(np.exp), room=2e-2, low=-10, high=10),
    Case("ADD", (i32, i32), to(np.add), column=True),
    Case("MUL", (fp32, fp32), to(np.multiply), (np.zeros(1, np.int8),), column=True),
)
CASTS = (
    Case("CAST", (i32, i8), cast),
    Case("CAST", (i32, fp32), cast),
    Case("CAST", (fp32, i8), as_integers),
    Case("CAST", (fp32, fp16), cast),
    Case("CAST", (bf16, fp32), cast),
    Case("CAST", (fp32, types.fp8e4m3), cast),
)


def lines_of(case: Case) -> tuple[Line, Line]:
    """Ours and numpy's."""
    b = Builder()
    formats = case.formats[:1] if case.op == "CAST" else case.formats
    shapes = [SHAPE] * (len(formats) - 1) + [(SHAPE[0], 1) if case.column else SHAPE]
    inputs = [b.input(t, shape, f"x{i}") for i, (t, shape) in enumerate(zip(formats, shapes, strict=True))]
    more = {"dtype": case.formats[1]} if case.op == "CAST" else {}
    b.output(b.op(case.op, *inputs, *case.constants, **dict(case.settings), **more))
    session = Session(b.graph(), 1, compiled=True)
    workspace = Blocks(session.plan(), 1).main
    rng, arrays = np.random.default_rng(0), []
    for tensor, t in zip(inputs, formats, strict=True):
        values = workspace.view(tensor.name)
        drawn = rng.uniform(case.low, case.high, values.shape)
        values[...] = drawn if t.is_float else rng.integers(case.low, case.high + 1, values.shape).astype(values.dtype)
        arrays.append(values.copy())
    ((step, units, scratch),) = [(s.run, s.units, s.scratch[0]) for s in workspace.steps if s.run is not None]
    assert step is not None
    assert step(0, units, scratch) == DONE, f"{case.name}: a REQUIRE doesn't hold"
    got = workspace.view(session.graph.main.outputs[0])
    out = np.zeros_like(got)
    case.numpy(*arrays, out)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(got.astype(np.float64), out.astype(np.float64), rtol=case.room, atol=case.room)
    return (
        Line(case.name, lambda: step(0, units, scratch)),
        Line(f"numpy {case.name}", lambda: case.numpy(*arrays, out)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    chosen_cases = [c for c in (*CASES, *CASTS) if not arguments.words or any(w in c.name for w in arguments.words)]
    if not chosen_cases:
        parser.error(f"no line has one of these words: {' '.join(arguments.words)}")
    pairs = [lines_of(case) for case in chosen_cases]
    for _ in range(arguments.rounds):
        for line in (line for pair in pairs for line in pair):
            line.turn()
    count = SHAPE[0] * SHAPE[1]
    print(f"{'':44} {'ns':>7} {'numpy':>7} {'ratio':>6}")
    for ours, theirs in pairs:
        times = [1e9 * line.best / count for line in (ours, theirs)]
        print(f"{ours.name:44} {times[0]:7.3f} {times[1]:7.3f} {times[0] / times[1]:6.2f}")
    if arguments.json:
        record = [{"name": a.name, "seconds": a.best, "numpy": b.best, "elements": count} for a, b in pairs]
        write(arguments.json, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
