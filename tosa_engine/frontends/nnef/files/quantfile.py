"""What the lines of a quantization file mean (section 5.3 and chapter 7).

A line of one of the linear algorithms becomes QParams of its tensor:

- `zero_point_linear_quantize(zero_point, scale, bits, signed, symmetric)`;
- `min_max_linear_quantize(min, max, bits, signed, symmetric)`, and its deprecated form `linear_quantize`, where
  `signed` and `symmetric` may be left out (false).

A list instead of a number is one value per channel. The file doesn't say along which axis, so these QParams have axis
None; whoever attaches them to a tensor finds it. Integer arithmetic has integer zero points: where the zero of a
min-max range falls between two levels, the nearer one becomes the zero point and the range moves by that much
(`moved`); a range without zero is widened to it (`warnings`).

Any other algorithm, `logarithmic_quantize` or a fragment of the document, is an operation behind the tensor
(quantized.py).
"""

from __future__ import annotations

import math
import reprlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....errors import DataError, TosaEngineError, raise_all
from ....graph import QParams
from ..language.library import DEPRECATED, deprecation
from ..language.parser import parse_quant
from .dat import Item, dequantized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ....types import Array
    from ..language.flat import Document
    from ..language.syntax import QuantLine
    from .dat import TensorFile

    Decoder = Callable[[TensorFile, Callable[[Array], Array]], Array]

ZERO_POINT: Final = "zero_point_linear_quantize"
MIN_MAX: Final = ("min_max_linear_quantize", "linear_quantize")
LOGARITHMIC: Final = "logarithmic_quantize"
FLAGS: Final = {"signed": False, "symmetric": False}
ARGUMENTS: Final = {
    ZERO_POINT: ("zero_point", "scale", "bits", "signed", "symmetric"),
    MIN_MAX[0]: ("min", "max", "bits", "signed", "symmetric"),
    MIN_MAX[1]: ("min", "max", "bits", "signed", "symmetric"),
}
MAX_BITS: Final = 32
MAX_VALUES: Final = 1 << 18  # of an argument: one for each channel
NOTICED: Final = 1e-3  # of a step; what is less is the rounding of the numbers in the file


