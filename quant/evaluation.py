"""A whole data set through a model: its metric, and a hash of its outputs."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine.cluster import Completion, connected
from tosa_engine.errors import DataError
from tosa_engine.memory import allowed, limited
from tosa_engine.runtime.real import real, stored
from tosa_engine.runtime.session import Session

from .calibration.distributed import CHUNK
from .metrics import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tosa_engine.cluster import Workers
    from tosa_engine.graph import Graph
    from tosa_engine.journal import Journal
    from tosa_engine.runtime.ports import Port
    from tosa_engine.samples.arrays import Samples
    from tosa_engine.types import Array

    from .metrics import Metric, Targets

    Outputs = list[Array]


@dataclass(frozen=True)
class Evaluation:
    """`sha256` is of the outputs of all samples in their order, by name, type, shape and bytes: those of integer
    outputs are the same on every machine. `integers` says whether all outputs are integers.
    """

    samples: int
    sha256: str
    integers: bool
    reading: Reading | None = None


class Evaluator:
    """A model on samples of real numbers or of its own integers; `numbers` are those that count.

    Raises DataError where there are fewer targets than samples.
    """

    def __init__(
        self,
        graph: Graph,
        samples: Samples,
        numbers: Sequence[int],
        metric: Metric | None = None,
        targets: Targets | None = None,
        threads: int | None = None,
    ) -> None:
        self.graph, self.samples, self.numbers = graph, samples, numbers
        self.metric, self.targets = metric, targets
        self._session = Session(graph, threads)
        if targets is not None and len(targets) <= max(numbers, default=-1):
            raise DataError(f"{targets.source}: {len(targets)} targets for {max(numbers) + 1} samples")

    def missing(self, journal: Journal) -> list[int]:
        """The samples whose outputs the journal lacks."""
        return [number for number in self.numbers if journal.get(str(number)) is None]

    def run_here(self, journal: Journal) -> Iterator[int]:
        """Run what is missing; yields how many outputs were kept, now and then."""
        for number, outputs in _outputs(self._session, self.samples, self.missing(journal)):
            _keep(journal, number, outputs)
            yield 1

    def run_on_workers(self, journal: Journal, workers: Workers) -> Iterator[int]:
        """The same by dask's workers.

        Raises UsageError without dask.distributed or a scheduler there.
        """
        missing = self.missing(journal)
        with connected(workers) as client:
            shared = client.scatter((self.graph, self.samples), broadcast=True, hash=False)
            chunks = [missing[i : i + CHUNK] for i in range(0, len(missing), CHUNK)]
            futures = [client.submit(_chunk, shared, chunk, allowed(), pure=False, retries=3) for chunk in chunks]
            for found in Completion(futures):
                for number, outputs in found:
                    _keep(journal, number, outputs)
                yield len(found)

    def result(self, journal: Journal) -> Evaluation:
        """Of the outputs that the journal keeps: of all samples."""
        tally = None if self.metric is None else self.metric.tally()
        found = hashlib.sha256()
        ports = self._session.outputs
        for number in self.numbers:
            with journal.reading(str(number)):
                outputs = _kept(journal.get(str(number)), ports)
            for port, array in zip(ports, outputs, strict=True):
                found.update(f"{port.name} {array.dtype.str} {list(array.shape)}\n".encode())
                found.update(np.ascontiguousarray(array).tobytes())
            if tally is not None and self.targets is not None:
                named = {port.name: real(port, array) for port, array in zip(ports, outputs, strict=True)}
                tally.add(named, self.targets[number])
        reading = None if self.metric is None or tally is None else Reading(self.metric.name, tally.value())
        integers = all(not port.tosa_type.is_float for port in ports)
        return Evaluation(len(self.numbers), found.hexdigest(), integers, reading)


def _outputs(session: Session, samples: Samples, numbers: Iterable[int]) -> Iterator[tuple[int, Outputs]]:
    for number, sample in samples.read(numbers):
        try:
            yield number, session.run(None, stored(session.inputs, sample))
        except DataError as problem:
            raise DataError(f"sample {number}: {problem.message}", label=problem.label, tensor=problem.tensor) from None


def _chunk(shared: tuple[Graph, Samples], numbers: Sequence[int], most: int | None) -> list[tuple[int, Outputs]]:
    """In a worker."""
    graph, samples = shared
    with limited(most):
        return list(_outputs(Session(graph, 1), samples, numbers))


def _keep(journal: Journal, number: int, outputs: Outputs) -> None:
    journal.put(str(number), [base64.b64encode(np.ascontiguousarray(array).tobytes()).decode() for array in outputs])


def _kept(content: Any, ports: Sequence[Port]) -> Outputs:
    arrays = [np.frombuffer(base64.b64decode(text), port.dtype) for text, port in zip(content, ports, strict=True)]
    return [array.reshape(port.shape) for array, port in zip(arrays, ports, strict=True)]
