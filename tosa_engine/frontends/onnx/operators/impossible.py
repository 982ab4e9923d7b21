"""Operators that TOSA can't express, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

RANDOM: Final = "random numbers"
SHAPE: Final = "the shape of its result depends on data"
STRINGS: Final = "strings"
BITS: Final = "no operator of TOSA sees the bits of a number"

_REASONS: Final[Mapping[str, tuple[str, ...]]] = {
    RANDOM: (
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
    ),
    SHAPE: ("Compress", "NonMaxSuppression", "NonZero", "Unique"),
    STRINGS: ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"),
    BITS: ("BitCast",),
    "pictures as files": ("ImageDecoder",),
}  # fmt: skip
IMPOSSIBLE: Final[Mapping[tuple[str, str], str]] = {
    ("", name): reason for reason, names in _REASONS.items() for name in names
} | {
    ("ai.onnx.ml", "CastMap"): "dictionaries",
    ("ai.onnx.ml", "CategoryMapper"): STRINGS,
    ("ai.onnx.ml", "DictVectorizer"): "dictionaries",
}
