"""Each layer of a quantized NNEF document beside LiteRT's reference kernel, given the same inputs.

    python benchmarks/layers.py MODEL.nnef MODEL.tflite BUNDLE.npz [--record LAYERS.npz]

The document runs as integers from its own graph.quant; `in0` of BUNDLE is the input. LiteRT computes all tensors of the
.tflite that the document was made of. A tensor of one and a tensor of the other are the same where type, shape, scale
and zero point agree, in the order of execution. What lies between such tensors is a layer: it gets LiteRT's values and
its result is compared with LiteRT's. The last column is what is left when RESCALE rounds twice (EXT-DOUBLEROUND), as
LiteRT's reference kernels do: 0 says that rounding is the whole difference.

Exit code 1: a layer is more than 1 away.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quant import quantize
from tosa_engine import Session
from tosa_engine.frontends import nnef
from tosa_engine.graph import Block, Graph, Region, copy_operator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from tosa_engine.graph import Operator

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Value:
    """A tensor of LiteRT: the operator that wrote it, its values and its quantization."""

    operator: str
    array: Array
    scale: float
    zero_point: int


@dataclass(frozen=True)
class Row:
    """A layer: its operators, its elements, how many differ, how many by more than 1, the largest distance; and how
    many differ when RESCALE rounds twice, where that was asked.
    """

    name: str
    operators: str
    size: int
    differing: int
    far: int
    most: int
    twice: int | None = None

    @property
    def within(self) -> float:
        """The share of elements that are at most 1 away."""
        return 1 - self.far / self.size


def litert_values(model: Path, x: Array) -> list[Value]:
    """The int8 activations of a .tflite by LiteRT's reference kernels, in the order of execution."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        str(model), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, experimental_preserve_all_tensors=True
    )
    interpreter.allocate_tensors()
    entry = interpreter.get_input_details()[0]["index"]
    interpreter.set_tensor(entry, x)
    interpreter.invoke()
    details = {t["index"]: t for t in interpreter.get_tensor_details()}
    written = [
        ("input", entry),
        *((op["op_name"], out) for op in interpreter._get_ops_details() for out in op["outputs"]),
    ]
    return [
        Value(operator, interpreter.get_tensor(index), float(scale), int(zero_point))
        for operator, index in written
        for scale, zero_point in [details[index]["quantization"]]
        if details[index]["dtype"] is np.int8
    ]


def integer_graph(document: Path) -> Graph:
    """The document as integers, from its own graph.quant."""
    return quantize(nnef.load(document, for_integers=True))


def line_up(graph: Graph, values: Sequence[Value]) -> dict[str, Value]:
    """Tensors of the graph that are tensors of LiteRT, by name, in the order of execution."""
    block = graph.main
    order = [*block.inputs, *(out for op in block.operators for out in op.outputs)]
    found: dict[str, Value] = {}
    readers = block.consumers()
    start = 0
    for value in values:
        for at in range(start, len(order)):
            if _same(graph, order[at], value):
                found[_clamped(graph, order[at], readers)] = value
                start = at + 1
                break
    return found


def _clamped(graph: Graph, name: str, readers: Mapping[str, Sequence[Operator]]) -> str:
    """LiteRT's convolutions clamp their results themselves: the tensor behind a CLAMP that alone reads this one."""
    alone = readers.get(name, [])
    if len(alone) == 1 and alone[0].op == "CLAMP" and name not in graph.main.outputs:
        return alone[0].outputs[0]
    return name


def _same(graph: Graph, name: str, value: Value) -> bool:
    tensor = graph.main.tensors[name]
    if tensor.quant is None or tensor.data is not None or _extents(tensor.shape) != _extents(value.array.shape):
        return False
    return (np.float32(tensor.quant.scale[0]), tensor.quant.zero_point[0]) == (
        np.float32(value.scale),
        value.zero_point,
    )


def _extents(shape: Sequence[int] | None) -> list[int]:
    """Without extents of 1, which a mean over axes keeps or not."""
    return [extent for extent in shape or () if extent != 1]


