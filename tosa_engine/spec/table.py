"""The vocabulary of the op table: what an entry of `tosa_engine.spec` is made of.

An entry says what is legal, in the order in which the specification says it: arguments, type rows, named sizes, shape
rule, checks. It holds no kernel code. `Call` is one operator of a graph seen through its entry: shape letters,
attributes, type variables and constant inputs by the specification's names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from .. import types
from ..versions import V1_0

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Block, Graph, Operator, Tensor
    from ..types import Array, DType, Shape
    from ..versions import Version
    from .case import Case
    from .traits import Traits

NAN_MODES: Final = {"PROPAGATE": 1, "IGNORE": 2}
RESIZE_MODES: Final = {"NEAREST": 1, "BILINEAR": 2}
ROUNDING_MODES: Final = {"SINGLE_ROUND": 1, "INEXACT_ROUND": 2, "DOUBLE_ROUND": 3}
ENUMERATIONS: Final = {"nan_mode": NAN_MODES, "resize_mode": RESIZE_MODES, "rounding_mode": ROUNDING_MODES}


@dataclass(frozen=True, slots=True)
class Limit:
    """A level check: `value` (as the specification writes it, for the message) must not exceed a limit of the level."""

    value: str
    limit: str  # a field of target.Level
    get: Callable[[Call], int]


@dataclass(frozen=True, slots=True)
class Argument:
    """An input or output: `type` is a type variable of the rows or a fixed format's name with `_t`; `shape` is in the
    specification's letters. `rank` bounds are inclusive; None stands for MAX_RANK. `ctc`: must be a compile-time
    constant unless the target has EXT-DYNAMIC. A list, which stands last, has `least` tensors or more, of any types.
    """

    name: str
    type: str
    shape: str
    rank: tuple[int, int | None]
    ctc: bool = False
    is_list: bool = False
    least: int = 1

    @property
    def is_shape(self) -> bool:
        return self.type == "shape_t"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute. `kind`: i32, bool, i32[n], i32[rank], acc_type (a DType), one of `ENUMERATIONS`, value (a number
    of the type `type`), string, bytes, graph (the name of a region), dtype (a DType, the row's `type`) or array.
    `field` is its place in the flatbuffer table of the operator's attributes; None where files hold it elsewhere.
    `since` is the first version of the specification that has it; before, operators do what `default` says.
    """

    name: str
    kind: str
    field: int | None
    type: str = ""
    optional: bool = False
    default: Any = None
    since: Version = V1_0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an operator's table of supported data types.

    `needs` lists alternatives; each is a set of profiles or extensions that the target must have together. `letters`
    binds names that the row fixes (TABLE_SIZE). `since` is the first version of the specification that has the row.
    """

    mode: str
    types: Mapping[str, DType]
    needs: tuple[tuple[str, ...], ...]
    letters: Mapping[str, int] = field(default_factory=dict)
    since: Version = V1_0

    @property
    def key(self) -> str:
        """A short name, unique in the operator: the formats joined by underscores, accumulators as `acc` + format."""
        return "_".join(("acc" if k == "acc_t" else "") + t.name for k, t in self.types.items()) or self.mode


@dataclass(frozen=True, slots=True)
class Check:
    """An ERROR_IF. `violated` is its condition; `message` is formatted with the call's names; `mutate` turns a legal
    `Case` into one that breaks this rule first. `about` is the argument that errors name.
    """

    label: str
    violated: Callable[[Call], bool]
    message: str
    mutate: Callable[[Case], object]
    about: str = ""


@dataclass(frozen=True, slots=True)
class Require:
    """A REQUIRE on values, tested by the oracle and by the kernels. `text` says what must hold."""

    label: str
    text: str


@dataclass(frozen=True)
class OpSpec:
    """One operator of the specification. `code` and `schema` are its number and table name in the flatbuffer schema;
    `section` is its chapter. `sizes` computes named sizes from the bound letters, `shapes` the shapes of the outputs.
    An operator that isn't `pure` does more than computing outputs from inputs: it runs regions, or reads or changes
    variables, or is the user's own; it is never dropped or computed ahead. `traits` are what others have to know of it
    (`spec.traits`). `within` finds the entry that stands behind
    an entry (CUSTOM), `formats` the number formats of a list of outputs.
    """

    name: str
    code: int
    schema: str
    section: str
    inputs: tuple[Argument, ...]
    attributes: tuple[Attribute, ...]
    outputs: tuple[Argument, ...]
    rows: tuple[Row, ...]
    traits: Traits
    shapes: Callable[[Call], Sequence[Shape]]
    example: Callable[[Row], Case]
    sizes: Callable[[Call], Mapping[str, Any]] | None = None
    limits: tuple[Limit, ...] = ()
    checks: tuple[Check, ...] = ()
    requires: tuple[Require, ...] = ()
    pure: bool = True
    within: Callable[[Operator], OpSpec] | None = None
    formats: Callable[[Call], Sequence[DType]] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether its values are in the graph: CONST, CONST_SHAPE."""
        return self.pure and not self.inputs

    @property
    def since(self) -> Version:
        """The first version of the specification that has the operator: that of its oldest row."""
        return min(row.since for row in self.rows)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        return (*self.inputs, *self.outputs)

    @cached_property
    def formats_by_row(self) -> tuple[tuple[tuple[str, DType], ...], ...]:
        """For each row the formats of the arguments that have one, by the arguments' names."""
        return tuple(
            tuple((a.name, wanted) for a in self.arguments if (wanted := _format(a, row)) is not None)
            for row in self.rows
        )

    @cached_property
    def formats_named(self) -> tuple[str, ...]:
        """The attributes whose values are formats."""
        return tuple(a.name for a in self.attributes if a.kind in ("acc_type", "dtype"))

    @cached_property
    def found_rows(self) -> dict[tuple[str, ...], Row]:
        """The rows that were chosen (`bind`), by the names of the formats of attributes and arguments."""
        return {}

    def position(self, argument: str) -> int:
        """The place of an argument among the inputs, or among the outputs."""
        side = self.inputs if any(a.name == argument for a in self.inputs) else self.outputs
        return [a.name for a in side].index(argument)

    def letters(self, argument: str) -> tuple[str, ...]:
        """The letters of an argument's axes; none where its rank is free."""
        shape = next(a.shape for a in self.arguments if a.name == argument)
        return tuple(shape[1:-1].split(",")) if shape.startswith("[") else ()

    def axes(self, argument: str, *letters: str) -> tuple[int, ...]:
        """The axes of an argument that have these letters."""
        own = self.letters(argument)
        return tuple(own.index(letter) for letter in letters)

    def attribute(self, name: str) -> Attribute:
        return next(a for a in self.attributes if a.name == name)

    def row(self, key: str) -> Row:
        return next(r for r in self.rows if r.key == key)


