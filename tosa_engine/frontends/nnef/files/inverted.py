"""Scales that are written upside down: what real values were multiplied by, not what codes are.

nnef_tools' `quantize.py` writes 255 / (max - min) into `zero_point_linear_quantize`, where the standard divides by the
scale. Such a document has a clear sign: a step of every weight is more than 1, so that weights of any ordinary size are
all zeros. It is refused; whoever knows what the document means says so with `--inverted-scales`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .quantfile import ZERO_POINT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....errors import ParseError
    from ..language.flat import Document
    from .quantfile import Quantization

FEWEST = 3  # activations with such scales, where the file says nothing about weights


def inverted_scales(document: Document, quantization: Quantization) -> ParseError | None:
    """The error of a file whose scales are upside down by all signs, at the line of the largest."""
    variables = document.variables
    narrow = {
        name: min(quantization[name].scale) for name, line in quantization.lines.items()
        if line.op == ZERO_POINT and quantization[name].bits <= 16
    }  # fmt: skip
    weights = {name: scale for name, scale in narrow.items() if name in variables}
    if not _all_large((weights or narrow).values(), 1 if weights else FEWEST):
        return None
    of = "weights" if weights else "tensors"
    most = max(weights or narrow, key=lambda name: narrow[name])
    line, scale, count = quantization.lines[most], narrow[most], len(weights or narrow)
    return line.error(
        f"the scales look inverted: those of all {count} {of} are more than 1; one step of '{most}' would "
        f"be {scale:.6g}. Some tools write 255 / (max - min) where the standard means (max - min) / 255; "
        f"'--inverted-scales yes' reads them like that ('{most}': {1 / scale:.6g}), '--inverted-scales no' as written"
    )


def _all_large(scales: Iterable[float], fewest: int) -> bool:
    found = list(scales)
    return len(found) >= fewest and all(scale > 1 for scale in found)
