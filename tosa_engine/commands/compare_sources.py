"""What `compare` puts beside each other: the sides of its command line, sample by sample."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..compare.device_dumps import Reading
from ..compare.dumps import is_dump, open_dump
from ..compare.sides import Model, Side, missing_inputs, read_model
from ..device import describe
from ..errors import DataError, UsageError, raise_all
from ..feeds import wrong_form
from ..formats import read_hints
from ..types import count
from .common import format_options, open_source
from .feeds import find_feeds, read_elements
from .samples import check_data, samples_of
from .told import warn

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..arrays import Stored
    from ..compare.device_dumps import Held
    from ..compare.dumps import Dumped
    from ..device import Device
    from ..graph import Graph, QParams, Tensor
    from ..samples.arrays import Samples
    from ..types import Array


class Sources:
    """Models, dumps and inputs of a command line. `numbers` are the samples that are looked at.

    Inputs come from `-i`, from `--data` or `--random`, and where these don't give them from the dumps.

    Raises OSError, UsageError and DataError for what doesn't go together.
    """

    def __init__(self, args: argparse.Namespace, mapping: Mapping[str, str]) -> None:
        if args.input and (args.data or args.random):
            raise UsageError("-i and --data or --random both say what the inputs are: give one of them")
        if args.data and args.random:
            raise UsageError("--data and --random both say what the inputs are: give one of them")
        check_data(args, counted=True)
        quant = read_hints(args.quant, **format_options(args)) if args.quant is not None else {}
        self.paths: list[str] = args.sides
        dumps = dict.fromkeys(path for path in self.paths if is_dump(path))
        self._models = {path: _model(args, path, quant) for path in dict.fromkeys(self.paths) if path not in dumps}
        device = describe(args.device, layout=args.layout, channels=args.channels, endian=args.endian)
        self._dumps = {path: open_dump(path, self._reading(path, device, mapping)) for path in dumps}
        graphs = [model.graph for model in self._models.values()]
        self._fixed = _arrays(args.input, graphs, device)
        self._data = _data(args, graphs) if args.data or args.random else []
        self.total = self._counted()
        self.numbers = _numbers(args, self.total)
        for path, dump in self._dumps.items():
            if dump.parts and len(dump.parts) <= self.numbers[-1]:
                samples = f"{len(self.numbers)} samples" if args.sample is None else f"sample {args.sample}"
                raise DataError(f"{path}: {len(dump.parts)} dumps, one per sample, don't go with {samples}")
        self._alone = len(self.numbers) == 1

    def _reading(self, path: str, device: Device, mapping: Mapping[str, str]) -> Reading:
        """How a dump is read: most likely it is of the model before it, or of the next one."""
        at = self.paths.index(path)
        near = sorted(self._models, key=lambda p: (self.paths.index(p) > at, abs(self.paths.index(p) - at)))
        return Reading(device, [self._models[p].graph for p in near], mapping)

    def sides(self, numbers: Iterable[int]) -> Iterator[tuple[int, list[Side]]]:
        """The sides for each of these samples, which ascend; one sample in memory at a time."""
        chosen = list(numbers)
        totals = {self.total, len(self.numbers)} - {1}
        streams = [data.read(chosen) for data in self._data]
        for number in chosen:
            dumped = {path: dump.sample(number, totals, alone=self._alone) for path, dump in self._dumps.items()}
            given = dict(self._fixed)
            for stream in streams:
                given |= next(stream)[1]
            given |= self._from_dumps(given, dumped.values())
            ran = {path: model.run(given) for path, model in self._models.items()}
            yield number, [Side(p, dumped[p]) if p in dumped else ran[p] for p in self.paths]

    def _from_dumps(self, given: Mapping[str, Array], dumps: Iterable[Dumped]) -> dict[str, Array]:
        """The models' inputs that nothing else gives, out of the first dump that has them.

        Raises DataError for one of another size, before it is read.
        """
        found: dict[str, Array] = {}
        for tensor in (t for model in self._models.values() for t in model.graph.inputs):
            names = (tensor.name, tensor.source_name)
            have = [(name, dump) for name in names for dump in dumps if name in dump]
            if any(name in given or name in found for name in names) or not have:
                continue
            name, dump = have[0]
            if count(dump.shape(name)) != tensor.size:
                wrong = wrong_form(tensor.dtype, tensor.shape or (), dump.dtype(name), dump.shape(name))
                raise DataError(wrong, tensor=tensor.name)
            found[name] = dump[name]
        return found

    def _counted(self) -> int:
        """How many samples there are: by --data, else by what is dumped."""
        counts = {path: len(dump.parts) for path, dump in self._dumps.items() if dump.parts}
        if self._data:
            return self._data[0].total
        if self._fixed:
            return 1
        if not counts:
            counts = {path: n for path, dump in self._dumps.items() if (n := self._stacked(dump.stacked, dump.whole))}
        if len(set(counts.values())) > 1:
            raise DataError("the dumps are of different numbers of samples: " + _each(counts))
        return next(iter(counts.values()), 1)

    def _stacked(self, length: int, arrays: Mapping[str, Held]) -> int:
        """How many samples a dump has, by an input in it that is that many times a model's input; 0 where none is."""
        inputs = [t for model in self._models.values() for t in model.graph.inputs if t.name in arrays]
        fits = [count(arrays[t.name].shape) == length * (t.size or 0) for t in inputs]
        return length if length and fits and all(fits) else 0


