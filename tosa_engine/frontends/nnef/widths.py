"""Activations that a quantization file gives the bits of a bias.

nnef_tools writes bits = 32 for what a TRANSPOSE_CONV of TFLite reads, because its third input is the data, where other
convolutions have the bias. Its scale and zero point are those of the width that the model stores, as of all others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .files.quantfile import ZERO_POINT, Quantization
from .language.syntax import Name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...graph import QParams
    from .language.flat import Document

BIAS_BITS: Final = 32
STORED: Final = (8, 16)


def as_stored(document: Document, quant: Quantization) -> Quantization:
    """The quantization with such activations at the one width of all others, which is a warning each.

    Raises ParseError where the document is strict.
    """
    activations = _activations(document)
    widths = {hint.bits for name, hint in quant.items() if name in activations and hint.bits in STORED}
    wide = [name for name, hint in quant.items() if name in activations and _is_like_a_bias(quant, name, hint)]
    if len(widths) != 1 or not wide:
        return quant
    (bits,) = widths
    found = quant.with_hints({})
    for name in wide:
        narrow = replace(quant[name], bits=bits)
        if narrow.low <= narrow.zero_point[0] <= narrow.high:
            line = quant.lines[name]
            message = f"'{name}' has the {BIAS_BITS} bits of a bias; the activations of this document have {bits}"
            if document.strict:
                raise line.error(message)
            document.warn(f"{quant.file}:{line.line}: {message}")
            found[name] = narrow
    return found


def _is_like_a_bias(quant: Quantization, name: str, hint: QParams) -> bool:
    line = quant.lines.get(name)
    return line is not None and line.op == ZERO_POINT and hint.bits == BIAS_BITS and len(hint.scale) == 1


def _activations(document: Document) -> set[str]:
    """The tensors that aren't constant, nor made of constants alone."""
    found: set[str] = set()
    for operation in document.operations:
        if operation.name == "external" or not found.isdisjoint(_names(operation.arguments)):
            found.update(result.text for result in operation.results)
    return found


def _names(arguments: Mapping[str, object]) -> Iterator[str]:
    for value in arguments.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Name):
                yield item.text
