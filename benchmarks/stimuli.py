"""What directed stimuli reach, by depth: python benchmarks/stimuli.py MODELS [NAME...] [--budget 60] [--record]

MODELS has `tosa/NAME.int8/` with `model.tosa` and a recorded case `real`, `perf/unet_64` with `int8_qdq.onnx` and
`float_io.npz`, and `digits`. The ordinary samples are 16: the recorded one rolled along its axes, or test images.

- *goals*: of all layers, as `tosa-engine stimuli` counts them: met by the ordinary samples, and in the end; then the
  share that is met in the end in each quarter of the layers, in execution order.
- *multiplier + 1*: RESCALEs whose result of any sample differs where all their multipliers are one more: with the
  ordinary samples, and with those of the search.
- *one channel*: the same for each multiplier alone. *can*: multipliers for which a value that `ranges` allows gives
  another result at all, and that isn't none of the few values that a sum of two bytes can have; with all others the
  device computes the same for every input.

Results are computed here in plain integers from the values that RESCALEs read, not by the code of the search.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pages import record

from tosa_engine import Session, cli
from tosa_engine.ranges import analyse
from tosa_engine.runtime.real import stored
from tosa_engine.spec import bind_operator
from tosa_engine.stimuli import Search, layers_of
from tosa_engine.stimuli.values import Values
from tosa_engine.watch import KeptTensors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tosa_engine.graph import Graph

    Array = np.ndarray[Any, np.dtype[Any]]
    Feeds = dict[str, Array]

HEADING = "Directed stimuli"
NETWORKS = ("mobilenet_v2_w100_224", "resnet18_224", "encoder_block_T64_D128", "unet_64", "digits")
HEAD = (
    "network", "runs", "goals", "ordinary", "search", "by quarters of the depth", "multiplier + 1, ordinary", "search",
    "one channel, ordinary", "search", "can",
)  # fmt: skip
SAMPLES, PARTS, MOST_VALUES = 16, 4, 1 << 12


@dataclass(frozen=True)
class Scale:
    """A RESCALE; `tensor` is what it reads."""

    tensor: str
    multiplier: Array
    shift: Array
    zero: int
    low: int
    high: int
    double: bool

    def results(self, value: Array, by: int) -> Array:
        """Of values [..., channels], where multipliers are so many more, without the output's zero point."""
        product = (value - self.zero) * (self.multiplier + by) + self.half(value - self.zero)
        return np.clip(product >> self.shift, self.low, self.high)

    def half(self, value: Array) -> Array:
        """What is added before the shift."""
        half: Array = 1 << (self.shift - 1)
        more = np.where(self.shift > 31, 1 << 30, 0)
        return half + np.where(value >= 0, more, -more) if self.double else half

    def one(self, at: Array) -> Scale:
        """With some of the multipliers, in this order."""
        return replace(self, multiplier=self.multiplier[at], shift=self.shift[at])

    def shows(self, value: Array) -> Array:
        """For each multiplier, whether one of its values (last axis) gives another result with the next one."""
        value = value.reshape(-1, len(self.multiplier))
        by = value - self.zero
        part = by * self.multiplier
        part += self.half(by)
        part &= (1 << self.shift) - 1  # of a step between results
        part += by
        rows, at = np.nonzero(part >> self.shift)
        some = self.one(at)
        changed = some.results(value[rows, at], 0) != some.results(value[rows, at], 1)
        return np.isin(np.arange(len(self.multiplier)), at[changed])


def scales_of(graph: Graph) -> list[Scale]:
    found, written = [], graph.main.producers()
    for op in graph.main.operators:
        if op.op != "RESCALE" or op.inputs[0] not in written or graph.main.tensors[op.inputs[0]].data is not None:
            continue
        call = bind_operator(op, graph.main, graph)
        multiplier, shift, zero, to = map(call.constant, ("multiplier", "shift", "input_zp", "output_zp"))
        if multiplier is None or shift is None or zero is None or to is None or call.input_unsigned:
            continue
        limits = (0, (1 << call.out_t.bits) - 1) if call.output_unsigned else (call.out_t.minimum, call.out_t.maximum)
        low, high = (int(limit) - int(to[0]) for limit in limits)
        double = call.rounding_mode == "DOUBLE_ROUND"
        found.append(
            Scale(op.inputs[0], multiplier.astype(np.int64), shift.astype(np.int64), int(zero[0]), low, high, double)
        )
    return found


def can_show(graph: Graph, scales: Iterable[Scale]) -> int:
    """Multipliers for which a value that is proved to be possible shows the next one."""
    intervals, count = analyse(graph).intervals, 0
    values = Values(graph, intervals)
    for scale in scales:
        spread = intervals[scale.tensor].spread(graph.main.tensors[scale.tensor].shape or (1,))
        low, high = spread.low.reshape(-1), spread.high.reshape(-1)
        for i in range(len(scale.multiplier)):
            alone = len(scale.multiplier) > 1 and len(low) > 1
            ends = (int(low[i]), int(high[i])) if alone else (int(low.min()), int(high.max()))
            one, known = scale.one(np.array([i])), None if alone else values.of(scale.tensor)
            count += bool(one.shows(near_steps(one, *ends) if known is None else known.astype(np.int64)).any())
    return count


