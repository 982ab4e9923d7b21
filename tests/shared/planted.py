"""Engines with a planted fault: the reference model, or the oracle, behind a wrapper that changes one operator.

    tosa-engine comply --engine planted:negative_ties     (with this folder on the path, and tosa-tools installed)

A fault is a function of an operator's call and its inputs; it gives other outputs, or None where it does nothing.
"""

from __future__ import annotations

import functools
import importlib
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import arrays, check, oracle, serialize, types
from tosa_engine.compare.rounding import half_away
from tosa_engine.compliance.doors import Answer, Ending
from tosa_engine.errors import GraphError, RequireViolation, TosaEngineError, verdict_of
from tosa_engine.infer import infer
from tosa_engine.spec import bind_operator
from tosa_engine.types import i8

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.graph import Graph
    from tosa_engine.spec.table import Call
    from tosa_engine.types import Array

    Inputs = dict[str, Any]
    Fault = Callable[[Call, Inputs, Graph], "list[Array] | None"]

UNREPORTED = "CONCAT.E3"
SECONDS = 30


def _again(call: Call, inputs: Inputs, attributes: dict[str, Any] | None = None, **changed: Any) -> list[Array] | None:
    """The operator with other inputs, by the oracle."""
    from tosa_engine.compare.trial import _alone

    try:
        graph, feeds = _alone(call, inputs | changed, attributes or {})
        return [oracle.run(graph, feeds)[graph.main.outputs[0]]]
    except TosaEngineError:
        return None


def _scaled(call: Call, inputs: Inputs) -> tuple[Any, ...]:
    """Value, multiplier, shift, output zero point and ends of a RESCALE of signed numbers; None of others."""
    value = inputs["input"].astype(np.int64) - int(inputs["input_zp"][0])
    multiplier, shift = (inputs[name].astype(np.int64) for name in ("multiplier", "shift"))
    return value, multiplier, shift, int(inputs["output_zp"][0])


def _negative_ties(call: Call, inputs: Inputs, graph: Graph) -> list[Array] | None:
    """RESCALE: ties of negative numbers go away from zero."""
    if call.spec.name != "RESCALE" or call.rounding_mode != "SINGLE_ROUND":
        return None
    if call.input_unsigned or call.output_unsigned:
        return None
    value, multiplier, shift, zero = _scaled(call, inputs)
    found = np.clip(half_away(value, multiplier, shift) + zero, call.out_t.minimum, call.out_t.maximum)
    return [found.astype(call.out_t.storage)]


def _one_channel(call: Call, inputs: Inputs, graph: Graph) -> list[Array] | None:
    """RESCALE: the multiplier of channel 1 is one too large."""
    if call.spec.name != "RESCALE" or not call.per_channel or inputs["multiplier"].size < 2:
        return None
    multiplier = inputs["multiplier"].copy()
    multiplier[1] += 1 if multiplier[1] < np.iinfo(multiplier.dtype).max else 0
    return _again(call, inputs, multiplier=multiplier)


def _pool_zero_point(call: Call, inputs: Inputs, graph: Graph) -> list[Array] | None:
    """AVG_POOL2D: the input's zero point is left out."""
    if call.spec.name != "AVG_POOL2D" or call.in_out_t is not i8:
        return None
    return _again(call, inputs, input_zp=np.zeros_like(inputs["input_zp"]))


def _resize_off_by_one(call: Call, inputs: Inputs, graph: Graph) -> list[Array] | None:
    """RESIZE: places along x are one step of the scale too far."""
    if call.spec.name != "RESIZE" or call.in_t.is_float:
        return None
    step = np.array([0, 1])
    return _again(call, inputs, offset=inputs["offset"] + step, border=inputs["border"] + step)


def _wraps_before_clamp(call: Call, inputs: Inputs, graph: Graph) -> list[Array] | None:
    """RESCALE that a CLAMP follows: the low bits in place of saturation."""
    name = call.operator.outputs[0]
    followed = any(op.op == "CLAMP" and name in op.inputs for op in graph.main.operators)
    if call.spec.name != "RESCALE" or not followed or call.input_unsigned or call.output_unsigned:
        return None
    value, multiplier, shift, zero = _scaled(call, inputs)
    if call.rounding_mode != "SINGLE_ROUND":
        return None
    found = ((value * multiplier + (np.int64(1) << (shift - 1))) >> shift) + zero
    return [found.astype(call.out_t.storage)]


def _hangs(call: Call, inputs: Inputs, graph: Graph) -> list[Array] | None:
    """MATMUL whose sums have 7 terms never ends."""
    if call.spec.name == "MATMUL" and inputs["A"].shape[2] == 7:
        time.sleep(3600)
    return None


