"""Arm's Ethos-U: operators and rules, as Vela 5.2 takes TOSA graphs (tried operator by operator; docs/targets.md).

Ethos-U55 and U65 have the same; the name's last number is that of int8 products in a cycle.
"""

from __future__ import annotations

from typing import Final

from ..target import LEVELS, Target
from ..versions import V1_0
from .rules import Npu, Rule

BYTES: Final = ("i8", "i16")
WORDS: Final = ("i8", "i16", "i32")
MOVED: Final = ("i4", "i8", "i16", "i32", "i48")
ANY: Final = ("bool", *MOVED)
CONVOLUTIONS: Final = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")
POOLS: Final = ("AVG_POOL2D", "MAX_POOL2D")
MOST: Final = 65536

_BOTH: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(CONVOLUTIONS, BYTES), **dict.fromkeys(POOLS, BYTES), "MATMUL": BYTES, "CLAMP": BYTES,
    **dict.fromkeys(("ADD", "SUB", "ABS", "CLZ", "MAXIMUM", "MINIMUM", "REDUCE_SUM"), ("i32",)),
    "MUL": WORDS, "NEGATE": WORDS, "TABLE": BYTES, "RESIZE": BYTES, "ARGMAX": BYTES,
    "REDUCE_MAX": WORDS, "REDUCE_MIN": WORDS, "CAST": ("bool", *WORDS), "RESCALE": (*WORDS, "i48"),
    **dict.fromkeys(("ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT"), WORDS),
    **dict.fromkeys(("CONCAT", "IDENTITY", "PAD", "RESHAPE", "REVERSE", "SLICE", "TILE", "TRANSPOSE"), ANY),
}  # fmt: skip
_U85: Final[dict[str, tuple[str, ...]]] = {
    **_BOTH,
    **dict.fromkeys(("BITWISE_AND", "BITWISE_NOT", "BITWISE_OR", "BITWISE_XOR"), WORDS),
    **dict.fromkeys(("GATHER", "SCATTER", "LOGICAL_RIGHT_SHIFT"), WORDS),
    **dict.fromkeys(("EQUAL", "GREATER", "GREATER_EQUAL", "INTDIV"), ("i32",)),
    **dict.fromkeys(("LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "LOGICAL_XOR", "SELECT"), ("bool",)),
    **dict.fromkeys(("REDUCE_ALL", "REDUCE_ANY"), ("bool",)),
}  # fmt: skip
_U55: Final[dict[str, tuple[str, ...]]] = {
    **_BOTH, "MATMUL": ("i8",), "TRANSPOSE_CONV2D": ("i8",), "CONV3D": ("i8",), "ARGMAX": ("i8",), "CAST": WORDS,
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN"), BYTES),
    **dict.fromkeys(("ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT"), ("i32",)),
    **dict.fromkeys(("CONCAT", "IDENTITY", "PAD", "RESHAPE", "REVERSE", "SLICE", "TILE", "TRANSPOSE"), MOVED),
}  # fmt: skip

_FIXED: Final = "keep weights and bias as constants of the file"
_COMMON_RULES: Final = (
    Rule(
        "channels", ("CONV2D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"), (f"IC <= {MOST}",),
        f"an input has at most {MOST:,} channels", "sum over parts of the channels",
    ),
    Rule(
        "transposed.constants", ("TRANSPOSE_CONV2D",), ("constant weight", "constant bias"),
        "weights and bias are constants", _FIXED,
    ),
    Rule(
        "depth", ("CONV3D",), ("KD == 1", "stride_d == 1"), "a kernel has depth 1",
        "sum one CONV2D per position along the depth",
    ),
)  # fmt: skip
_U55_RULES: Final = (
    *_COMMON_RULES,
    Rule(
        "constants", ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D"), ("constant weight", "constant bias"),
        "weights and bias are constants", f"{_FIXED}, or take MATMUL for a product of activations",
    ),
    Rule(
        "int48", ("CONV2D", "DEPTHWISE_CONV2D"), ("rescaled == 1",),
        "sums of 48 bits aren't stored", "let RESCALEs alone read the sums", when=("type input is i16",),
    ),
    Rule(
        "int48.input", ("RESCALE",), ("sums == 1",), "int48 are sums of CONV2D or DEPTHWISE_CONV2D",
        "use int32 with MUL or 8-bit activations", when=("type input is i48",),
    ),
    Rule(
        "stride", ("DEPTHWISE_CONV2D",), ("stride_y <= 3", "stride_x <= 3"), "strides are at most 3",
        "let a CONV2D with the same weights along the diagonal do it, or SLICE the outputs of stride 1",
    ),
    Rule(
        "transposed.stride", ("TRANSPOSE_CONV2D",), ("stride_y <= 2", "stride_x <= 2"), "strides are 1 or 2",
        "do it in two steps, or PAD the input with zeros between pixels and convolve", when=("pixels > 1",),
    ),
    Rule(
        "transposed.strides", ("TRANSPOSE_CONV2D",), ("stride_y == 1", "KH == 1", "IH == 1"),
        "both strides are the same, unless the image is one row", "use the same stride along both axes",
        when=("stride_y != stride_x", "pixels > 1"),
    ),
    Rule(
        "pool.stride", POOLS, ("stride_y <= 3", "stride_x <= 3"), "strides of padded pools are at most 3",
        "PAD before it", when=("padded == 1",),
    ),
    Rule(
        "pool.kernel", ("AVG_POOL2D",), ("kernel_y <= 8", "kernel_x <= 8"), "padded averages are of 8 x 8 at most",
        "average in two steps, or let a DEPTHWISE_CONV2D do it", when=("padded == 1",),
    ),
    Rule(
        "matmul.channels", ("MATMUL",), (f"C <= {MOST}",), f"a product sums at most {MOST:,} terms", "sum over parts",
    ),
    Rule(
        "sum.extent", ("REDUCE_SUM",), (f"largest <= {MOST}",), f"an axis has at most {MOST:,} elements",
        "sum over parts", when=("rank >= 2", "from_end != 1"),
    ),
    Rule("bilinear", ("RESIZE",), ("mode is NEAREST",), "it has no bilinear RESIZE of TOSA", "use TRANSPOSE_CONV2D"),
    Rule(
        "upscale", ("RESIZE",), ("upscale is 1 2 4 8",),
        "RESIZE repeats pixels 1, 2, 4 or 8 times, alike along both axes",
        "take such a scale with centres or corners aligned", when=("mode is NEAREST",),
    ),
    Rule(
        "reverse", ("REVERSE",), ("from_end != 1",), "channels aren't reversed",
        "let a CONV2D with a permuted identity do it", when=("rank <= 4",),
    ),
    Rule("argmax.axis", ("ARGMAX",), ("from_end == 1",), "ARGMAX is over channels", "TRANSPOSE before it"),
    Rule("argmax.extent", ("ARGMAX",), ("extent <= 127",), "ARGMAX is over at most 127 channels", "do it in parts"),
    Rule("argmax.samples", ("ARGMAX",), ("samples == 1",), "ARGMAX is of one sample", "run samples one by one"),
    Rule("bool", ("CAST",), ("type output is i8 i16 i32",), "it has no booleans", "use MINIMUM and MAXIMUM, or TABLE"),
)  # fmt: skip

_TARGET: Final = Target(
    frozenset({"PRO-INT"}), frozenset({"EXT-INT16", "EXT-INT4", "EXT-DOUBLEROUND", "EXT-INEXACTROUND"}),
    LEVELS["8K"], V1_0,
)  # fmt: skip
_SOURCE: Final = "ethos-u-vela 5.2.0"
# with the settings that Vela takes by default: bytes of tensors and of constants in a cycle, as they fit its cycles; Hz
_BYTES: Final = {"u55": (4.0, 1.0), "u65": (8.0, 4.0), "u85": (4.0, 4.0)}
CLOCKS: Final = {"u55": 500e6, "u65": 1e9, "u85": 1e9}
_PRODUCT: Final = {"MATMUL": 150}  # units: products of activations are made one by one
_MATRICES: Final = {"u55": _PRODUCT, "u65": _PRODUCT}


def _made() -> dict[str, Npu]:
    found = {}
    for family, sizes in (("u55", (32, 64, 128, 256)), ("u65", (256, 512)), ("u85", (128, 256, 512, 1024, 2048))):
        operators, rules = (_U85, _COMMON_RULES) if family == "u85" else (_U55, _U55_RULES)
        for size in sizes:
            name = f"ethos-{family}-{size}"
            found[name] = Npu(
                name,
                operators,
                rules,
                _TARGET,
                _SOURCE,
                size,
                *_BYTES[family],
                _MATRICES.get(family, {}),
                CLOCKS[family],
            )
    return found


ETHOS_U: Final = _made()
