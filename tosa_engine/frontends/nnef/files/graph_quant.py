"""The file `graph.quant` of NNEF 1.0.4 (section 5.3): quantization of tensors by name, one line per tensor.

What the lines mean is in `quantfile`. QParams are written as
`zero_point_linear_quantize`, which says them exactly; lines of other algorithms that were read are written as
they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import DataError
from ....files import write_atomically
from ..language.parser import format_literal
from .quantfile import Quantization, read_quantization

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ....graph import QParams
    from ..language.syntax import QuantLine


def read(path: str | os.PathLike[str], inverted_scales: bool = False) -> Quantization:
    """Tensor name -> QParams of a graph.quant file. With `inverted_scales`, scales are read upside down.

    Raises OSError when the file can't be read, ParseError with the line of whatever is wrong in it, or Problems with
    several of them.
    """
    with open(path, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    return from_text(text, str(path), inverted_scales)


def from_text(text: str, file: str = "graph.quant", inverted_scales: bool = False) -> Quantization:
    """As `read`, from the text itself; `file` is the name that errors show."""
    return read_quantization(text, file, inverted_scales)


def to_text(qparams: Mapping[str, QParams]) -> str:
    """The lines in the order of the mapping. Floats are written so that reading gives the same bits."""
    lines = {name: _linear(quant) for name, quant in qparams.items()}
    if isinstance(qparams, Quantization):
        functions = {name: _as_read(line) for name, line in qparams.functions.items()}
        order = [*qparams.lines, *(name for name in lines if name not in qparams.lines)]
        lines = {name: lines.get(name) or functions[name] for name in order}
    return "".join(f"{format_literal(name)}: {line};\n" for name, line in lines.items())


def write(qparams: Mapping[str, QParams], path: str | os.PathLike[str]) -> None:
    """Write a graph.quant file. An interrupted or failed write leaves the old file, or none, never half of one."""
    write_atomically(path, to_text(qparams).encode("utf-8"))


def _linear(quant: QParams) -> str:
    per_tensor = quant.axis is None and len(quant.scale) == 1
    scale = repr(quant.scale[0]) if per_tensor else f"[{', '.join(repr(s) for s in quant.scale)}]"
    zero = str(quant.zero_point[0]) if per_tensor else f"[{', '.join(str(z) for z in quant.zero_point)}]"
    flags = f"signed = {str(quant.signed).lower()}, symmetric = {str(quant.symmetric).lower()}"
    return f"zero_point_linear_quantize(zero_point = {zero}, scale = {scale}, bits = {quant.bits}, {flags})"


def _as_read(line: QuantLine) -> str:
    return f"{line.op}({', '.join(f'{name} = {format_literal(value)}' for name, value in line.args.items())})"