class Quantization(dict[str, QParams]):
    """Tensor name -> QParams, of the lines of a linear algorithm.

    `lines` has all lines by tensor, `functions` those of other algorithms. `decoders` say what stored codes mean where
    it isn't (code - zero_point) * scale. `moved` says by how much a range was moved so that its zero is a level.
    """

    def __init__(self, file: str = "graph.quant") -> None:
        super().__init__()
        self.file = file
        self.lines: dict[str, QuantLine] = {}
        self.functions: dict[str, QuantLine] = {}
        self.decoders: dict[str, Decoder] = {}
        self.moved: dict[str, float] = {}
        self.warnings: list[str] = []

    @classmethod
    def of_fragments(cls, lines: Iterable[QuantLine], document: Document) -> Quantization:
        """Those of the lines whose algorithm is a fragment of the document."""
        found = cls()
        for line in lines:
            if line.op in document.own:
                found.add(line, inverted=False)
        return found

    def add(self, line: QuantLine, inverted: bool) -> None:
        """Raises DataError where the arguments of a linear algorithm are wrong."""
        if line.tensor in self.lines:
            raise DataError(f"'{line.tensor}' has more than one line")
        self.lines[line.tensor] = line
        if line.op not in ARGUMENTS:
            self.functions[line.tensor] = line
            self.decoders[line.tensor] = partial(_logarithmic if line.op == LOGARITHMIC else _undecoded, line)
            return
        given = _arguments(line.op, line.args)
        bits, signed, symmetric = _bits(given["bits"]), _flag("signed", given), _flag("symmetric", given)
        if bits == 1 and signed and symmetric:
            raise DataError("a symmetric range of 1 signed bit has no levels but 0")
        if line.op == ZERO_POINT:
            self[line.tensor] = _from_zero_point(given, bits, signed, symmetric, inverted)
        else:
            self._min_max(line, given, bits, signed, symmetric)

    def _min_max(self, line: QuantLine, args: Mapping[str, Any], bits: int, signed: bool, symmetric: bool) -> None:
        lows, highs = _together("min", args["min"], "max", args["max"])
        steps = (1 << bits) - 1 - int(signed and symmetric)
        lowest = -((1 << (bits - 1)) - int(symmetric)) if signed else 0
        scales, points = [], []
        for low, high in zip(lows, highs, strict=True):
            if not (low < high and math.isfinite(high - low)):
                raise DataError(f"min must be less than max, got {low!r} and {high!r}")
            wide = min(low, 0.0), max(high, 0.0)
            if wide != (low, high):
                shown = f"'{line.tensor}': the range {low!r} .. {high!r} is widened to {wide[0]!r} .. {wide[1]!r}"
                self.warnings.append(f"{self.file}:{line.line}: {shown}: integers need a level for 0")
            scale = (wide[1] - wide[0]) / steps
            at = lowest - wide[0] / scale
            point = min(max(round(at), lowest), lowest + steps)
            scales.append(scale)
            points.append(point)
            if abs(at - point) > NOTICED:
                self.moved[line.tensor] = max(self.moved.get(line.tensor, 0.0), abs(at - point) * scale)
        self[line.tensor] = _checked(QParams(tuple(scales), tuple(points), bits, signed, symmetric))
        base = np.array([(high - low) / steps for low, high in zip(lows, highs, strict=True)])
        self.decoders[line.tensor] = partial(_affine, np.array(lows), base, lowest)

    def with_hints(self, hints: Mapping[str, QParams]) -> Quantization:
        """A copy with QParams of tensors that have none."""
        copied = Quantization(self.file)
        copied.update({**hints, **self})
        for name in ("lines", "functions", "decoders", "moved"):
            setattr(copied, name, dict(getattr(self, name)))
        copied.warnings = list(self.warnings)
        return copied

    def finish(self) -> None:
        """One warning for all ranges that were moved."""
        if self.moved:
            most = max(self.moved, key=lambda name: self.moved[name])
            count = f"{len(self.moved)} ranges" if len(self.moved) > 1 else "a range"
            self.warnings.append(
                f"{self.file}:{self.lines[most].line}: zero is between two levels of {count}, which "
                f"move{'s' if len(self.moved) == 1 else ''} by at most {self.moved[most]:.3g} ('{most}')"
            )


def read_quantization(text: str, file: str, inverted_scales: bool = False) -> Quantization:
    """The lines of a quantization file. With `inverted_scales`, scales are what real values were multiplied by.

    Raises ParseError with the line of whatever is wrong, or Problems with several of them.
    """
    found = Quantization(file)
    problems: list[TosaEngineError] = []
    for line in parse_quant(text, file):
        try:
            found.add(line, inverted_scales)
        except DataError as problem:
            problems.append(line.error(problem.message))
    raise_all(problems, f"{file}: {len(problems)} problems")
    for name in DEPRECATED:
        places = [line.line for line in found.lines.values() if line.op == name]
        if places:
            found.warnings.append(f"{file}:{places[0]}: {deprecation(name)}")
    found.finish()
    return found


def _affine(lows: Array, scales: Array, lowest: int, stored: TensorFile, along: Callable[[Array], Array]) -> Array:
    """The levels of a min-max range, from codes: exactly where the file puts them."""
    result: Array = (stored.array.astype(np.float64) - lowest) * along(scales) + along(lows)
    return result


def _logarithmic(line: QuantLine, stored: TensorFile, along: Callable[[Array], Array]) -> Array:
    """Codes as section 5.2 numbers the levels: 0 is the least one. Those of a signed item type begin with the sign."""
    bits, most = line.args.get("bits"), line.args.get("max")
    if bits != stored.bits or not isinstance(most, (int, float)) or most <= 0:
        message = f"'{line.tensor}' needs {LOGARITHMIC} with one max greater than 0 and bits = {stored.bits}"
        raise DataError(f"{message} for its codes, got max = {in_short(most)}, bits = {in_short(bits)}")
    del along
    signed = stored.item is Item.QUANTIZED_INT
    patterns = stored.array.astype(np.int64) & ((1 << stored.bits) - 1)
    return dequantized(replace(stored, array=patterns, item=Item.QUANTIZED_INT, range=(-most if signed else 0.0, most)))


