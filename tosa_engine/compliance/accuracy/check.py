"""One operator's outputs judged by the operator's rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import RequireViolation
from ...numerics.float_formats import FORMATS
from ...oracle.arith import wide
from ...oracle.reference import bound_fp64, reference_fp64
from .bounds import flushed
from .dot_product import check_dot_products, kernel_size, rounding_count
from .operators import DOT_PRODUCT, Measured, rule_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...spec.table import Call
    from ...types import Array, DType
    from .dot_product import DotProducts


@dataclass(frozen=True)
class Accuracy:
    """Whether one output is as exact as it must be. `rule` is the rule's name, `wrong` the number of bad elements;
    `index`, `got` and `reference` are those of the first one. `sums` says which sum over a data set is out of bounds.
    """

    rule: str
    wrong: int = 0
    index: tuple[int, ...] = ()
    got: float = 0.0
    reference: float = 0.0
    sums: str = ""

    @property
    def good(self) -> bool:
        return self.wrong == 0 and not self.sums

    def __str__(self) -> str:
        if self.good:
            return f"{self.rule}: good"
        if self.sums:
            return f"{self.rule}: {self.sums}"
        where = f"first at {list(self.index)}: got {self.got!r}, reference {self.reference!r}"
        return f"{self.rule}: {self.wrong} elements out of bounds, {where}"


def check_operator(
    call: Call, inputs: Mapping[str, Array | list[Array]], outputs: Sequence[Array], data_set: int | None = None
) -> list[Accuracy]:
    """Whether each output of an operator meets the precision requirements; nothing where the operator's result is
    unpredictable for these inputs.

    Subnormal inputs may have been flushed, all of them or none: an output is good where it fits one of both.

    Args:
        call: the operator, with shapes (`spec.bind_operator`).
        inputs: by argument name, in the storage of their formats; a list of arrays for the argument of CONCAT.
        outputs: what the implementation gave, in the order of the operator.
        data_set: S of `data_sets.data_set`, if the inputs are those; then sums of errors are bounded, too.
    """
    try:
        found = _check(call, inputs, outputs, data_set)
        arrays = _arrays(inputs)
        if all(one.good for one in found) or len(arrays) < len(inputs):
            return found
        formats = {a.name: call.dtype(a) for a in call.spec.inputs}
        zeros = {n: flushed(a, formats[n]) if formats[n].is_float else a for n, a in arrays.items()}
        if all(np.array_equal(wide(zeros[n]), wide(arrays[n]), equal_nan=formats[n].is_float) for n in zeros):
            return found
        again = _check(call, zeros, outputs, data_set)
    except RequireViolation:
        return []
    return [one if one.good else other for one, other in zip(found, again, strict=True)]


def _arrays(inputs: Mapping[str, Array | list[Array]]) -> dict[str, Array]:
    """Without the arguments that are lists, which CONCAT alone has: it moves elements and leaves no choice."""
    return {name: value for name, value in inputs.items() if not isinstance(value, list)}


def _check(
    call: Call, inputs: Mapping[str, Array | list[Array]], outputs: Sequence[Array], data_set: int | None
) -> list[Accuracy]:
    rule = rule_of(call.spec.name)
    references = reference_fp64(call, inputs)
    formats = [call.dtype(argument) for argument in call.spec.outputs]
    if rule is DOT_PRODUCT and formats[0].is_float:
        return _dot_products(call, _arrays(inputs), outputs, references, data_set)
    values = {name: wide(array) for name, array in _arrays(inputs).items() if not name.endswith(("_zp", "shift"))}
    found = []
    for tested, reference, dtype in zip(outputs, references, formats, strict=True):
        with np.errstate(all="ignore"):
            good = rule.good(Measured(call, values, tested, reference, dtype))
        found.append(_accuracy(rule.name, good, tested, reference))
    return found


def _dot_products(
    call: Call, inputs: Mapping[str, Array], outputs: Sequence[Array], references: Sequence[Array], data_set: int | None
) -> list[Accuracy]:
    out_t: DType = call.dtype(call.spec.outputs[0])
    acc_t: DType = call.names.get("acc_t", out_t)
    in_t = call.dtype(call.spec.inputs[0])
    local = bool(call.local_bound) if any(a.name == "local_bound" for a in call.spec.attributes) else True
    bounds = bound_fp64(call, inputs, local, FORMATS[in_t].least_normal)
    ksb = rounding_count(
        kernel_size(call), acc_t, out_t, bool(np.any(wide(inputs["bias"]))) if "bias" in inputs else False
    )
    found = []
    for tested, reference, bound in zip(outputs, references, bounds, strict=True):
        measured = check_dot_products(tested, reference, bound, ksb, out_t, data_set)
        found.append(_accuracy(DOT_PRODUCT.name, measured.within, tested, reference, _sums(measured)))
    return found


def _sums(measured: DotProducts) -> str:
    if not measured.bias_good:
        return f"the sum of the errors {measured.errors.sum():g} is beyond {measured.bias_bound:g}"
    if not measured.variance_good:
        return f"the sum of the squared errors {(measured.errors**2).sum():g} is beyond {measured.variance_bound:g}"
    return ""


def _accuracy(rule: str, good: Array, tested: Array, reference: Array, sums: str = "") -> Accuracy:
    wrong = np.flatnonzero(~np.asarray(good, bool).reshape(-1))
    if not wrong.size:
        return Accuracy(rule, sums=sums)
    index = tuple(int(i) for i in np.unravel_index(wrong[0], reference.shape))
    return Accuracy(rule, wrong.size, index, float(tested[index]), float(reference[index]), sums)
