"""Variables of a float graph in integers: several runs, in both widths."""

from __future__ import annotations

import numpy as np
import pytest
from quant_tools import Floats, real

from quant.legalize.quantize import quantize
from quant.ranges import activation_qparams
from tosa_engine import oracle, types
from tosa_engine.errors import Unsupported
from tosa_engine.graph import Graph, Operator, QParams, Tensor
from tosa_engine.qparams.arrays import dequantize_array, quantize_array
from tosa_engine.state import Variables


def leaky(bits: int, initial: np.ndarray | None) -> Graph:
    """state = state / 2 + x, whose new value is the output."""

    def quant(reach: float) -> QParams:
        return activation_qparams(-reach, reach, bits=bits, symmetric=bits == 16)

    f = Floats()
    x = f.input((3,), quant(1.0))
    attributes = {"name": "s", "var_shape": (3,), "type": types.fp32, "initial_value": initial}
    f.block.operators.append(Operator("VARIABLE", [], [], attributes))
    f.block.add(Tensor("state", types.fp32, (3,), quant=quant(2.0)))
    f.block.operators.append(Operator("VARIABLE_READ", [], ["state"], {"name": "s"}))
    half = f.op("MUL", ["state", f.const([0.5])], quant(1.0))
    y = f.op("ADD", [half, x], quant(2.0), name="y")
    f.block.operators.append(Operator("VARIABLE_WRITE", [y], [], {"name": "s"}))
    return f.outputs(y)


@pytest.mark.parametrize("bits", [8, 16])
def test_state_goes_from_run_to_run(bits: int) -> None:
    graph = leaky(bits, np.array([0.5, -1.0, 1.9], np.float32))
    integer = quantize(graph)
    floats, integers = Variables(), Variables()
    step = integer.outputs[0].quant
    assert step is not None
    rng = np.random.default_rng(0)
    for _ in range(6):
        x = quantize_array(rng.uniform(-0.9, 0.9, 3), graph.inputs[0].quant or step)
        wanted = oracle.run(graph, {"x": real(x, graph.inputs[0].quant)}, variables=floats)["y"]
        got = dequantize_array(oracle.run(integer, {"x": x}, variables=integers)["y"], step)
        assert np.abs(got - wanted).max() <= 3 * step.scale[0]  # three roundings, of which the next run halves
    kinds = [op for op in integer.main.operators if op.op == "VARIABLE"]
    assert len(kinds) == (1 if bits == 8 else 2)
    assert all(op.attributes["type"] is types.i8 for op in kinds)


@pytest.mark.parametrize("bits", [8, 16])
def test_without_an_initial_value(bits: int) -> None:
    kinds = [op for op in quantize(leaky(bits, None)).main.operators if op.op == "VARIABLE"]
    assert [op.attributes["initial_value"] for op in kinds] == [None] * len(kinds)


def test_a_variable_that_is_never_read() -> None:
    f = Floats()
    x = f.input((3,), activation_qparams(-1.0, 1.0))
    attributes = {"name": "s", "var_shape": (3,), "type": types.fp32, "initial_value": None}
    f.block.operators.append(Operator("VARIABLE", [], [], attributes))
    with pytest.raises(Unsupported, match="the variable 's' is never read: nothing says how to quantize it; remove it"):
        quantize(f.outputs(f.relu(x, activation_qparams(0.0, 1.0))))


def test_state_of_integers_is_copied() -> None:
    """A counter of int8 beside floats."""
    f = Floats()
    x = f.input((3,), activation_qparams(-1.0, 1.0))
    attributes = {"name": "n", "var_shape": (1,), "type": types.i8, "initial_value": np.array([3], np.int8)}
    f.block.operators.append(Operator("VARIABLE", [], [], attributes))
    f.block.add(Tensor("before", types.i8, (1,)))
    f.block.operators.append(Operator("VARIABLE_READ", [], ["before"], {"name": "n"}))
    f.block.operators.append(Operator("VARIABLE_WRITE", ["before"], [], {"name": "n"}))
    integer = quantize(f.outputs(f.relu(x, activation_qparams(0.0, 1.0)), "before"))
    assert oracle.run(integer, {"x": np.zeros(3, np.int8)}, variables=Variables())["before"].tolist() == [3]


def test_after_a_refusal_truths_stay_truths() -> None:
    """One problem is reported, not those that follow from it."""
    f = Floats()
    x = f.input((3,), activation_qparams(-1.0, 1.0))
    endless = f.const([np.inf, 1.0, 2.0])
    above = f.op("GREATER", [x, endless], dtype=types.bool_)
    y = f.op("SELECT", [above, x, f.const([0.0])], activation_qparams(-1.0, 1.0))
    with pytest.raises(Unsupported, match=r"^QUANT\.E8: the constant has infinity"):
        quantize(f.outputs(y))
