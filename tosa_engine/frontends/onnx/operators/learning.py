"""Operators of the domain ai.onnx.ml that work on numbers, as converters of scikit-learn write them.

A sample is a row: [samples, features], or one sample without the first axis. ZipMap makes dictionaries, which TOSA
doesn't have: its tensor goes on, with a column for each key in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....lower import elementary
from ....lower.layout import at_constant, gather
from ....lower.linear import fully_connected
from ....lower.normalization import softmax
from ....lower.reductions import reduced
from ....lower.views import shape_of
from ....lower.writer import FLOAT_MAX
from ..elements import FLOAT, INT64
from ..values import Value
from ..writer import carried, carrier_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....types import Array
    from ..call import Call

DOMAIN: Final = "ai.onnx.ml"
SMALLEST: Final = float(np.finfo(np.float32).tiny)  # below each sum that isn't 0


def rows(call: Call, index: int = 0) -> Tensor:
    """An input as floats [samples, features]. Raises Unsupported for more axes."""
    x, shape = _real(call, index), call.shape(index)
    if len(shape) > 2:
        raise Unsupported(f"an input of {len(shape)} axes, where a sample is a row")
    return call.g.reshape(x, (1,) * (2 - len(shape)) + shape)


def _real(call: Call, index: int) -> Tensor:
    x = call.tensor(index)
    if call.element(index).is_integer:
        x = call.cast(x, types.i32)
    return call.cast(x, types.fp32)


def _numbers(call: Call, name: str, count: int) -> Array:
    """An attribute of `count` floats, or of one for all. Raises GraphError."""
    found = np.array(call.attribute(name, ()), np.float32)
    if found.size not in (1, count):
        raise GraphError(f"attribute '{name}' has {found.size} numbers for {count} features")
    return np.broadcast_to(found, (count,))


def _row(call: Call, values: Array, like: Tensor) -> Tensor:
    """Constants along the last axis of a tensor."""
    return call.g.const(values.reshape((1,) * (len(shape_of(like)) - 1) + (-1,)), like.dtype)


def scaler(call: Call) -> Value:
    """(x - offset) * scale."""
    g, x = call.g, _real(call, 0)
    features = shape_of(x)[-1]
    if call.attribute("offset"):
        x = g.binary("SUB", x, _row(call, _numbers(call, "offset", features), x))
    if call.attribute("scale"):
        x = g.binary("MUL", x, _row(call, _numbers(call, "scale", features), x))
    return value_of(x, FLOAT)


def _scores(call: Call, outputs: int) -> Tensor:
    """x * coefficients + intercepts: [samples, outputs]."""
    g, x = call.g, rows(call)
    features = shape_of(x)[1]
    weights = np.array(call.attributes["coefficients"], np.float32)
    if weights.size != outputs * features:
        raise GraphError(f"{weights.size} coefficients for {outputs} outputs of {features} features")
    intercepts = call.attribute("intercepts") or (0.0,)
    bias = _intercepts(call, intercepts, outputs)
    return fully_connected(g, x, g.const(weights.reshape(outputs, features), types.fp32, "coefficients"), bias)


def _intercepts(call: Call, given: Sequence[float], outputs: int) -> Tensor:
    found = np.array(given, np.float32)
    if found.size not in (1, outputs):
        raise GraphError(f"{found.size} intercepts for {outputs} outputs")
    return call.g.const(np.broadcast_to(found, (outputs,)).copy(), types.fp32, "intercepts")


def _transformed(call: Call, x: Tensor) -> Tensor:
    """By `post_transform`. Raises Unsupported."""
    kind = call.attribute("post_transform", "NONE")
    if kind == "NONE":
        return x
    if kind == "LOGISTIC":
        return call.g.unary("SIGMOID", x)
    if kind == "SOFTMAX":
        return softmax(call.g, x, (1,))
    raise Unsupported(f"post_transform {kind}")


def linear_regressor(call: Call) -> Value:
    return value_of(_transformed(call, _scores(call, call.attribute("targets", 1))), FLOAT)


def linear_classifier(call: Call) -> list[Value]:
    """The label of the largest score, and the scores. One score for two labels is that of the second."""
    g = call.g
    if call.attribute("classlabels_strings"):
        raise Unsupported("its labels are strings, TOSA has numbers only: train with a number for each class")
    labels = np.array(call.attribute("classlabels_ints") or (), np.int64)
    outputs = len(call.attribute("intercepts") or ()) or labels.size
    scores = _scores(call, outputs)
    if outputs == 1:
        return _of_one_score(call, scores, labels)
    if labels.size != outputs:
        raise GraphError(f"{labels.size} labels for {outputs} scores")
    place = g.operator("ARGMAX", [scores], shape_of(scores)[:1], types.i32, axis=1, nan_mode="PROPAGATE")
    return [_labelled(call, place, labels), value_of(_transformed(call, scores), FLOAT)]


def _of_one_score(call: Call, score: Tensor, labels: Array) -> list[Value]:
    """The second label where the score is above 0; without two labels these are 0 and 1."""
    g, samples = call.g, shape_of(score)[0]
    above = elementary.compared(g, "GREATER", score, elementary.number(g, 0.0, score))
    place = elementary.chosen(g, above, g.scalar(1, types.i32, 2), g.scalar(0, types.i32, 2))
    found = _labelled(call, g.reshape(place, (samples,)), labels if labels.size == 2 else np.arange(2))
    x = _transformed(call, score)
    if labels.size == 2:
        x = g.concat([g.binary("SUB", elementary.number(g, 1.0, x), x), x], 1)
    return [found, value_of(x, FLOAT)]


def _labelled(call: Call, place: Tensor, labels: Array) -> Value:
    """The labels at places."""
    if np.array_equal(labels, np.arange(labels.size)):
        return Value(INT64, shape_of(place), None, place)
    if labels.min() < types.i32.minimum or labels.max() > types.i32.maximum:
        raise Unsupported(f"labels from {labels.min()} to {labels.max()}, which int32 doesn't hold")
    found = gather(call.g, call.g.const(labels, types.i32, "labels"), place, 0)
    return Value(INT64, shape_of(found), None, found)


def normalizer(call: Call) -> Value:
    """Each row by its largest element, by the sum of its sizes or by the root of its squares, unless that is 0."""
    g, x = call.g, rows(call)
    norm = call.attribute("norm", "MAX")
    if norm == "MAX":
        size = reduced(g, "REDUCE_MAX", x, (1,))
        none = elementary.compared(g, "EQUAL", size, elementary.number(g, 0.0, size))
        divisor = elementary.chosen(g, none, elementary.number(g, 1.0, size), size)
        found = elementary.division(g, x, divisor)
    elif norm == "L1":
        total = reduced(g, "REDUCE_SUM", g.unary("ABS", x), (1,))
        found = elementary.division(g, x, g.clamp(total, SMALLEST, FLOAT_MAX))
    elif norm == "L2":
        total = reduced(g, "REDUCE_SUM", g.binary("MUL", x, x), (1,))
        found = g.binary("MUL", x, g.unary("RSQRT", g.clamp(total, SMALLEST, FLOAT_MAX)))
    else:
        raise GraphError(f"norm '{norm}'")
    return value_of(g.reshape(found, call.shape(0)), FLOAT)


def binarizer(call: Call) -> Value:
    """1 above the threshold, else 0, in the type of the input."""
    g, x = call.g, call.wide(0) if call.element().is_integer else call.tensor(0)
    limit = call.attribute("threshold", 0.0)
    bound = elementary.number(g, limit if call.element().is_float else int(np.floor(limit)), x)
    above = elementary.compared(g, "GREATER", x, bound)
    return value_of(elementary.chosen(g, above, *(elementary.number(g, n, x) for n in (1, 0))), call.element())


def imputer(call: Call) -> Value:
    """Elements that are the replaced value, or NaN where that is NaN, become those of the attribute."""
    g, integer = call.g, call.element().is_integer
    x = call.wide(0) if integer else call.tensor(0)
    name, suffix = ("imputed_value_int64s", "int64") if integer else ("imputed_value_floats", "float")
    given, replaced = np.array(call.attribute(name, ())), call.attribute(f"replaced_value_{suffix}", 0)
    if given.size not in (1, shape_of(x)[-1]):
        raise GraphError(f"attribute '{name}' has {given.size} numbers for {shape_of(x)[-1]} features")
    if np.isnan(replaced):
        there = elementary.compared(g, "EQUAL", x, x)
        return value_of(elementary.chosen(g, there, x, _row(call, given, x)), call.element())
    missing = elementary.compared(g, "EQUAL", x, elementary.number(g, replaced, x))
    return value_of(elementary.chosen(g, missing, _row(call, given, x), x), call.element())


def feature_extractor(call: Call) -> Value:
    """Elements of the last axis, which the second input counts."""
    g, x = call.g, call.tensor(0) if len(call.shape(0)) > 1 else call.g.reshape(call.tensor(0), (1, *call.shape(0)))
    axis, wanted = len(shape_of(x)) - 1, call.value(1)
    if wanted.data is not None:
        found = at_constant(g, x, wanted.data.reshape(-1), axis)
    else:
        found = gather(g, x, g.reshape(call.wide(1), (int(np.prod(wanted.shape)),)), axis)
    return value_of(found, call.element())


def feature_vectorizer(call: Call) -> Value:
    """The features of all inputs as rows of floats."""
    return value_of(call.g.concat([rows(call, i) for i in range(len(call.inputs))], 1), FLOAT)


def one_hot_encoder(call: Call) -> Value:
    """A new last axis of 1 at the category and 0 elsewhere; all 0 for a number that is no category."""
    if call.attribute("cats_strings"):
        raise Unsupported("its categories are strings, TOSA has numbers only")
    if not call.attribute("zeros", 1):
        raise Unsupported("zeros=0, which wants an error for a number that is no category")
    g, integer = call.g, call.element().is_integer
    x = call.wide(0) if integer else call.tensor(0)
    x = g.reshape(x, (*shape_of(x), 1))
    here = elementary.compared(g, "EQUAL", x, _row(call, np.array(call.attributes["cats_int64s"]), x))
    rank = len(shape_of(x))
    return value_of(elementary.chosen(g, here, g.scalar(1.0, rank=rank), g.scalar(0.0, rank=rank)), FLOAT)


def label_encoder(call: Call) -> Value:
    """The value of the first key that equals an element; the default where none does."""
    g = call.g
    keys, values, default = _table(call)
    x = call.wide(0) if call.element().is_integer else call.tensor(0)
    wide = g.reshape(x, (*shape_of(x), 1))
    none = g.scalar(0, types.i32, len(shape_of(wide)))
    same = elementary.compared(g, "EQUAL", wide, _row(call, keys, wide))
    ranked = elementary.chosen(g, same, _row(call, np.arange(keys.size, 0, -1), none), none)  # the most for the first
    place = g.reshape(g.reduce("REDUCE_MAX", ranked, len(shape_of(x))), shape_of(x))
    element = INT64 if values.dtype.kind == "i" else FLOAT
    table = carried(np.concatenate([[default], values[::-1]]).astype(element.storage), element)
    found = gather(g, g.const(table, carrier_of(element), "values"), place, 0)
    return Value(element, shape_of(found), None, found)


def _table(call: Call) -> tuple[Array, Array, Any]:
    """Keys, values and the default. Raises Unsupported for strings, GraphError where they don't fit."""
    keys, values = (_column(call, side) for side in ("keys", "values"))
    if keys.size != values.size:
        raise GraphError(f"{keys.size} keys and {values.size} values")
    if (keys.dtype.kind == "f") is not call.element().is_float:
        raise GraphError(f"keys of type {keys.dtype} for an input of type {call.element()}")
    if np.isnan(keys).any():
        raise Unsupported("a key that is not a number")
    if "default_tensor" in call.attributes:
        return keys, values, np.asarray(call.attributes["default_tensor"]).reshape(-1)[0]
    whole = values.dtype.kind == "i"
    return keys, values, call.attribute("default_int64", -1) if whole else call.attribute("default_float", 0.0)