FAULTS: dict[str, Fault] = {
    "negative_ties": _negative_ties, "one_channel": _one_channel, "pool_zero_point": _pool_zero_point,
    "resize_off_by_one": _resize_off_by_one, "wraps_before_clamp": _wraps_before_clamp, "hangs": _hangs,
}  # fmt: skip


def by_oracle(graph: Graph, feeds: Mapping[str, Array]) -> dict[str, Array]:
    check.validate(graph)
    return oracle.run(graph, feeds)


@functools.cache
def program() -> str:
    files = importlib.import_module("conformance.model_files")
    return str(files.find_tosa_file(files.TosaFileType.REF_MODEL, None, False))


def by_reference(graph: Graph, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The reference model's program; its exit code is raised as the error that it stands for."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        serialize.write(graph, folder / "graph.tosa")
        names, outputs = graph.main.inputs, graph.main.outputs
        for i, name in enumerate(names):
            arrays.write(folder / f"in{i}.npy", {name: feeds[name]})
        description = {
            "tosa_file": "graph.tosa", "expected_failure": False, "ifm_name": names, "ofm_name": outputs,
            "ifm_file": [f"in{i}.npy" for i in range(len(names))],
            "ofm_file": [f"out{i}.npy" for i in range(len(outputs))],
        }  # fmt: skip
        (folder / "desc.json").write_text(json.dumps(description), encoding="utf-8")
        words = [program(), f"--test_desc={folder / 'desc.json'}"]
        done = subprocess.run(words, capture_output=True, check=False, timeout=SECONDS, env={})
        if done.returncode == 1:
            raise RequireViolation("the reference model says so", label="REFERENCE")
        if done.returncode == 2:
            raise GraphError("the reference model says so")
        if done.returncode:
            raise ChildProcessError(f"exit code {done.returncode}")
        found = {}
        for i, tensor in enumerate(graph.outputs):
            stored = types.of_bits(np.load(folder / f"out{i}.npy"), tensor.dtype)
            found[tensor.name] = stored.reshape(tensor.shape or ())
        return found


def faulty(graph: Graph, feeds: Mapping[str, Array], fault: str, engine: Any = by_reference) -> dict[str, Array]:
    """The graph on an engine, with the fault in every operator that it concerns: what comes behind is run again."""
    if fault == "unreported" and any(one.label == UNREPORTED for one in check.check(graph)):
        return {t.name: np.zeros(t.shape or (), t.dtype.storage) for t in graph.outputs}
    if fault not in FAULTS or check.check(graph):
        return engine(graph, feeds)
    opened, values = graph.copy(), dict(feeds)
    infer(opened)
    main, done = opened.main, set[int]()
    main.outputs = list(dict.fromkeys([*main.outputs, *(n for op in main.operators if op.inputs for n in op.outputs)]))
    values |= {t.name: t.data for t in main.tensors.values() if t.data is not None}
    values |= engine(opened, feeds)
    given = dict(feeds)
    for op in [op for op in main.operators if op.inputs]:
        call = bind_operator(op, main, opened)
        if len(op.outputs) != 1 or not call.spec.pure:
            continue
        inputs = {}
        for argument in call.spec.inputs:
            found = call.tensors[argument.name]
            inputs[argument.name] = [values[t.name] for t in found] if isinstance(found, list) else values[found.name]
        other = FAULTS[fault](call, inputs, graph)
        if other is None or np.array_equal(other[0], values[op.outputs[0]]):
            continue
        name = op.outputs[0]
        main.operators.remove(op)
        main.inputs.append(name)
        main.outputs.remove(name)
        given[name] = values[name] = other[0].reshape(values[name].shape)
        done.add(id(op))
        if main.outputs:
            values |= engine(opened, given)
    return {name: values[name] for name in graph.main.outputs}


class Planted:
    """A door to the oracle with a fault, in this process; what would hang says so."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def run(self, graph: Graph, feeds: Mapping[str, Array]) -> Answer:
        if self.fault == "hangs" and any(
            op.op == "MATMUL" and (graph.main.tensors[op.inputs[0]].shape or (0,))[-1] == 7
            for op in graph.main.operators
        ):
            return Answer(Ending.HANG, "no end")
        try:
            return Answer(Ending.VALID, outputs=faulty(graph, feeds, self.fault, by_oracle))
        except TosaEngineError as problem:
            verdict = verdict_of(problem)
            return Answer(Ending(verdict.value) if verdict is not None else Ending.CRASH, str(problem))

    def close(self) -> None:
        """Nothing is open."""


def __getattr__(name: str) -> Any:
    """`planted:NAME` is the reference model with that fault; `planted:unplanted` has none."""
    if name not in (*FAULTS, "unreported", "unplanted"):
        raise AttributeError(name)
    return lambda path, feeds: faulty(serialize.read(path), feeds, name)