def _undecoded(line: QuantLine, stored: TensorFile, along: Callable[[Array], Array]) -> Array:
    del stored, along
    raise DataError(f"the stored codes of '{line.tensor}' mean nothing to '{line.op}': only real values can be stored")


def logarithmic_qparams(most: Iterable[float]) -> QParams:
    """Of a tensor of logarithmic levels: codes 1, 2, 4, ... 64 of int8 are its seven largest levels."""
    return QParams((2.0 ** (math.ceil(math.log2(max(most))) - 6),), (0,))


def _arguments(op: str, args: Mapping[str, Any]) -> dict[str, Any]:
    wanted = ARGUMENTS[op]
    optional = FLAGS if op == MIN_MAX[1] else {}
    unknown = [name for name in args if name not in wanted]
    missing = [name for name in wanted if name not in args and name not in optional]
    if unknown or missing:
        wrong = [*(f"unknown argument '{n}'" for n in unknown), *(f"missing argument '{n}'" for n in missing)]
        raise DataError(f"{op}: {', '.join(wrong)}; arguments are {', '.join(wanted)}")
    return {**optional, **args}


def _from_zero_point(args: Mapping[str, Any], bits: int, signed: bool, symmetric: bool, inverted: bool) -> QParams:
    points = _numbers("zero_point", args["zero_point"])
    if any(p != math.floor(p) for p in points):
        raise DataError(f"zero_point must be an integer, got {in_short(args['zero_point'])}")
    scales, points = _together("scale", args["scale"], "zero_point", args["zero_point"])
    if inverted and all(scale > 0 for scale in scales):
        scales = [1.0 / scale for scale in scales]
    return _checked(QParams(tuple(scales), tuple(int(p) for p in points), bits, signed, symmetric))


def _together(first: str, one: Any, second: str, other: Any) -> tuple[list[float], list[float]]:
    """Two arguments with as many values as the longer one has."""
    left, right = _numbers(first, one), _numbers(second, other)
    size = max(len(left), len(right))
    if len(left) not in (1, size) or len(right) not in (1, size):
        counts = f"{first} has {len(left)} values and {second} {len(right)}"
        raise DataError(f"{counts}: they must be as many, or one")
    return left * (size // len(left)), right * (size // len(right))


def _checked(quant: QParams) -> QParams:
    for scale in quant.scale:
        if not (math.isfinite(scale) and scale > 0):
            raise DataError(f"a scale must be finite and greater than 0, got {scale!r}")
    for zero_point in quant.zero_point:
        if not quant.low <= zero_point <= quant.high:
            kind = "signed" if quant.signed else "unsigned"
            raise DataError(
                f"zero point {zero_point} is outside {quant.low} .. {quant.high}, the range of {quant.bits} {kind} bits"
            )
    return quant


def _bits(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise DataError(f"bits must be an integer in 1 .. {MAX_BITS}, got {in_short(value)}")
    if not 1 <= value <= MAX_BITS:
        raise DataError(f"bits must be an integer in 1 .. {MAX_BITS}, got {in_short(value)}")
    return int(value)


def _flag(name: str, args: Mapping[str, Any]) -> bool:
    value = args[name]
    if not isinstance(value, bool):
        raise DataError(f"{name} must be true or false, got {in_short(value)}")
    return value


def in_short(value: Any) -> str:
    """A value for a message: `repr` of lists of lists can be endless."""
    return reprlib.repr(value)


def _numbers(name: str, value: Any) -> list[float]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(values) > MAX_VALUES:
        raise DataError(f"{name} has {len(values)} values, at most {MAX_VALUES} are taken")
    if not values or any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in values):
        raise DataError(f"{name} must be a number or a list of numbers, got {in_short(value)}")
    return [float(v) for v in values]
