"""How a metric adds up over samples. `add` gives the sample's own value where it has one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tosa_engine.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.types import Array


class Tally(Protocol):
    def add(self, outputs: Mapping[str, Array], target: Array) -> float | None:
        """Count the outputs of a sample, by name, beside its target; the sample's own value."""

    def value(self) -> float:
        """Of all samples; there is one at least."""


class Accuracy:
    """The share, in per cent, of targets that are among the `most` largest of their values.

    A target of one number is an index into the whole output; one of several, as of a segmentation, has the output's
    shape without the axis of classes. Outputs of integers are the answers themselves (ARGMAX).
    """

    def __init__(self, most: int = 1) -> None:
        self.most, self.right, self.seen = most, 0, 0

    def add(self, outputs: Mapping[str, Array], target: Array) -> float:
        output = only(outputs)
        if target.dtype.kind not in "iub":
            raise DataError(f"targets of accuracy are indices: integers, not {target.dtype}")
        wanted = target.reshape(-1).astype(np.int64)
        right = int(self._right(output, target, wanted).sum())
        self.right, self.seen = self.right + right, self.seen + wanted.size
        return 100 * right / wanted.size

    def value(self) -> float:
        return 100 * self.right / self.seen

    def _right(self, output: Array, target: Array, wanted: Array) -> Array:
        if output.dtype.kind in "iub" and output.size == wanted.size:
            return np.equal(output.reshape(-1), wanted)
        rows = _rows(output, target)
        if rows.shape[1] < 2:
            raise UsageError(
                "accuracy is of the largest of several values, and the output has one; give --metric module:function"
            )
        if int(wanted.min()) < 0 or int(wanted.max()) >= rows.shape[1]:
            raise DataError(f"a target is {wanted.min()} .. {wanted.max()}, the classes are 0 .. {rows.shape[1] - 1}")
        if self.most == 1:
            found: Array = np.equal(rows.argmax(axis=1), wanted)
            return found
        own = rows[np.arange(len(rows)), wanted]
        before = (rows > own[:, None]).sum(axis=1)
        ties = np.array([(row[:index] == row[index]).sum() for row, index in zip(rows, wanted, strict=True)])
        among: Array = np.less(before + ties, self.most)
        return among


class Squares:
    """Sums of squares over all elements: of the errors, and of the targets about their means, element by element."""

    def __init__(self, kind: str) -> None:
        self.kind, self.samples, self.elements, self.error = kind, 0, 0, 0.0
        self.mean: Array = np.zeros(1)
        self.spread: Array = np.zeros(1)
        self.errors: Array = np.zeros(1)
        self.low, self.high = math.inf, -math.inf

    def add(self, outputs: Mapping[str, Array], target: Array) -> float:
        output, wanted = only(outputs).reshape(-1).astype(np.float64), target.reshape(-1).astype(np.float64)
        if output.size != wanted.size:
            raise DataError(f"a target has {wanted.size} numbers, the output {output.size}")
        if not np.isfinite(wanted).all():
            raise DataError(f"the target of sample {self.samples} has NaN or infinity in it")
        square = np.square(output - wanted)
        self.samples, self.elements, self.error = (
            self.samples + 1,
            self.elements + square.size,
            self.error + square.sum(),
        )
        self.errors = self.errors + square
        before = wanted - self.mean  # Welford's way: the mean of what was seen, and the squares about it
        self.mean = self.mean + before / self.samples
        self.spread = self.spread + before * (wanted - self.mean)
        self.low, self.high = min(self.low, float(wanted.min())), max(self.high, float(wanted.max()))
        return math.sqrt(float(square.mean()))

    def value(self) -> float:
        mean = float(self.error) / self.elements
        if self.kind == "rmse":
            return math.sqrt(mean)
        if self.high == self.low:
            raise DataError(f"{self.kind} needs targets that differ; all of them are {self.low:g}")
        if self.kind == "psnr":
            return 10 * math.log10((self.high - self.low) ** 2 / mean) if mean else math.inf
        used = self.spread > 0
        if not used.any():
            raise DataError("r2 needs several samples whose targets differ")
        return float((1 - self.errors[used] / self.spread[used]).mean())


class Called:
    """All targets and outputs in memory, for one call of a function: `function(targets, outputs)`."""

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        self.name, self.function = name, function
        self.targets: list[Array] = []
        self.outputs: list[dict[str, Array]] = []

    def add(self, outputs: Mapping[str, Array], target: Array) -> None:
        self.targets.append(target)
        self.outputs.append({name: _without_batch(array) for name, array in outputs.items()})

    def value(self) -> float:
        stacked = {name: np.stack([sample[name] for sample in self.outputs]) for name in self.outputs[0]}
        given = next(iter(stacked.values())) if len(stacked) == 1 else stacked
        try:
            found = float(self.function(np.stack(self.targets), given))  # type: ignore[arg-type]
        except Exception as problem:  # whatever the user's function raises
            raise UsageError(f"--metric {self.name}: {type(problem).__name__}: {problem}") from problem
        if math.isnan(found):
            raise DataError(f"--metric {self.name}: the function gave NaN")
        return found


def only(outputs: Mapping[str, Array]) -> Array:
    if len(outputs) != 1:
        names = ", ".join(outputs)
        raise UsageError(f"the network has {len(outputs)} outputs ({names}): give --metric module:function")
    return next(iter(outputs.values()))


def _rows(output: Array, target: Array) -> Array:
    """The values of the classes, one row for each number of the target."""
    if target.size == 1:
        return output.reshape(1, -1)
    wanted = _squeezed(target.shape)
    for axis in reversed(range(output.ndim)):
        if _squeezed(output.shape[:axis] + output.shape[axis + 1 :]) == wanted:
            return np.moveaxis(output, axis, -1).reshape(target.size, -1)
    raise DataError(
        f"a target of shape {list(target.shape)} isn't one number for each place of an output of {list(output.shape)}"
    )


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _without_batch(array: Array) -> Array:
    return array[0] if array.ndim > 1 and array.shape[0] == 1 else array
