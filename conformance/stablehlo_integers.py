"""The quantized tests of openxla/stablehlo as integers: `quant.quantize` of their scales, beside what they expect.

    python conformance/stablehlo_integers.py CHECKOUT

A line for each operation: its tests, how many differ by at most 1 in every element, and the share of equal elements.
Weights are constants, everything else is an input; nothing is calibrated. The exit code is 1 where an element differs
by more than 1. NaN is stored as 0, which is what the reference interpreter makes of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import stablehlo

import quant
from tosa_engine import oracle
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends.stablehlo.mapping import ModuleMapper
from tosa_engine.frontends.stablehlo.module import Body, Function, Operation
from tosa_engine.frontends.stablehlo.reading import Process
from tosa_engine.passes import run_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tosa_engine.frontends.stablehlo.module import Module
    from tosa_engine.graph import Graph

PRODUCTS = ("stablehlo.convolution", "stablehlo.dot_general", "stablehlo.dot")
AROUND = ("stablehlo.constant", "stablehlo.custom_call", "func.return", "stablehlo.uniform_quantize")


@dataclass
class Found:
    """A test: its operation, the largest difference in steps of the scale, and the shares of equal elements."""

    name: str
    operation: str
    worst: float = 0.0
    equal: float = 0.0
    elements: int = 0
    refused: str = ""


def parts(module: Module) -> tuple[Function, dict[str, np.ndarray], np.ndarray]:
    """The function of a test with its data as inputs, these, and what is expected."""
    main = module.main
    ops = main.body.operations
    (check,) = [op for op in ops if str(op.attributes.get("call_target_name", "")).startswith("check.")]
    constants = {op.results[0][0]: op for op in ops if op.name == "stablehlo.constant"}
    wanted, value = check.operands if check.operands[0] in constants else check.operands[::-1]
    makers = {number: op for op in ops for number, _ in op.results}
    weights = {_origin(makers, op.operands[1]) for op in ops if op.name in PRODUCTS}
    free = [n for n, op in constants.items() if n != wanted and n not in weights and _is_float(op)]
    kept = [op for op in ops if op not in (check, *(constants[n] for n in (*free, wanted)))]
    end = ops[-1]
    kept[-1] = Operation(end.name, [value], [], end.attributes, [])
    arguments = [constants[n].results[0] for n in free]
    function = Function([f"input{i}" for i in range(len(free))], [], Body(arguments, kept))
    data = {f"input{i}": np.asarray(constants[n].attributes["value"]) for i, n in enumerate(free)}
    return function, data, np.asarray(constants[wanted].attributes["value"])


def _is_float(op: Operation) -> bool:
    element = op.results[0][1].element
    return element is not None and element.is_float


def _origin(makers: dict[int, Operation], number: int) -> int:
    while makers[number].operands:
        number = makers[number].operands[0]
    return number


def integers_of(module: Module, function: Function, name: str) -> Graph:
    made = replace(module, functions={**module.functions, module.entry: function})
    graph = ModuleMapper(made, name, for_integers=True).graph()
    graph.quantized = True
    return quant.quantize(run_pipeline(graph))


def judged(process: Process, path: Path) -> Found:
    module = process.read(path, quantized=True)
    names = [op.name for op in module.main.body.operations if op.name not in AROUND]
    found = Found(path.stem, next((n for n in names if "uniform" not in n), names[0]).partition(".")[2])
    try:
        function, data, wanted = parts(module)
        graph = integers_of(module, function, path.stem)
    except TosaEngineError as problem:
        found.refused = str(problem).splitlines()[0]
        return found
    feeds: dict[str, Any] = {}
    for port in graph.inputs:
        feeds[port.name] = _stored(data[port.name], graph.main.tensors[port.name])
    (result,) = oracle.run(graph, feeds).values()
    (output,) = graph.main.outputs
    target = _stored(wanted, graph.main.tensors[output]).astype(np.float64)
    apart = np.abs(np.asarray(result, np.float64) - target)
    found.worst, found.equal, found.elements = float(apart.max()), float((apart == 0).mean()), apart.size
    return found


def _stored(real: np.ndarray, tensor: Any) -> np.ndarray:
    """Real numbers as a port's integers, halves to even as uniform_quantize rounds them."""
    q = tensor.quant
    if q is None or not tensor.dtype.is_int:
        return real.astype(tensor.dtype.storage)
    scale, zero = (np.asarray(one, np.float64) for one in (q.scale, q.zero_point))
    if q.axis is not None:
        shape = [-1 if i == q.axis else 1 for i in range(real.ndim)]
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    info = np.iinfo(tensor.dtype.storage)
    exact = np.rint((real.astype(np.float32) / scale.astype(np.float32)).astype(np.float64)) + zero
    found: np.ndarray = np.nan_to_num(np.clip(exact, info.min, info.max), nan=0.0).astype(tensor.dtype.storage)
    return found


def measured(checkout: Path) -> list[Found]:
    """All tests with quantized types."""
    with Process() as process, tempfile.TemporaryDirectory() as folder:
        return [
            judged(process, case.path)
            for case in stablehlo.cases(checkout, ["quantized"], Path(folder))
            if "!quant.uniform" in case.path.read_text(encoding="utf-8")
        ]


def rows(tests: Sequence[Found]) -> Iterator[tuple[str, int, int, str]]:
    """Of each operation its tests, how many are within 1, and the share of equal elements."""
    for name in sorted({one.operation for one in tests}):
        mine = [one for one in tests if one.operation == name]
        near = sum(not one.refused and one.worst <= 1 for one in mine)
        share = sum(one.equal * one.elements for one in mine) / max(sum(one.elements for one in mine), 1)
        yield name, len(mine), near, f"{share:.2%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("checkout", type=Path, help="a checkout of openxla/stablehlo")
    tests = measured(parser.parse_args().checkout)
    for one in tests:
        if one.worst > 1 or one.refused:
            print(f"{one.name}: {one.refused or f'{one.worst:.0f} apart, {one.equal:.2%} equal'}")
    for name, count, near, share in rows(tests):
        print(f"{name}: {near} of {count} within 1, {share} equal")
    near = sum(not one.refused and one.worst <= 1 for one in tests)
    print(f"{near} of {len(tests)} within 1")
    return 0 if near == len(tests) else 1


if __name__ == "__main__":
    sys.exit(main())
