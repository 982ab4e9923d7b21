"""The file `graph.quant` of NNEF 1.0.4 (section 5.3): quantization of tensors by name, one line per tensor.

The two linear algorithms are read, by their names in the standard:

- `zero_point_linear_quantize(zero_point, scale, bits, signed, symmetric)`, which is what is written;
- `min_max_linear_quantize(min, max, bits, signed, symmetric)`, and its deprecated form `linear_quantize`, where
  `signed` and `symmetric` may be left out (false).

A list instead of a number is one value per channel. The file doesn't say along which axis, so the QParams read have
axis None; whoever attaches them to a tensor finds it. A min-max range whose zero falls between two integers gets the
nearer integer as its zero point and keeps its scale, because integer arithmetic has integer zero points.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tosa_engine.errors import DataError, ParseError
from tosa_engine.graph import QParams

from .files import write_atomically

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

ZERO_POINT = "zero_point_linear_quantize"
MIN_MAX = ("min_max_linear_quantize", "linear_quantize")
FLAGS = {"signed": False, "symmetric": False}
ARGUMENTS = {
    ZERO_POINT: ("zero_point", "scale", "bits", "signed", "symmetric"),
    MIN_MAX[0]: ("min", "max", "bits", "signed", "symmetric"),
    MIN_MAX[1]: ("min", "max", "bits", "signed", "symmetric"),
}


def read(path: str | os.PathLike[str]) -> dict[str, QParams]:
    """Tensor name -> QParams of a graph.quant file.

    Raises OSError when the file can't be read, ParseError with the line of whatever is wrong in it.
    """
    with open(path, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    return from_text(text, str(path))


def from_text(text: str, file: str = "graph.quant") -> dict[str, QParams]:
    """As `read`, from the text itself; `file` is the name that errors show."""
    from tosa_engine.frontends.nnef import parse_quant

    lines = text.split("\n")
    found: dict[str, QParams] = {}
    for line in parse_quant(text, file):
        source = lines[line.line - 1] if 0 < line.line <= len(lines) else ""
        try:
            if line.tensor in found:
                raise DataError(f"'{line.tensor}' has more than one line")
            found[line.tensor] = _qparams(line.op, line.args)
        except ParseError:
            raise
        except DataError as error:
            column = len(source) - len(source.lstrip()) + 1
            raise ParseError(error.message, file=file, line=line.line, column=column, source_line=source) from error
    return found


def to_text(qparams: Mapping[str, QParams]) -> str:
    """The lines in the order of the mapping. Floats are written so that reading gives the same bits."""
    from tosa_engine.frontends.nnef import format_literal

    return "".join(f"{format_literal(name)}: {_algorithm(quant)};\n" for name, quant in qparams.items())


def write(qparams: Mapping[str, QParams], path: str | os.PathLike[str]) -> None:
    """Write a graph.quant file. An interrupted or failed write leaves the old file, or none, never half of one."""
    write_atomically(path, to_text(qparams).encode("utf-8"))


def _algorithm(quant: QParams) -> str:
    per_tensor = quant.axis is None and len(quant.scale) == 1
    scale = repr(quant.scale[0]) if per_tensor else f"[{', '.join(repr(s) for s in quant.scale)}]"
    zero = str(quant.zero_point[0]) if per_tensor else f"[{', '.join(str(z) for z in quant.zero_point)}]"
    flags = f"signed = {str(quant.signed).lower()}, symmetric = {str(quant.symmetric).lower()}"
    return f"{ZERO_POINT}(zero_point = {zero}, scale = {scale}, bits = {quant.bits}, {flags})"


def _qparams(op: str, args: Mapping[str, Any]) -> QParams:
    if op not in ARGUMENTS:
        raise DataError(f"unknown quantization algorithm '{op}'; known: {', '.join(ARGUMENTS)}")
    wanted = ARGUMENTS[op]
    optional = FLAGS if op == MIN_MAX[1] else {}
    unknown = [name for name in args if name not in wanted]
    missing = [name for name in wanted if name not in args and name not in optional]
    if unknown or missing:
        wrong = [*(f"unknown argument '{n}'" for n in unknown), *(f"missing argument '{n}'" for n in missing)]
        raise DataError(f"{op}: {', '.join(wrong)}; arguments are {', '.join(wanted)}")
    given = {**optional, **args}
    bits, signed, symmetric = _bits(given["bits"]), _flag("signed", given), _flag("symmetric", given)
    if op == ZERO_POINT:
        return _from_zero_point(given, bits, signed, symmetric)
    return _from_min_max(given, bits, signed, symmetric)


def _from_zero_point(args: Mapping[str, Any], bits: int, signed: bool, symmetric: bool) -> QParams:
    scales = _numbers("scale", args["scale"])
    points = _numbers("zero_point", args["zero_point"])
    if any(p != math.floor(p) for p in points):
        raise DataError(f"zero_point must be an integer, got {args['zero_point']!r}")
    size = max(len(scales), len(points))
    if len(scales) not in (1, size) or len(points) not in (1, size):
        raise DataError(f"scale has {len(scales)} values and zero_point {len(points)}: they must be as many, or one")
    zero_point = tuple(int(p) for p in points) * (size // len(points))
    scale = tuple(scales) * (size // len(scales))
    return _checked(QParams(scale, zero_point, bits, signed, symmetric))


def _from_min_max(args: Mapping[str, Any], bits: int, signed: bool, symmetric: bool) -> QParams:
    lows = _numbers("min", args["min"])
    highs = _numbers("max", args["max"])
    size = max(len(lows), len(highs))
    if len(lows) not in (1, size) or len(highs) not in (1, size):
        raise DataError(f"min has {len(lows)} values and max {len(highs)}: they must be as many, or one")
    steps = (1 << bits) - 1 - int(signed and symmetric)
    lowest = -((1 << (bits - 1)) - int(symmetric)) if signed else 0
    scale, zero_point = [], []
    for low, high in zip(lows * (size // len(lows)), highs * (size // len(highs)), strict=True):
        if not low < high:
            raise DataError(f"min must be less than max, got {low!r} and {high!r}")
        scale.append((high - low) / steps)
        zero_point.append(round(lowest - low / scale[-1]))
    return _checked(QParams(tuple(scale), tuple(zero_point), bits, signed, symmetric))


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
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or not 1 <= value <= 64:
        raise DataError(f"bits must be an integer in 1 .. 64, got {value!r}")
    return int(value)


def _flag(name: str, args: Mapping[str, Any]) -> bool:
    value = args[name]
    if not isinstance(value, bool):
        raise DataError(f"{name} must be true or false, got {value!r}")
    return value


def _numbers(name: str, value: Any) -> list[float]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if not values or any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in values):
        raise DataError(f"{name} must be a number or a list of numbers, got {value!r}")
    return [float(v) for v in values]