def _model(args: argparse.Namespace, path: str, quant: Mapping[str, QParams]) -> Model:
    source = open_source(args, path)
    graph = read_model(source, quant)
    warn(source.warnings)
    return Model(path, graph, args.assume)


def _each(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{path} {number}" for path, number in counts.items())


def _numbers(args: argparse.Namespace, total: int) -> Sequence[int]:
    if args.sample is not None:
        if args.samples is not None:
            raise UsageError("--sample is one of them, --samples says how many: give one of them")
        if args.sample >= total:
            samples = "1 sample" if total == 1 else f"{total} samples"
            raise UsageError(f"--sample {args.sample}: there are {samples}, counted from 0")
        return [args.sample]
    return range(total if args.samples is None else min(args.samples, total))


def _arrays(given: Sequence[str], graphs: Sequence[Graph], device: Device) -> dict[str, Array]:
    """What -i gives. Bare elements are of the first model in whose input they fit."""
    arrays: dict[str, Array] = {}
    wrong: dict[str, DataError] = {}
    for graph in graphs if given else ():
        found = find_feeds(given, [t.name for t in graph.inputs], [t.name for t in graph.outputs])
        for tensor in graph.inputs:
            one = found[tensor.name]
            if not isinstance(one, Path):
                arrays[tensor.name] = _whole(one, tensor)
            elif tensor.name not in arrays:
                try:
                    arrays[tensor.name] = read_elements(
                        one, tensor.name, tensor.dtype, tensor.shape or (), device.entry(tensor.name).form
                    )
                except DataError as problem:
                    wrong.setdefault(tensor.name, problem)
    raise_all([problem for name, problem in wrong.items() if name not in arrays])
    return arrays


def _whole(one: Stored, tensor: Tensor) -> Array:
    """The array for an input, which may have another shape with as many elements, and another type."""
    if count(one.shape) != tensor.size:
        raise DataError(wrong_form(tensor.dtype, tensor.shape or (), one.dtype, one.shape), tensor=tensor.name)
    return one.read()


def _data(args: argparse.Namespace, graphs: Sequence[Graph]) -> list[Samples]:
    """The samples for each model whose inputs the ones before it don't have."""
    found: list[Samples] = []
    names: set[str] = set()
    for graph in graphs:
        if missing_inputs(graph, names):
            found.append(samples_of(args, graph, integers=True))
            names |= {t.name for t in graph.inputs}
    return found
