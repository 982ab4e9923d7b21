"""Computing nodes whose inputs are all known: what makes shapes, and constants.

A result that would fill the memory is refused. An operator without a rule is mapped with constants as its tensors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import GraphError
from . import rules
from .arguments import squeezed, unsqueezed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...types import Array
    from .call import Call

    Rule = Callable[[Call, Sequence[Array]], "Array | list[Array]"]


def evaluate(call: Call, domain: str) -> list[Array] | None:
    """The results of a node whose inputs are known; None where they aren't, or no rule says what it computes.

    Raises GraphError for arguments that don't fit, Unsupported for a result that would be too large.
    """
    rule = RULES.get(call.op) if domain == "" else None
    if call.op in SHAPES and domain == "":
        return [SHAPES[call.op](call)]
    if rule is None or not all(value is None or value.is_known for value in call.inputs):
        return None
    given = [value.data if value is not None else None for value in call.inputs]
    try:
        with np.errstate(all="ignore"):
            found = rule(call, given)  # type: ignore[arg-type]
    except (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError) as problem:
        raise GraphError(f"its arguments don't fit: {problem}") from None
    return [np.asarray(one) for one in (found if isinstance(found, list) else [found])]


SHAPES: Final[Mapping[str, Callable[[Call], Array]]] = {  # of any value, which needs not be known
    "Shape": rules.shape_of_value,
    "EyeLike": rules.eye_like,
    "Size": lambda call: np.array(math.prod(call.shape(0)), np.int64),
}
BINARY: Final[Mapping[str, Callable[[Array, Array], Any]]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": rules.quotient, "Pow": np.power, "Equal": np.equal,
    "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Less": np.less, "LessOrEqual": np.less_equal,
    "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor, "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor,
}  # fmt: skip
UNARY: Final[Mapping[str, Callable[[Array], Any]]] = {
    "Neg": np.negative, "Abs": np.abs, "Floor": np.floor, "Ceil": np.ceil, "Sqrt": np.sqrt, "Exp": np.exp,
    "Log": np.log, "Not": np.logical_not, "Sign": np.sign, "Round": np.round, "Reciprocal": np.reciprocal,
    "Sin": np.sin, "Cos": np.cos, "BitwiseNot": np.invert, "Erf": np.vectorize(math.erf, otypes=[float]),
    "Relu": lambda x: np.maximum(x, 0),
}  # fmt: skip
MANY: Final[Mapping[str, Callable[[Array, Array], Any]]] = {"Max": np.maximum, "Min": np.minimum, "Sum": np.add}
RULES: Final[Mapping[str, Rule]] = {
    "Identity": lambda call, given: given[0],
    "Constant": rules.constant,
    "ConstantOfShape": rules.constant_of_shape,
    "Cast": rules.cast,
    "CastLike": rules.cast,
    "Gather": rules.gather,
    "Concat": rules.concat,
    "Expand": rules.expand,
    "Range": rules.count_up,
    "Reshape": rules.reshape,
    "Flatten": rules.flatten,
    "Squeeze": lambda call, given: given[0].reshape(squeezed(call, given[0].shape)),
    "Unsqueeze": lambda call, given: given[0].reshape(unsqueezed(call, given[0].shape)),
    "Slice": rules.section,
    "Split": rules.split,
    "Transpose": rules.transpose,
    "Tile": rules.tile,
    "Where": rules.where,
    "Clip": rules.clip,
    "CumSum": rules.cum_sum,
    "Trilu": rules.trilu,
    "ScatterND": rules.scatter_nd,
    "NonZero": lambda call, given: np.array(np.nonzero(given[0]), np.int64),
    "MelWeightMatrix": rules.mel_weights,
    "Mod": rules.remainder,
    "ReduceSum": rules.reduce(np.sum),
    "ReduceProd": rules.reduce(np.prod),
    "ReduceMax": rules.reduce(rules.extreme(np.max, largest=True)),
    "ReduceMin": rules.reduce(rules.extreme(np.min, largest=False)),
    "ReduceMean": rules.reduce(np.mean),
    **{name: rules.binary(compute) for name, compute in BINARY.items()},
    **{name: rules.unary(compute) for name, compute in UNARY.items()},
    **{name: rules.many(compute) for name, compute in MANY.items()},
}
