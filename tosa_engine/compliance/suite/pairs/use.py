"""A use of an operator under construction: numbers, shapes and operands of the classes that were chosen for it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....spec.case import Case
from ....spec.table import ENUMERATIONS
from ....types import count
from ...cases.values import dtype_of, values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....spec import OpSpec
    from ....types import Array, DType, Shape

NUMBERS: Final = {
    "0": (0,),
    "1": (1,),
    "2": (2,),
    "2 to 15": tuple(range(2, 10)),
    "16 or more": (16, 17),
    "less": (-1,),
}
ELEMENTS: Final = {"1": (1, 1), "2 to 15": (2, 15), "16 or more": (16, 96)}
TRIES: Final = 1000


class Use:
    """`case` gets what is added; `feeds` the values of its inputs."""

    def __init__(self, spec: OpSpec, chosen: Mapping[str, str], rng: np.random.Generator, size: int = 0) -> None:
        self.spec, self.chosen, self.rng, self.size = spec, chosen, rng, size
        self.row = spec.row(chosen["row"])
        self.case = Case(spec.name)
        self.feeds: dict[str, Array] = {}
        for attribute in spec.attributes:
            if attribute.kind == "bool":
                self.case.set(**{attribute.name: chosen[attribute.name] == "true"})
            elif attribute.kind in ENUMERATIONS:
                self.case.set(**{attribute.name: chosen[attribute.name]})
            elif attribute.kind == "acc_type":
                self.case.set(**{attribute.name: self.row.types["acc_t"]})

    def number(self, dimension: str, more: int = 3) -> int:
        """A number of the class chosen for a dimension; `more` stands for what has no other bound."""
        if self.size and self.chosen[dimension] == "2 to 15":
            return self.size
        return int(self.rng.choice(NUMBERS.get(self.chosen[dimension], (more,))))

    def dtype(self, argument: str) -> DType:
        found = next(a for a in self.spec.arguments if a.name == argument)
        return dtype_of(found.type, self.row)

    def shape(self, good: Callable[[Shape], bool] = lambda _: True) -> Shape:
        """A shape of the chosen rank and number of elements."""
        rank = int(self.chosen["rank"])
        low, high = ELEMENTS[self.chosen["elements"]]
        for _ in range(TRIES):
            wide = self.rng.permutation(rank) < self.rng.integers(0, 4)
            found = tuple(int(n) for n in np.where(wide, self.rng.choice([2, 3, 4, 17], rank), 1))
            if low <= prod(found) <= high and good(found):
                return found
        raise AssertionError(f"{self.spec.name}: no shape for {dict(self.chosen)}")

    def operand(self, argument: str, shape: Shape, given: Any = None, flavour: str = "") -> Use:
        """An operand with these values (else some that keep REQUIREs): input, or constant where that was chosen."""
        dtype = self.dtype(argument)
        wide = dtype.is_float or dtype.bits >= 32
        found = values(self.rng, flavour or ("small" if wide else "any"), dtype, shape) if given is None else given
        array = np.asarray(found, dtype.storage).reshape(shape)
        if self.chosen.get(argument) == "constant":
            self.case.const(argument, dtype, array)
        else:
            self.case.input(argument, dtype, shape)
            self.feeds[argument] = array
        return self

    def constant(self, argument: str, given: Any) -> Use:
        self.case.const(argument, self.dtype(argument), given)
        return self

    def zero_point(self, argument: str) -> Use:
        """A zero point of the chosen class."""
        dtype = self.dtype(argument)
        ends = {} if dtype.is_float else {"least": dtype.minimum, "greatest": dtype.maximum}
        return self.constant(argument, [{"0": 0, "other": 7, **ends}[self.chosen[argument]]])

    def outputs(self) -> Use:
        """All outputs, their shapes to be inferred."""
        for argument in self.spec.outputs:
            self.case.output(argument.name, self.dtype(argument.name), None)
        return self

    def arange(self, shape: Shape) -> Array:
        return np.arange(count(shape)).reshape(shape)
