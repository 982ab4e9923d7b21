"""Writes docs/lut.md: the errors of sampled and fitted tables. `make docs` runs it; a test keeps the page fresh."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lut import FUNCTIONS, Quantization, TableRangeError, build, error_16, fit_values_16
from lut.builders import values_16

if TYPE_CHECKING:
    from lut import TableError

PAGE = Path(__file__).with_name("lut.md")
INTRODUCTION = """# Tables

Made from the package `lut` by `make docs`: change that, not this page.

TOSA's TABLE has 256 entries for int8, one per input, or 513 for int16: one at every 128th input, with a straight
line in between. `lut` makes both for any function of one real number and measures them on every input.

    tosa-engine lut tanh --in-scale 4/32768 --out-scale 1/32767 --int16 --plot tanh.svg -o tanh.npy
    tosa-engine lut leaky_relu --alpha 0.2 --in-scale 4/128 --out-scale 4/128
    tosa-engine lut mymodule:swish --in-scale 4/128 --out-scale 4/128

The last one imports `mymodule`, of the current folder or installed, and calls its function with one float at a time.
`--alpha` is the slope of leaky_relu below 0 (0.01), and the limit of elu (1). Inputs that saturate are counted, with
how far the function is beyond the entries there; scales that leave one value, or less than one input in a hundred
that doesn't saturate, are refused.

```python
from lut import Quantization, build

table = build("cube", lambda x: x**3, Quantization(in_scale=1 / 32768, out_scale=1 / 32767), bits=16, kind="fitted")
print(table.entries.shape, table.error.largest, table.error.within_1)
```

*Sampled*: every entry is the function, rounded (half away from zero), at the entry's input. For int8 no other table
is nearer to the function anywhere. For int16 the line between two entries misses a curve, always to the same side.
*Fitted*: the entries with the least maximum error over all 65,536 inputs, found by dynamic programming from the
sampled table, so that its maximum is never more; of several tables with that maximum, one with a small sum of
squares. The search fits the *maximum* only: where one interval can't be fitted (a pole, a kink), its neighbours may
get worse for it, and the mean may be worse than that of the sampled table.
*Quantizer*: what `tosa-engine quantize` puts into a graph: fitted by three rounds of the same search near the sampled
table, so that a graph of many tables doesn't take long. Where one is more than 2 LSB from its function next to 0, as
next to a pole, `quantize` adds tables for that region alone, with finer inputs
([integer-forms.md](integer-forms.md)), which the last column doesn't count.

## Errors over all 65,536 inputs of int16

Errors are in LSB of the output, interpolation included, before the result's 7 more fractional bits are rounded away;
*within 1* is the share of inputs whose result is at most 1 LSB from the function. Inputs are those of a symmetric
range, -r to r; the output's range is the function's own on it, but at most 16. Where results leave the range of the
output, its end is the right answer.

| function | r | output range | sampled: largest | mean | within 1 | fitted: largest | mean | within 1 |\
 quantizer: largest | mean | within 1 |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""
VERDICT = """
In maximum error the fitted table is better in {better} rows, equal in {equal} and worse in {worse}. Within 1 LSB of the
true function are, with the fitted tables, of all inputs:

{asked}
"""
REST = """
Why some have errors of many LSB: an interval is 1/256 of r wide, and a line misses a curve by up to the second
derivative times the square of that width over 8. tanh over -8 to 8 bends by 0.77, which is 3 LSB of 2^-15; over -4
to 4 one LSB. log, sqrt, rsqrt, reciprocal and rsqr have their poles inside the range: a few of the 512 intervals
next to 0 carry the whole error. The remedy is a range that begins above the pole, as the integer softmax of
`quant` has for its reciprocal, or a finer table for the inputs next to the pole.

## Errors over all 256 inputs of int8

A table of int8 that is sampled has an error of at most half an LSB, rounding: {functions} functions by name,
largest error of all {largest:.4f}.
"""
# a range of the input in which the function has something to say
RANGES: Final = {"exp": 2.0, "exp2": 2.0, "sin": math.pi, "cos": math.pi, "square": 4.0, "erf": 4.0, "abs": 1.0}
WIDER: Final = ("tanh", "sigmoid", "gelu", "silu")
ASKED: Final = ("sigmoid", "tanh", "exp", "gelu")
MOST: Final = 16.0


def output_range(name: str, reach: float) -> float:
    """The largest magnitude on -reach .. reach, at most 16."""
    values = [abs(FUNCTIONS[name](reach * i / 256)) for i in range(-256, 257)]
    return min(max(values), MOST)


def measured(name: str, reach: float) -> tuple[TableError | None, TableError, TableError]:
    """The errors of the sampled table (None where TABLE.R1 forbids it), the fitted one and that of the quantizer."""
    function, scales = FUNCTIONS[name], Quantization(reach / 32768, output_range(name, reach) / 32767)
    values = values_16(function, scales.in_scale)
    short = fit_values_16(values, scales.out_scale, quick=True)
    fitted = build(name, function, scales, bits=16, kind="fitted").error
    try:
        sampled = build(name, function, scales, bits=16).error
    except TableRangeError:
        sampled = None
    return sampled, fitted, error_16(short, function, scales.in_scale, scales.out_scale)


def row(name: str, reach: float, found: tuple[TableError | None, TableError, TableError]) -> str:
    cells = [f"{name} | {reach:.4g} | {output_range(name, reach):.4g}"]
    for error in found:
        measures = "none (TABLE.R1) | |"
        if error is not None:
            measures = f"{error.largest:.2f} | {error.mean:.3f} | {100 * error.within_1:.2f} %"
        cells.append(measures)
    return f"| {' | '.join(cells)} |"


def every() -> dict[tuple[str, float], tuple[TableError | None, TableError, TableError]]:
    """By function and range."""
    reaches = [(name, RANGES.get(name, 4.0)) for name in sorted(FUNCTIONS)] + [(name, 8.0) for name in WIDER]
    return {key: measured(*key) for key in sorted(reaches)}


def largest_of_int8() -> float:
    errors = []
    for name in FUNCTIONS:
        reach = RANGES.get(name, 4.0)
        scales = Quantization(reach / 128, output_range(name, reach) / 127)
        errors.append(build(name, FUNCTIONS[name], scales).error.largest)
    return max(errors)


def page() -> str:
    """The whole page as Markdown."""
    found = every()
    lines = [row(*key, errors) for key, errors in found.items()]
    both = [(sampled.largest, fitted.largest) for sampled, fitted, _ in found.values() if sampled is not None]
    asked = [
        f"- {name} over -{reach:g} .. {reach:g}: {100 * errors[1].within_1:.2f} %"
        for (name, reach), errors in found.items()
        if name in ASKED
    ]
    verdict = VERDICT.format(
        better=sum(fitted < sampled for sampled, fitted in both),
        equal=sum(fitted == sampled for sampled, fitted in both),
        worse=sum(fitted > sampled for sampled, fitted in both),
        asked="\n".join(asked),
    )
    rest = REST.format(functions=len(FUNCTIONS), largest=largest_of_int8())
    return INTRODUCTION + "\n".join(lines) + "\n" + verdict + rest


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
