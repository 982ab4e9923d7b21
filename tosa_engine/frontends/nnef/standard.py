"""The operations of NNEF 1.0.4 that this front end maps: parameters, their types and defaults (chapter 4).

`OPERATIONS[name]` is a declaration; `UNSUPPORTED` are the other operations of the standard, so that a document that
uses one is told apart from a misspelt name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUIRED: Final = object()
EXTENTS: Final = "(integer,integer)[]"


@dataclass(frozen=True, slots=True)
class Parameter:
    """`type` is written as in the standard: tensor<scalar>, tensor<?>, tensor<?>[], integer, integer[], ..."""

    name: str
    type: str
    default: Any = REQUIRED

    @property
    def is_tensor(self) -> bool:
        return self.type.startswith("tensor")


@dataclass(frozen=True, slots=True)
class Declaration:
    """An operation. `results` is "tensor", or "tensors" for an array of them; `generic` ones take a type name."""

    name: str
    parameters: tuple[Parameter, ...]
    results: str = "tensor"
    generic: bool = False

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)


def _op(
    name: str, tensors: str, *attributes: tuple[Any, ...], results: str = "tensor", generic: bool = False
) -> Declaration:
    """A declaration; `tensors` names the tensor parameters: `x=0.0` has a default, `x[]` is an array."""
    item = "?" if generic else "scalar"
    parameters = []
    for word in tensors.split():
        name_of, _, default = word.partition("=")
        type_of = f"tensor<{item}>" + ("[]" if name_of.endswith("[]") else "")
        parameters.append(Parameter(name_of.removesuffix("[]"), type_of, float(default) if default else REQUIRED))
    parameters.extend(Parameter(*attribute) for attribute in attributes)
    return Declaration(name, tuple(parameters), results, generic)


_WINDOW: Final = (
    ("border", "string", "constant"), ("padding", EXTENTS, ()), ("stride", "integer[]", ()),
    ("dilation", "integer[]", ()),
)  # fmt: skip
_SIZE: Final = ("size", "integer[]")
_AXES: Final = ("axes", "integer[]")
_SHAPE: Final = ("shape", "integer[]")
_AXIS: Final = ("axis", "integer")

_ALL: Final = (
    _op("external", "", _SHAPE, generic=True),
    _op("variable", "", _SHAPE, ("label", "string"), generic=True),
    _op("constant", "", _SHAPE, ("value", "?[]"), generic=True),
    _op("copy", "x", generic=True),
    *(_op(name, "x") for name in ("neg", "rcp", "exp", "abs", "sqr", "relu", "sigmoid", "tanh")),
    *(_op(name, "x y") for name in ("add", "sub", "mul", "div", "min", "max")),
    _op("clamp", "x a b"),
    _op("softmax", "x", ("axes", "integer[]", (1,))),
    _op("conv", "input filter bias=0.0", *_WINDOW, ("groups", "integer", 1)),
    _op("max_pool", "input", _SIZE, *_WINDOW),
    _op("avg_pool", "input", _SIZE, *_WINDOW),
    _op("linear", "input filter bias=0.0"),
    _op("matmul", "A B", ("transposeA", "logical", False), ("transposeB", "logical", False)),
    _op("batch_normalization", "input mean variance offset scale", ("epsilon", "scalar")),
    _op("sum_reduce", "input", _AXES, ("normalize", "logical", False)),
    _op("max_reduce", "input", _AXES),
    _op("mean_reduce", "input", _AXES),
    _op("reshape", "input", _SHAPE, ("axis_start", "integer", 0), ("axis_count", "integer", -1), generic=True),
    _op("squeeze", "input", _AXES, generic=True),
    _op("unsqueeze", "input", _AXES, generic=True),
    _op("transpose", "input", _AXES, generic=True),
    _op("split", "value", _AXIS, ("ratios", "integer[]"), results="tensors", generic=True),
    _op("concat", "values[]", _AXIS, generic=True),
    _op("stack", "values[]", _AXIS, generic=True),
    _op("unstack", "value", _AXIS, results="tensors", generic=True),
    _op(
        "slice", "input", _AXES, ("begin", "integer[]"), ("end", "integer[]"), ("stride", "integer[]", ()),
        generic=True,
    ),
    _op("pad", "input", ("padding", EXTENTS), ("border", "string", "constant"), ("value", "scalar", 0.0)),
)  # fmt: skip
OPERATIONS: Final[Mapping[str, Declaration]] = {declaration.name: declaration for declaration in _ALL}

UNSUPPORTED: Final = frozenset(
    """
    log sin cos tan sinh cosh asin acos atan asinh acosh atanh tanh sign not floor ceil round pow lt gt le ge eq ne and
    or select sqrt rsqr rsqrt log2 deconv box debox argmax_pool sample desample nearest_downsample area_downsample
    nearest_upsample multilinear_upsample min_reduce argmax_reduce argmin_reduce all_reduce any_reduce tile gather cast
    roi_resample avg_roi_pool max_roi_pool avg_roi_align max_roi_align update prelu leaky_relu elu selu gelu silu
    softplus separable_conv separable_deconv max_pool_with_index rms_pool local_response_normalization
    local_mean_normalization local_variance_normalization local_contrast_normalization l1_normalization
    l2_normalization min_max_linear_quantize zero_point_linear_quantize linear_quantize logarithmic_quantize copy_n
    add_n moments
    """.split()  # noqa: SIM905 - a list of a hundred strings is harder to read
).difference(OPERATIONS)