class Call:
    """One operator with its tensors, seen through its entry.

    `call.N` is a shape letter, `call.pad_top` a named size, `call.axis` an attribute, `call.in_t` a format,
    `call.input_zp` the value of a constant input: an int for the one-element inputs (zero points, MUL's shift), an
    array for the others; None while it isn't constant. `call.tensors["input"]` is the tensor of an argument (a list
    for tensor lists); `call.shape_of("input1")` its shape. `call.region("then_graph")` is the block that an attribute
    names; `call.inner` the call as the entry behind this one sees it (CUSTOM).

    `call.proved` is what a plan knows when it asks a kernel for work: the REQUIREs that hold for all inputs, by label,
    each with the least and the greatest value that is tested (int64, one for each channel or one for all). A kernel
    needn't test them. `call.stands_for` are the operators of the graph that a plan replaces by this one.
    """

    def __init__(
        self, spec: OpSpec, operator: Operator, tensors: dict[str, Any], row: Row | None, graph: Graph | None = None
    ) -> None:
        self.spec, self.operator, self.tensors, self.row, self.graph = spec, operator, tensors, row, graph
        self.names: dict[str, Any] = {}
        self.inner: Call | None = None
        self.proved: Mapping[str, tuple[Array, Array]] = {}
        self.stands_for: tuple[Call, ...] = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["names"][name]
        except KeyError:
            raise AttributeError(f"{self.spec.name} has no '{name}'") from None

    def __getitem__(self, name: str) -> Any:
        return self.names[name]

    def has(self, name: str) -> bool:
        return name in self.names

    def tensor(self, argument: str) -> Tensor:
        tensor: Tensor = self.tensors[argument]
        return tensor

    def shape_of(self, argument: str) -> Shape:
        shape = self.tensor(argument).shape
        assert shape is not None
        return shape

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        weight = self.spec.traits.weight
        return 0 if weight is None else weight.products(self.shape_of(weight.argument), self)

    def region(self, attribute: str) -> Block | None:
        """The block of the region that an attribute names; None where there is none."""
        region = self.graph.region(self.names[attribute]) if self.graph is not None else None
        return region.blocks[0] if region is not None and region.blocks else None

    def constant(self, argument: str) -> Array | None:
        return self.tensor(argument).data

    def tensor_name(self, argument: str) -> str:
        found = self.tensors.get(argument)
        if isinstance(found, list):
            found = found[0] if found else None
        return found.name if found is not None else ""

    def dtype(self, argument: Argument) -> DType:
        """The format that the row (or the fixed type) gives to an argument."""
        if argument.type.removesuffix("_t") in types.BY_NAME:
            return types.BY_NAME[argument.type.removesuffix("_t")]
        assert self.row is not None
        return self.row.types[argument.type]


def _format(argument: Argument, row: Row) -> DType | None:
    fixed = types.BY_NAME.get(argument.type.removesuffix("_t"))
    return row.types.get(argument.type) if fixed is None else fixed


def row(
    mode: str, needs: str, *, letters: Mapping[str, int] | None = None, since: Version = V1_0, **formats: DType
) -> Row:
    """A row; `needs` is like "PRO-INT | PRO-FP" (alternatives) or "EXT-BF16 & EXT-FP8E4M3" (together)."""
    return with_types(mode, needs, formats, letters, since)


def with_types(
    mode: str,
    needs: str,
    formats: Mapping[str, DType],
    letters: Mapping[str, int] | None = None,
    since: Version = V1_0,
) -> Row:
    """`row` for type variables whose names are computed. No row is older than its formats."""
    alternatives = tuple(tuple(n.strip() for n in part.split("&")) for part in needs.split("|"))
    return Row(mode, formats, alternatives, letters or {}, max([since, *(f.since for f in formats.values())]))


def tensor(name: str, type_: str, shape: str, rank: tuple[int, int | None], *, ctc: bool = False) -> Argument:
    return Argument(name, type_, shape, rank, ctc)


def tensor_list(name: str, letters: str) -> Argument:
    """Any number of tensors of any types; `letters` is the name of the list of their shapes. No level bounds ranks."""
    return Argument(name, "tensor_list_t", letters, (0, 32), is_list=True, least=0)


def scalar(name: str, type_: str) -> Argument:
    """A compile-time constant of one element: zero points, shifts, pad constants."""
    return Argument(name, type_, "[1]", (1, 1), ctc=True)


def shape_input(name: str, shape: str) -> Argument:
    """A compile-time constant of type shape_t."""
    return Argument(name, "shape_t", shape, (1, 1), ctc=True)
