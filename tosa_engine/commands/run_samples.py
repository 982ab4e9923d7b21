"""`tosa-engine run --data`: many samples, whose outputs are stacked along the first axis."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError, UsageError
from ..text import say

if TYPE_CHECKING:
    import argparse

    from ..graph import Graph
    from ..runtime.ports import Port
    from ..runtime.session import Session
    from ..types import Array
    from .run_corners import Corners


def check(args: argparse.Namespace) -> None:
    """Raise UsageError for flags that are about one run where there are several, or the other way round."""
    from .samples import check_data

    check_data(args)
    if not (args.data or args.random):
        return
    if args.data and args.random:
        raise UsageError("the samples are those of --data or --random, not of both")
    for flag, value in (
        ("-i", args.input),
        ("--dump-intermediates", args.dump_intermediates),
        ("--device", args.device),
        ("--vectors", args.vectors),
    ):
        if value:
            raise UsageError(f"{flag} is for a single run; --data and --random give samples")


class ManyRuns:
    """The runs of all samples, each of which the model sees alone. `ports`: what comes out."""

    def __init__(self, args: argparse.Namespace, session: Session, graph: Graph, corners: Corners | None) -> None:
        from .samples import samples_of

        self._session, self._output, self._corners = session, args.output, corners
        self._samples = samples_of(args, graph, integers=True)
        self.total = min(self._samples.total, args.samples or self._samples.total)
        self.ports = [_stacked(port, self.total) for port in session.outputs]

    def run(self) -> dict[str, Array]:
        """The outputs by name. After an interrupt those of the samples that were done are written beside the output.

        Raises DataError where the outputs don't fit into memory, and for a bad sample, with its number.
        """
        import numpy as np
        from tqdm import tqdm

        from ..memory import allowed, refuse_more
        from ..types import count

        size = sum(count(port.shape) * port.dtype.itemsize for port in self.ports)
        refuse_more(size, f"the outputs of {self.total:,} samples take {size:,} bytes", allowed())
        found = {port.name: np.zeros(port.shape, port.dtype) for port in self.ports}
        done = 0
        try:
            with tqdm(total=self.total, desc="run", unit="sample", disable=None) as bar:  # None: on terminals alone
                for number, sample in self._samples.read(range(self.total)):
                    for port, output in zip(self.ports, self._one(number, sample), strict=True):
                        found[port.name][number] = output.reshape(port.shape[1:])
                    done += 1
                    bar.update(1)
        except KeyboardInterrupt:
            if self._output and done:
                self._keep({name: array[:done] for name, array in found.items()}, done)
            raise
        return found

    def _one(self, number: int, sample: dict[str, Array]) -> list[Array]:
        from ..runtime.real import stored

        try:
            probes = None if self._corners is None else [self._corners.probe]
            found = self._session.run(None, stored(self._session.inputs, sample), probes=probes)
        except DataError as problem:
            message = f"sample {number}: {problem.message}"
            raise DataError(message, label=problem.label, tensor=problem.tensor) from None
        if self._corners is not None:
            self._corners.finish()
        return found

    def _keep(self, arrays: dict[str, Array], done: int) -> None:
        from ..arrays import write

        path = Path(self._output)
        path = path.with_name(f"{path.stem}.part{path.suffix}")
        write(path, arrays)
        say(f"{path}: the outputs of the first {done} of {self.total} samples", file=sys.stderr)


def _stacked(port: Port, total: int) -> Port:
    """The outputs of all samples, as calibration data are: samples in the place of a batch axis of 1, or before all."""
    rest = port.shape[1:] if port.shape[:1] == (1,) else port.shape
    return replace(port, shape=(total, *rest))
