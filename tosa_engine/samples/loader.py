"""Samples that a function of the user's gives: `module:function`, which nothing but its name has imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import DataError, UsageError
from ..plugins import function_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..graph import Tensor
    from ..types import Array
    from .arrays import Sample

NAMED: Final = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")


def is_loader(text: str) -> bool:
    """Whether a text names a function as `module:function`."""
    return NAMED.fullmatch(text) is not None


@dataclass
class LoaderSamples:
    """What `module:function` gives, called without arguments each time that samples are read: each time the same.

    A sample is a mapping of arrays by input name, or for a model with one input an array, or a pair of it and a label,
    which is left out; `answers` has the labels.
    """

    text: str
    inputs: Sequence[Tensor]
    total: int = field(init=False)

    def __post_init__(self) -> None:
        found = self._called()
        self.total = len(found) if isinstance(found, Sized) else sum(1 for _ in found)
        if self.total == 0:
            raise DataError(f"{self.text}: it gives no samples")

    def describe(self) -> dict[str, Any]:
        return {"kind": "loader", "function": self.text, "samples": self.total}

    def answers(self) -> list[Any]:
        """What stands second in samples that are pairs."""
        return [found[1] for found in self._called() if isinstance(found, (tuple, list)) and len(found) == 2]

    def read(self, numbers: Iterable[int]) -> Iterator[tuple[int, Sample]]:
        wanted = iter(numbers)
        number = next(wanted, None)
        for index, sample in enumerate(self._called()):
            if number is None:
                return
            if index == number:
                yield number, self._checked(sample, index)
                number = next(wanted, None)
        if number is not None:
            raise DataError(
                f"{self.text}: it gave {self.total} samples the first time, now it ends before sample {number}"
            )

    def _called(self) -> Iterable[Any]:
        named = NAMED.fullmatch(self.text)
        assert named is not None
        try:
            found = function_at(named[1], named[2])()
        except ValueError as problem:
            raise UsageError(f"--data {self.text}: {problem}") from problem
        if not isinstance(found, Iterable):
            raise UsageError(f"--data {self.text}: it gives {type(found).__name__}, wanted samples to iterate over")
        return found

    def _checked(self, sample: Any, index: int) -> dict[str, Array]:
        if isinstance(sample, (tuple, list)) and len(sample) == 2 and len(self.inputs) == 1:
            sample = sample[0]
        given = (
            sample if isinstance(sample, Mapping) else {self.inputs[0].name: sample} if len(self.inputs) == 1 else {}
        )
        found = {}
        for tensor in self.inputs:
            if tensor.name not in given:
                raise DataError(f"{self.text}: sample {index} has no array for this input", tensor=tensor.name)
            found[tensor.name] = self._array(given[tensor.name], tensor, index)
        return found

    def _array(self, given: Any, tensor: Tensor, index: int) -> Array:
        array, shape = np.asarray(given), tensor.shape or ()
        kinds = "fiub" if tensor.dtype.is_float else "iub"
        if array.dtype.kind not in kinds or [d for d in array.shape if d != 1] != [d for d in shape if d != 1]:
            wanted = f"numbers of shape {list(shape)}" if tensor.dtype.is_float else f"integers of shape {list(shape)}"
            got = f"{array.dtype} {list(array.shape)}"
            raise DataError(f"{self.text}: sample {index}: wanted {wanted}, got {got}", tensor=tensor.name)
        found = array.astype(tensor.dtype.storage).reshape(shape)
        if tensor.dtype.is_float and not np.isfinite(found).all():
            raise DataError(f"{self.text}: sample {index} has NaN or infinity in it", tensor=tensor.name)
        return found
