"""Smaller shapes and simpler attributes of one operator, by its entry of the op table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...spec.table import ENUMERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...types import Array
    from .use import Use

    Axes = list[tuple[str, int]]  # an argument, and its axis


def smaller(use: Use) -> Iterator[Use]:
    """The use with less along one axis: one half, the other, all but an end; then with windows cut to one, and with
    fewer axes.
    """
    for axes in groups(use):
        sizes = {use.array(name).shape[axis] for name, axis in axes if use.array(name).shape[axis] > 1}
        if len(sizes) != 1:
            continue
        size = sizes.pop()
        for start, stop in dict.fromkeys([(0, size // 2), (size // 2, size), (0, size - 1), (1, size)]):
            yield _cut(use, axes, start, stop)
    yield from _one_window(use)
    yield from _fewer_axes(use)
    yield from _fewer_tensors(use)


def groups(use: Use) -> list[Axes]:
    """Axes that have one length: those of operands that go together, and those of one letter."""
    spec = use.spec
    together = spec.traits.elementwise
    if together is not None:
        rank = max((use.array(name).ndim for name in together.operands if name in use.values), default=0)
        found = [[(name, axis) for name in together.operands if name in use.values] for axis in range(rank)]
        if found and together.by_channel and use.attributes.get(together.by_channel):
            found[-1] += [(name, 0) for name in ("multiplier", "shift")]
        return [axes for axes in found if all(use.array(name).ndim > axis for name, axis in axes)]
    letters: dict[str, Axes] = {}
    for argument in spec.inputs:
        if argument.is_shape or argument.is_list:
            continue
        free = argument.shape in ("shape", "shape1")
        names = (
            [f"{argument.name} {i}" for i in range(use.array(argument.name).ndim)]
            if free
            else spec.letters(argument.name)
        )
        for axis, letter in enumerate(names):
            letters.setdefault(letter, []).append((argument.name, axis))
    by_bias = {"BC": "OC"}  # a bias has one element, or one for each output channel
    for letter, other in by_bias.items():
        if letter in letters and other in letters and use.array("bias").size > 1:
            letters[other] += letters.pop(letter)
    return list(letters.values())


def _cut(use: Use, axes: Axes, start: int, stop: int) -> Use:
    arrays: dict[str, Array] = {}
    for name, axis in axes:
        array = arrays.get(name, use.array(name))
        if array.shape[axis] > 1:
            arrays[name] = array.take(range(start, stop), axis)
    return use.with_arrays({name: [array] for name, array in arrays.items()})


def _one_window(use: Use) -> Iterator[Use]:
    """The input cut to what one output position sees, with the padding that is left for it."""
    window = use.spec.traits.window
    if window is None or window.transposed or use.operator == "CONV3D":
        return
    attributes = use.attributes
    pad, stride = attributes["pad"], attributes["stride"]
    dilation = attributes.get("dilation", (1, 1))
    shape = use.array("input").shape
    axes = use.spec.axes("weight", *window.kernel) if "weight" in use.values else ()
    kernel = tuple(use.array("weight").shape[i] for i in axes) if axes else attributes["kernel"]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    counts = [(shape[1 + i] + pad[2 * i] + pad[2 * i + 1] - spans[i]) // stride[i] + 1 for i in range(2)]
    if counts == [1, 1] and tuple(stride) == (1, 1):
        return
    for place in list(np.ndindex(*counts))[:16]:
        ends = []
        for i in range(2):
            first = place[i] * stride[i] - pad[2 * i]
            last = first + spans[i]
            ends.append((max(first, 0), min(last, shape[1 + i]), max(-first, 0), max(last - shape[1 + i], 0)))
        if any(begin >= stop for begin, stop, _, _ in ends):
            continue
        cut = use.array("input")[:, ends[0][0] : ends[0][1], ends[1][0] : ends[1][1]]
        around = (*ends[0][2:], *ends[1][2:])
        yield use.with_arrays({"input": [cut]}).with_attributes(pad=around, stride=(1, 1))
        yield use.with_arrays({"input": [cut]}).with_attributes(pad=around)


def _fewer_axes(use: Use) -> Iterator[Use]:
    """Without an axis of length 1."""
    together = use.spec.traits.elementwise
    if together is None:
        return
    names = [name for name in together.operands if name in use.values]
    for axis in range(max((use.array(name).ndim for name in names), default=0)):
        if all(use.array(name).ndim > axis and use.array(name).shape[axis] == 1 for name in names):
            yield use.with_arrays({name: [use.array(name).squeeze(axis)] for name in names})
            return


def _fewer_tensors(use: Use) -> Iterator[Use]:
    """Without a tensor of a list."""
    for argument in use.spec.inputs:
        if argument.is_list and len(use.values[argument.name]) > 1:
            values = use.values[argument.name]
            for i in range(len(values)):
                yield replace(use, values={**use.values, argument.name: [v for k, v in enumerate(values) if k != i]})


def simpler(use: Use) -> Iterator[Use]:
    """With an attribute, or an element of one, as simple as can be."""
    for attribute in use.spec.attributes:
        value = use.attributes.get(attribute.name)
        if attribute.kind == "bool" and value:
            yield use.with_attributes(**{attribute.name: False})
        elif attribute.kind in ENUMERATIONS and value != next(iter(ENUMERATIONS[attribute.kind])):
            yield use.with_attributes(**{attribute.name: next(iter(ENUMERATIONS[attribute.kind]))})
        elif attribute.kind.startswith("i32["):
            yield from _simpler_elements(use, attribute.name, list(value or ()))


def _simpler_elements(use: Use, name: str, value: list[int]) -> Iterator[Use]:
    least = 0 if "pad" in name else 1
    if name == "perms":
        return
    for i, one in enumerate(value):
        if one not in (least, least - 1):
            yield use.with_attributes(**{name: (*value[:i], least, *value[i + 1 :])})


def plainer(use: Use) -> Iterator[tuple[str, int, Array]]:
    """Data with zeros in place of all elements, of one half, or of one; then with smaller numbers: argument, which
    tensor of it, values.
    """
    for argument in use.spec.inputs:
        if argument.is_shape or argument.name in ("multiplier", "shift", "table"):
            continue
        for which, value in enumerate(use.values[argument.name]):
            for array in _plainer(value.array):
                yield argument.name, which, array


def _plainer(array: Array) -> Iterator[Array]:
    flat = array.reshape(-1)
    where = np.flatnonzero(flat != 0) if flat.dtype.kind in "iub" else np.flatnonzero(flat.astype(np.float64) != 0)
    if not where.size:
        return
    half = where.size // 2
    for chosen in [where, where[:half], where[half:]] if where.size > 2 else [where]:
        if chosen.size:
            yield _filled(array, chosen, 0)
    if where.size <= 16:
        for one in where:
            yield _filled(array, np.array([one]), 0)
            number: Any = flat[one]
            if flat.dtype.kind == "i" and abs(int(number)) > 1:
                yield _filled(array, np.array([one]), int(number) // 2)
                yield _filled(array, np.array([one]), int(np.sign(number)) * (abs(int(number)) - 1))


def _filled(array: Array, chosen: Array, value: int) -> Array:
    found = array.copy()
    found.reshape(-1)[chosen] = value
    return found
