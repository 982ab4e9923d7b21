"""Writes docs/lut.md: the errors of sampled and fitted tables. `make docs` runs it; a test keeps the page fresh."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from lut import FUNCTIONS, Quantization, Table, TableRangeError, build

PAGE = Path(__file__).with_name("lut.md")
INTRODUCTION = """# Tables

Made from the package `lut` by `make docs`: change that, not this page.

TOSA's TABLE has 256 entries for int8, one per input, or 513 for int16: one at every 128th input, with a straight
line in between. `lut` makes both for any function of one real number and measures them on every input.

    tosa-engine lut tanh --in-scale 4/32768 --out-scale 1/32767 --int16 --plot tanh.svg -o tanh.npy

```python
from lut import Quantization, build

table = build("cube", lambda x: x**3, Quantization(in_scale=1 / 32768, out_scale=1 / 32767), bits=16, kind="fitted")
print(table.entries.shape, table.error.largest, table.error.within_1)
```

*Sampled*: every entry is the function, rounded (half away from zero), at the entry's input. For int8 no other table
is nearer to the function anywhere. For int16 the line between two entries misses a curve, always to the same side.
*Fitted*: the entries with the least maximum error over all 65,536 inputs, found by dynamic programming from the
sampled table, so that its maximum is never more; of several tables with that maximum, one with a small sum of
squares. What is fitted is the *maximum*: where one interval can't be served (a pole, a kink), its neighbours give
way for it, and the mean may be worse than that of the sampled table.

## Errors over all 65,536 inputs of int16

In LSB of the output, interpolation included, before the result's 7 more fractional bits are rounded away; *within
1* is the share of inputs whose result is at most 1 LSB from the function. Inputs are those of a symmetric range, -r
to r; the output's range is the function's own on it, but at most 16. Where results leave the range of the output,
its end is the right answer.

| function | r | output range | sampled: largest | mean | within 1 | fitted: largest | mean | within 1 |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""
REST = """
Why some have errors of many LSB: an interval is 1/256 of r wide, and a line misses a curve by up to the second
derivative times the square of that width over 8. tanh over -8 to 8 bends by 0.77, which is 3 LSB of 2^-15; over -4
to 4 one LSB. log, sqrt, rsqrt, reciprocal and rsqr have their poles inside the range: a few of the 512 intervals
beside 0 carry the whole error. Their way out is a range that begins above the pole, as the integer softmax of
`quant` does with its reciprocal.

## Errors over all 256 inputs of int8

A table of int8 that is sampled has an error of at most half an LSB, rounding: {functions} functions by name,
largest error of all {largest:.4f}.
"""
# a range of the input in which the function has something to say
RANGES: Final = {"exp": 2.0, "exp2": 2.0, "sin": math.pi, "cos": math.pi, "square": 4.0, "erf": 4.0, "abs": 1.0}
WIDER: Final = ("tanh", "sigmoid", "gelu", "silu")
MOST: Final = 16.0


def output_range(name: str, reach: float) -> float:
    """The largest magnitude on -reach .. reach, at most 16."""
    values = [abs(FUNCTIONS[name](reach * i / 256)) for i in range(-256, 257)]
    return min(max(values), MOST)


def tables(name: str, reach: float) -> tuple[Table, Table]:
    quantization = Quantization(reach / 32768, output_range(name, reach) / 32767)
    sampled, fitted = (build(name, FUNCTIONS[name], quantization, bits=16, kind=kind) for kind in ("sampled", "fitted"))
    return sampled, fitted


def row(name: str, reach: float) -> str:
    head = f"| {name} | {reach:.4g} | {output_range(name, reach):.4g} |"
    try:
        found = tables(name, reach)
    except TableRangeError as problem:
        return f"{head} none: {problem} | | | | | |"
    cells = [f"{t.error.largest:.2f} | {t.error.mean:.3f} | {100 * t.error.within_1:.2f} %" for t in found]
    return f"{head} {' | '.join(cells)} |"


def rows() -> list[str]:
    found = []
    for name in sorted(FUNCTIONS):
        found.append(row(name, RANGES.get(name, 4.0)))
        if name in WIDER:
            found.append(row(name, 8.0))
    return found


def largest_of_int8() -> float:
    errors = []
    for name in FUNCTIONS:
        reach = RANGES.get(name, 4.0)
        scales = Quantization(reach / 128, output_range(name, reach) / 127)
        errors.append(build(name, FUNCTIONS[name], scales).error.largest)
    return max(errors)


def page() -> str:
    """The whole page as Markdown."""
    return INTRODUCTION + "\n".join(rows()) + "\n" + REST.format(functions=len(FUNCTIONS), largest=largest_of_int8())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
