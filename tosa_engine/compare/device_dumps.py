"""Dumps in the forms of devices: bare elements whose type and shape the model knows, arrays in another order."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..device import Device
from ..errors import DataError, raise_all
from ..layouts import Form, restore, unpack, wrong_size
from ..serialize.data import ValueProblem
from ..types import count, i8
from .names import Named, line_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from ..arrays import Stored
    from ..graph import Graph, Tensor
    from ..types import Array, DType, Shape


class Held(Protocol):
    """An array that isn't read yet."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> Shape: ...

    def read(self) -> Array: ...


@dataclass(frozen=True)
class Bare:
    """A file of bare elements, which has the right size."""

    path: Path
    tosa_type: DType
    shape: Shape
    form: Form

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.tosa_type.storage

    def read(self) -> Array:
        try:
            return unpack(self.path.read_bytes(), self.tosa_type, self.shape, self.form)
        except ValueProblem as problem:
            raise DataError(f"{self.path}: {problem}", label="DATA.bin") from problem


@dataclass(frozen=True)
class Restored:
    """An array whose elements lie in the order of a form."""

    stored: Stored
    shape: Shape
    form: Form

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.stored.dtype

    def read(self) -> Array:
        return restore(self.stored.read(), self.shape, self.form)


@dataclass(frozen=True)
class Reading:
    """How the files of a dump are read: `graphs` are the models that it may be a dump of, the likeliest first;
    `mapping` are their tensors by the dump's names.
    """

    device: Device = field(default_factory=Device)
    graphs: Sequence[Graph] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)

    def read(self, found: Mapping[str, Path | Stored], *, single: bool = False) -> dict[str, Held]:
        """The arrays by name; by that of the model where the device's description says it, and where a `single` file
        isn't called like a tensor.

        Raises DataError for files of a wrong size, all of them.
        """
        result: dict[str, Held] = {}
        problems: list[DataError] = []
        meant = self._partners(found) if self._asks(found, single=single) else {}
        for name, one in found.items():
            key = self.device.entry(name).tensor or name
            candidates = meant.get(name, [])
            if single and not candidates:
                key, candidates = self._output(name, one)
            try:
                result[key] = self._one(name, one, candidates)
            except DataError as problem:
                problems.append(problem)
        raise_all(problems)
        return result

    def _asks(self, found: Mapping[str, Path | Stored], *, single: bool) -> bool:
        """Whether it matters what the models have under the dump's names."""
        return single or self.device.given or any(isinstance(one, Path) for one in found.values())

    def _one(self, name: str, one: Path | Stored, candidates: Sequence[Tensor]) -> Held:
        entry = self.device.entry(name)
        forms = [(entry.dtype or t.dtype, t.shape if entry.shape is None else entry.shape) for t in candidates]
        if not forms and entry.dtype is not None and entry.shape is not None:
            forms = [(entry.dtype, entry.shape)]
        known = [(dtype, shape) for dtype, shape in forms if shape is not None]
        if isinstance(one, Path):
            return bare(one, known, entry.form)
        return self._array(one, [shape for _, shape in known], entry.form)

    def _array(self, one: Stored, shapes: Sequence[Shape], form: Form) -> Held:
        """An array as it is, unless it has the axes of a form or none: then its elements lie in that order."""
        if not self.device.given:
            return one
        for shape in shapes:
            lies = form.stored(shape)
            if lies != shape and one.shape in (lies, (count(lies),)):
                return Restored(one, shape, form)
        if shapes and len(one.shape) == 1 and count(one.shape) not in map(count, shapes):
            lies = form.stored(shapes[0])
            wanted = f"{list(shapes[0])} lies as {form.name(shapes[0])} {list(lies)}, {count(lies)} elements"
            raise DataError(f"{one.header.where}: {wanted}, the array has {count(one.shape)}", label="DATA.npy")
        return one

    def _partners(self, found: Mapping[str, Path | Stored]) -> dict[str, list[Tensor]]:
        """By the dump's names the tensors that models have for them, the likeliest first."""
        result: dict[str, list[Tensor]] = {}
        for graph in self.graphs:
            tensors = graph.main.tensors
            said = {name: self.device.entry(name).tensor or self.mapping.get(name, "") for name in found}
            pairs = {name: tensor for name, tensor in said.items() if tensor in tensors}
            pairs |= _by_name(graph, [name for name in found if not said[name]])
            for name, tensor in pairs.items():
                result.setdefault(name, []).append(tensors[tensor])
        unknown = {name: self.device.entry(name).tensor for name in found if name not in result}
        wrong = [f"no model has a tensor '{its}', which '{name}' is said to be" for name, its in unknown.items() if its]
        raise_all([DataError(one) for one in wrong if self.graphs])
        return result

    def _output(self, name: str, one: Path | Stored) -> tuple[str, list[Tensor]]:
        """The output that a single file is: the only one, or the only one of its size."""
        if not self.graphs:
            return "array", []
        outputs = self.graphs[0].outputs
        if len(outputs) == 1:
            return outputs[0].name, outputs
        form = self.device.entry(name).form
        fits = [t for t in outputs if _fits(one, t, form)]
        if len(fits) != 1:
            names = ", ".join(f"'{t.name}'" for t in outputs)
            raise DataError(f"{name}: which of the outputs {names} is this? Name the file like it, or give --map")
        return fits[0].name, fits


def _fits(one: Path | Stored, tensor: Tensor, form: Form) -> bool:
    shape = tensor.shape or ()
    if isinstance(one, Path):
        return one.stat().st_size == form.size(tensor.dtype, shape)
    return count(one.shape) in (count(shape), count(form.stored(shape)))


def bare(path: Path, forms: Sequence[tuple[DType, Shape]], form: Form) -> Bare:
    """The first form that has the file's size; bytes, where nobody knows what it is."""
    size = path.stat().st_size
    for dtype, shape in forms or [(i8, (size,))]:
        if form.size(dtype, shape) == size:
            return Bare(path, dtype, shape, form)
    dtype, shape = forms[0]
    raise DataError(f"{path}: {wrong_size(dtype, shape, form, size)}", label="DATA.bin")


def _by_name(graph: Graph, names: Sequence[str]) -> dict[str, str]:
    """The dump's names that are those of the model's tensors, as a comparison lines them up."""
    here = [
        Named(t.name, t.shape or (), (t.source_name,) if t.source_name else (), t.dtype.storage)
        for t in graph.main.tensors.values()
        if t.data is None
    ]
    try:
        found = line_up(here, [Named(name, ()) for name in names])
    except DataError:  # no name of a model's tensor is among them
        return {}
    return {other: name for name, other in found.pairs}