def _column(call: Call, side: str) -> Array:
    """The keys or the values."""
    if call.attribute(f"{side}_int64s"):
        return np.array(call.attributes[f"{side}_int64s"], np.int64)
    if call.attribute(f"{side}_floats"):
        return np.array(call.attributes[f"{side}_floats"], np.float32)
    found = call.attribute(f"{side}_tensor")
    if found is None or found.dtype.kind not in "if" or found.dtype == np.float64:
        raise Unsupported(f"its {side} aren't numbers that TOSA has")
    return np.asarray(found).reshape(-1)


def zip_map(call: Call) -> Value:
    return call.value(0)


OPERATORS: Final[Mapping[tuple[str, str], Callable[[Call], Any]]] = {
    (DOMAIN, "ArrayFeatureExtractor"): feature_extractor,
    (DOMAIN, "Binarizer"): binarizer,
    (DOMAIN, "FeatureVectorizer"): feature_vectorizer,
    (DOMAIN, "Imputer"): imputer,
    (DOMAIN, "LabelEncoder"): label_encoder,
    (DOMAIN, "LinearClassifier"): linear_classifier,
    (DOMAIN, "LinearRegressor"): linear_regressor,
    (DOMAIN, "Normalizer"): normalizer,
    (DOMAIN, "OneHotEncoder"): one_hot_encoder,
    (DOMAIN, "Scaler"): scaler,
    (DOMAIN, "ZipMap"): zip_map,
}
