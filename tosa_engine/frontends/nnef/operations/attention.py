"""Attention as the extension tract_transformers writes it (`vendor.nnef`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....lower.attention import attention, masked_softmax, rotated
from ....lower.elementary import times
from ..language.syntax import Name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def sdpa(b: NnefWriter, operation: Operation) -> Tensor:
    """No scale is 1 / sqrt(features). The widths of its sums are ours."""
    arguments = operation.arguments
    q, k, v = (b.value(arguments[name]) for name in ("q", "k", "v"))
    mask = _mask(b, arguments["mask"])
    if mask is not None and arguments["is_causal"]:
        raise b.error("has a mask and is causal, too")
    return attention(b, q, k, v, mask, scale=arguments["scale"] or None, causal=arguments["is_causal"])


def _mask(b: NnefWriter, argument: Any) -> Tensor | None:
    if not isinstance(argument, Name):
        return None
    mask = b.value(argument)
    if mask.dtype not in (types.fp32, types.bool_):
        raise b.error(f"a mask must be of scalars or logical values, '{argument.text}' is of integers")
    return mask


def scaled_masked_softmax(b: NnefWriter, operation: Operation) -> Tensor:
    """What a mask of truths leaves out is 0 with and without post_softmax_mask, unless it leaves nothing of a row."""
    arguments = operation.arguments
    if arguments["post_softmax_mask"]:
        raise b.unsupported("post_softmax_mask = true")
    return masked_softmax(b, times(b, b.value(arguments["input"]), arguments["scale"]), _mask(b, arguments["mask"]))


def apply_rope(b: NnefWriter, operation: Operation) -> Tensor:
    return rotated(b, *(b.value(operation.arguments[name]) for name in ("input", "cos", "sin")))


MAPPERS: Final[Mapping[str, Mapper]] = {
    "tract_transformers_sdpa": sdpa,
    "tract_transformers_scaled_masked_softmax": scaled_masked_softmax,
    "tract_transformers_apply_rope": apply_rope,
}