def layer(graph: Graph, known: Mapping[str, Any], output: str) -> Graph:
    """The operators between the known tensors and one of them, as a graph."""
    block = graph.main
    writers = block.producers()
    wanted, kept = [output], set[int]()
    inputs: dict[str, None] = {}
    while wanted:
        name = wanted.pop()
        operator = writers.get(name)
        if operator is None or (name != output and name in known):
            inputs[name] = None
        elif id(operator) not in kept:
            kept.add(id(operator))
            wanted += operator.inputs
    operators = [copy_operator(op) for op in block.operators if id(op) in kept]
    names = dict.fromkeys(n for op in operators for n in (*op.inputs, *op.outputs))
    tensors = {n: replace(block.tensors[n]) for n in names}
    part = Block("main", [n for n in inputs if n in names], [output], tensors, operators)
    return Graph([Region("main", [part])], graph.version, graph.draft, graph.source)


def rounding_twice(graph: Graph) -> Graph:
    """The same graph with double rounding in every RESCALE by 32-bit multipliers."""
    changed = graph.copy()
    for operator in changed.main.operators:
        if operator.op == "RESCALE" and operator.attributes["scale32"]:
            operator.attributes = {**operator.attributes, "rounding_mode": "DOUBLE_ROUND"}
    return changed


def compare(graph: Graph, arrays: Mapping[str, Array]) -> list[Row]:
    """A row for each layer, given the values of the tensors in `arrays`."""
    rows = []
    for name, expected in arrays.items():
        if name not in graph.main.inputs:
            row, part, feeds = compared(graph, arrays, name)
            twice = _differences(_run(rounding_twice(part), feeds), expected)
            rows.append(replace(row, twice=int(np.count_nonzero(twice))))
    return rows


def compared(graph: Graph, arrays: Mapping[str, Array], name: str) -> tuple[Row, Graph, dict[str, Array]]:
    """The layer that gives the tensor `name`, its graph and what this was fed with."""
    part = layer(graph, arrays, name)
    feeds = {n: arrays[n] for n in part.main.inputs}
    away = _differences(_run(part, feeds), arrays[name])
    operators = [op.op for op in part.main.operators if op.op not in ("CONST", "CONST_SHAPE", "RESCALE")]
    source = graph.main.tensors[name].source
    shown = source.name if source is not None and source.name else name
    far, most = int((away > 1).sum()), int(away.max(initial=0))
    return Row(shown, " ".join(operators), away.size, int(np.count_nonzero(away)), far, most), part, feeds


def _run(graph: Graph, feeds: Mapping[str, Array]) -> Array:
    return Session(graph, threads=1, compiled=True).run(None, dict(feeds))[0]


def _differences(found: Array, expected: Array) -> Array:
    result: Array = np.abs(found.astype(np.int64) - expected)
    return result


def markdown(rows: Sequence[Row]) -> str:
    head = ["layer", "operators", "elements", "differ", "within 1", "most"]
    if rows[0].twice is not None:
        head.append("differ if rounded twice")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in (*rows, total(rows)):
        cells = [row.name, row.operators, f"{row.size:,}", f"{row.differing:,}", f"{100 * row.within:.3f} %"]
        cells += [str(row.most)] + ([] if row.twice is None else [f"{row.twice:,}"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def total(rows: Sequence[Row]) -> Row:
    sums = [sum(values) for values in zip(*((r.size, r.differing, r.far) for r in rows), strict=True)]
    twice = [row.twice for row in rows if row.twice is not None]
    return Row("all layers", "", *sums, max(r.most for r in rows), sum(twice) if twice else None)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("document", type=Path, metavar="MODEL.nnef")
    parser.add_argument("model", type=Path, metavar="MODEL.tflite")
    parser.add_argument("bundle", type=Path, metavar="BUNDLE.npz")
    parser.add_argument("--record", type=Path, metavar="LAYERS.npz", help="write LiteRT's tensors, by our names")
    args = parser.parse_args(words)
    with np.load(args.bundle) as bundle:
        x = bundle["in0"]
    graph = integer_graph(args.document)
    values = litert_values(args.model, x)
    found = line_up(graph, values)
    arrays = {name: value.array.reshape(graph.main.tensors[name].shape or ()) for name, value in found.items()}
    if args.record:
        np.savez_compressed(args.record, **arrays)
    rows = compare(graph, arrays)
    print(markdown(rows))
    for how, whole in (("one rounding", graph), ("rounded twice", rounding_twice(graph))):
        differences = _differences(_run(whole, {graph.main.inputs[0]: x}), values[-1].array)
        share = 100 * np.count_nonzero(differences) / differences.size
        print(
            f"whole network, {how}: {share:.1f} % of {differences.size} outputs differ, by at most {differences.max()}"
        )
    return int(total(rows).most > 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