def near_steps(scale: Scale, low: int, high: int) -> Array:
    """The values low .. high that may give another result with the next multiplier: all, or those beside the values at
    which results step.
    """
    if high - low < MOST_VALUES:
        return np.arange(low, high + 1)
    first, last = scale.results(np.array([low, high]), 0).tolist()
    steps = np.arange(first, last + 1) * 2.0 ** float(scale.shift[0]) - 2.0 ** float(scale.shift[0] - 1)
    more = (1 << 30) if scale.double and scale.shift[0] > 31 else 0
    at = np.concatenate([np.floor((steps + by) / max(float(scale.multiplier[0]), 1)) for by in (more, -more)]).astype(
        np.int64
    )
    found = np.unique(at[:, None] + np.arange(-2, 3)) + scale.zero
    return found[(found >= low) & (found <= high)]


class Shown:
    """The multipliers that samples have shown, of each RESCALE."""

    def __init__(self, graph: Graph, scales: Sequence[Scale]) -> None:
        self.scales = scales
        self._kept = KeptTensors(graph, sorted({scale.tensor for scale in scales}))
        self.each = [np.zeros(len(scale.multiplier), np.bool_) for scale in scales]

    def add(self, samples: Iterable[Feeds]) -> None:
        for sample in samples:
            values = self._kept.run(sample)
            for scale, each in zip(self.scales, self.each, strict=True):
                each |= scale.shows(values[scale.tensor].astype(np.int64))

    @property
    def count(self) -> tuple[int, int]:
        """RESCALEs with any, multipliers."""
        return sum(bool(each.any()) for each in self.each), sum(int(each.sum()) for each in self.each)


def network(models: Path, name: str, scratch: Path) -> tuple[Graph, list[Feeds]]:
    """An integer network with all shapes, and its ordinary samples."""
    if name == "digits":
        data, folder = models / "digits" / "digits_data.npz", scratch / "data"
        folder.mkdir()
        with np.load(data, allow_pickle=False) as bundle:
            images, calibration = bundle["test_images"][:SAMPLES], bundle["calibration_images"]
        np.save(folder / "calibration.npy", calibration)
        model = scratch / "digits.tosa"
        words = ["quantize", str(models / "digits" / "digits.nnef"), "--data", str(folder / "calibration.npy")]
        assert cli.main([*words, "-o", str(model), "-q"]) == 0
    elif (models / "tosa" / f"{name}.int8").is_dir():
        model = models / "tosa" / f"{name}.int8" / "model.tosa"
        images = rolled(np.load(model.with_name("real_in0.npy"), allow_pickle=False))
    else:
        model = scratch / f"{name}.tosa"
        assert cli.main(["quantize", str(models / "perf" / name / "int8_qdq.onnx"), "-o", str(model), "-q"]) == 0
        with np.load(models / "perf" / name / "float_io.npz", allow_pickle=False) as bundle:
            images = rolled(bundle["in0"])
    session = Session(model, 1)
    (port,) = session.inputs
    samples = [stored([port], {port.name: image.reshape(port.shape)}) for image in images]
    return session.graph, samples


def rolled(image: Array) -> list[Array]:
    sizes = image.shape[-2:]
    return [np.roll(image, (i * sizes[0] // SAMPLES, i * sizes[1] // SAMPLES), (-2, -1)) for i in range(SAMPLES)]


def row(models: Path, name: str, budget: float, seed: int) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        graph, samples = network(models, name, Path(scratch))
    layers = layers_of(graph)
    search = Search(graph, layers, seed)
    search.add(samples)
    search.until = time.monotonic() + budget
    search.run()
    cuts = [len(layers) * i // PARTS for i in range(PARTS + 1)]
    quarters = [layers[a:b] for a, b in pairwise(cuts)]
    scales = scales_of(graph)
    shown = Shown(graph, scales)
    shown.add(samples)
    ordinary = shown.count
    shown.add(search.chosen(None))
    goals, before, after = (
        sum(int(f(layer)) for layer in layers)
        for f in (lambda la: len(la.goals), lambda la: la.met_before.sum(), lambda la: la.met.sum())
    )
    depth = ", ".join(
        f"{sum(la.met.sum() for la in part) / max(1, sum(len(la.goals) for la in part)):.0%}" for part in quarters
    )
    count, every = len(scales), sum(len(scale.multiplier) for scale in scales)
    return [
        name, str(search.runs), f"{goals:,}", f"{before / goals:.1%}", f"{after / goals:.1%}", depth,
        f"{ordinary[0]} of {count}", f"{shown.count[0]}", f"{ordinary[1]} of {every:,}", f"{shown.count[1]}",
        f"{can_show(graph, scales):,}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of the search; default: 60")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="write the table into RESULTS.md")
    args = parser.parse_args()
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    print(*lines, sep="\n", flush=True)
    for name in args.names:
        lines.append(f"| {' | '.join(row(args.models, name, args.budget, args.seed))} |")
        print(lines[-1], flush=True)
    if args.record:
        told = f"`python benchmarks/stimuli.py MODELS --budget {args.budget:g}`, one thread:"
        record(HEADING, "\n".join([told, "", *lines]))


if __name__ == "__main__":
    main()
