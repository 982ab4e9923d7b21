"""Every refusal of the quantize pass, by its label, with its message in full."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.legalize.quantize import quantize
from quant.legalize.refusals import REFUSALS
from quant.legalize.weights import row_qparams
from quant.search.cheapest import Search
from quant.search.units import Unit
from tosa_engine import types
from tosa_engine.errors import Problems, TosaEngineError, Unsupported
from tosa_engine.graph import Location, Operator, QParams, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph

ROOT = Path(__file__).parents[3]
HALF = QParams((0.5,), (0,))
SIXTEEN = QParams((0.5,), (0,), 16, symmetric=True)


def doubled(x: QParams | None, y: QParams | None = HALF) -> Graph:
    """y = x + x, where the source has line 7."""
    f = Floats()
    into = f.input((1, 3), x)
    out = f.op("ADD", [into, into], y, name="y")
    f.block.tensors[out].source = Location("net.nnef", 7, "sum")
    return f.outputs(out)


def input_of_another_type() -> Graph:
    f = Floats()
    x = f.input((1, 3), HALF)
    f.block.tensors[x].dtype = types.bf16
    return f.outputs(f.op("CAST", [x], HALF))


def product_of_an_axis() -> Graph:
    f = Floats()
    return f.outputs(f.op("REDUCE_PRODUCT", [f.input((1, 3), HALF)], HALF, name="y", axis=1))


def shifted_product() -> Graph:
    f = Floats()
    graph = f.outputs(f.op("MUL", [f.input((1, 3), HALF), f.input((1, 3), HALF, "z")], HALF, name="y"))
    shift = graph.main.tensors[graph.main.operators[-1].inputs[2]]
    shift.data = np.array([1], np.int8)
    return graph


def convolution(x: QParams, bits: int = 8, weight: float = 1.0, *, computed: bool = False) -> Graph:
    f = Floats()
    values = np.full((1, 1, 1, 2), weight, np.float32)
    quant = row_qparams(np.ones((1, 2)), 4) if bits == 4 else None
    into = f.input((1, 1, 1, 2), x)
    out = f.conv(into, values, np.zeros(1, np.float32), QParams((4.0,), (0,), x.bits), name="y", weight_quant=quant)
    if computed:
        operator = f.block.operators[-1]
        f.block.operators[-1].inputs = [into, f.input((1, 1, 1, 2), HALF, "w"), *operator.inputs[2:]]
    return f.outputs(out)


def matrices_of_four_bits() -> Graph:
    f = Floats()
    weight = f.const(np.ones((1, 2, 1)), row_qparams(np.ones((1, 2)), 4))
    return f.outputs(f.op("MATMUL", [f.input((1, 1, 2), HALF), weight], HALF, name="y"))


def padded(*, value: bool) -> Graph:
    f = Floats()
    x = f.input((1, 3), HALF)
    amounts, with_ = f.const([0, 0, 1, 1], dtype=types.shape), f.const([0.0])
    if value:
        with_ = f.input((1,), HALF, "v")
    else:
        f.block.tensors[amounts].data = None
    f.block.add(Tensor("y", types.fp32, (1, 5), quant=HALF))
    f.block.operators.append(Operator("PAD", [x, amounts, with_], ["y"]))
    return f.outputs("y")


def cast_to_half() -> Graph:
    f = Floats()
    return f.outputs(f.op("CAST", [f.input((1, 3), HALF)], name="y", dtype=types.fp16))


def infinite_sum() -> Graph:
    f = Floats()
    return f.outputs(f.op("ADD", [f.input((1, 3), HALF), f.const([[np.inf, 1.0, 2.0]])], HALF, name="y"))


def infinite_mask() -> Graph:
    f = Floats()
    x = f.input((1, 4), HALF)
    mask = f.op("GREATER", [x, f.const([[0.0]])], dtype=types.bool_)
    masked = f.op("SELECT", [mask, x, f.const([[-np.inf]])], HALF, name="masked")
    return f.outputs(f.composite("softmax", masked, QParams((1 / 256,), (-128,)), axis=1))


def softmax(classes: int, x: QParams, out: QParams) -> Graph:
    f = Floats()
    return f.outputs(f.composite("softmax", f.input((1, classes), x), out, axis=1))


def variable_that_nobody_reads() -> Graph:
    f = Floats()
    attributes = {"name": "s", "var_shape": (3,), "type": types.fp32, "initial_value": None}
    f.block.operators.append(Operator("VARIABLE", [], [], attributes))
    return f.outputs(f.relu(f.input((3,), HALF), HALF))


def nowhere_defined() -> Graph:
    f = Floats()
    x = f.input((4,), QParams((0.1,), (-128,)))
    return f.outputs(f.op("LOG", [f.op("SUB", [f.const([-1.0]), x])], HALF, name="y"))


def long_sum() -> Graph:
    f = Floats()
    x = f.input((1, 1, 1, 70000), QParams((0.1,), (-128,)))
    y = f.conv(x, np.ones((1, 1, 1, 70000)), np.zeros(1), HALF, name="y")
    return f.outputs(y)


def tiny_product() -> Graph:
    f = Floats()
    tiny = QParams((2.0**-40,), (0,))
    return f.outputs(f.op("MUL", [f.input((1, 2), tiny, "a"), f.input((1, 2), tiny, "b")], HALF, name="y"))


CASES: list[tuple[str, Callable[[], Graph], str]] = [
    ("QUANT.E1", lambda: doubled(HALF, None),
     "the tensor has no quantization parameters; calibrate the model (net.nnef:7) (tensor 'sum')"),
    ("QUANT.E2", lambda: doubled(QParams((0.5,), (0,), 24)),
     "activations need 8 or 16 bits with one scale, got 24 bits (tensor 'x')"),
    ("QUANT.E3", input_of_another_type,
     "a graph input of type bf16: quantization begins with fp32; CAST it before (tensor 'x')"),
    ("QUANT.E4", product_of_an_axis,
     ("operator REDUCE_PRODUCT has no integer form: a product's range grows with the number of its factors; multiply "
     "them one by one (MUL) (node 'y', tensor 'y')")),
    ("QUANT.E4", shifted_product, "MUL with a shift (tensor 'y')"),
    ("QUANT.E5", lambda: convolution(HALF, computed=True), "CONV2D with weights that aren't constant (tensor 'y')"),
    ("QUANT.E5", lambda: padded(value=True), "PAD with a value that isn't constant (tensor 'y')"),
    ("QUANT.E5", lambda: padded(value=False), "PAD with a 'const' that isn't constant (tensor 'y')"),
    ("QUANT.E6", lambda: convolution(SIXTEEN, 4),
     "4-bit weights with 16-bit activations, which TOSA has no CONV2D for (tensor 'y')"),
    ("QUANT.E6", matrices_of_four_bits, "4-bit weights, which TOSA has no MATMUL for (tensor 'y')"),
    ("QUANT.E7", cast_to_half,
     "CAST from fp32 to fp16 has no integer form; only fp32 and i32 are cast (node 'y', tensor 'y')"),
    ("QUANT.E8", infinite_sum,
     "the constant has infinity in it, which integers don't have; use finite numbers (tensor 'const')"),
    ("QUANT.E8", lambda: convolution(HALF, weight=float("nan")),
     "the constant has NaN in it, which integers don't have; use finite numbers (tensor 'const_1')"),
    ("QUANT.E8", infinite_mask,
     ("softmax reads a tensor with an infinite constant in it, which integers don't have; use a finite one at the end "
     "of the range, such as -30 before softmax (node 'softmax', tensor 'masked')")),
    ("QUANT.E9", lambda: softmax(65537, HALF, QParams((1 / 256,), (-128,))),
     "softmax over 65537 classes, at most 65536 (tensor 'softmax')"),
    ("QUANT.E10", variable_that_nobody_reads,
     "the variable 's' is never read: nothing says how to quantize it; remove it (node 'VARIABLE')"),
    ("QUANT.E11", nowhere_defined, "no TABLE for LOG: the function is NaN for every input (tensor 'y')"),
    ("QUANT.E12", tiny_product,
     (f"the scale {2.0**-79!r} = {2.0**-80!r} (accumulator) / 0.5 (output) needs shift 109; RESCALE has 2 .. 62, "
     "scales of about 2^-32 .. 2^29 (tensor 'y')")),
    ("QUANT.E13", long_sum, "the accumulator may reach 2266950000, 0.1 bits too many for int32 (tensor 'y')"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "make", "message"), CASES, ids=[f"{c[0]} {c[2][:40]}" for c in CASES])
def test_refused(label: str, make: Callable[[], Graph], message: str) -> None:
    with pytest.raises(TosaEngineError) as raised:
        quantize(make())
    problem = raised.value
    found = problem.problems[0] if isinstance(problem, Problems) else problem
    assert str(found) == f"{label}: {message}"
    assert found.label == label


def test_a_precision_that_no_layer_may_have() -> None:
    unit = Unit("bent", "TANH", ("bent",), ())
    search: Any = Search(None, None, [unit], None, ["int4"])  # type: ignore[arg-type]
    with pytest.raises(Unsupported) as raised:
        search.run(lambda score: True, 1.0)
    assert str(raised.value) == "QUANT.E14: 'bent' can't have any of int4 (node 'bent')"


def test_every_label_has_a_case() -> None:
    assert {case[0] for case in CASES} | {"QUANT.E14"} == set(REFUSALS)


def test_the_page_has_every_label_and_its_rule() -> None:
    page = (ROOT / "docs" / "integer-forms.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in page.splitlines() if "| QUANT.E" in line]
    assert rows == [list(item) for item in REFUSALS.items()]


def test_nothing_unsupported_is_raised_without_a_label() -> None:
    names = ("Unsupported", "BoundError", "ScaleError")
    calls = [
        (path.name, node.lineno, any(k.arg == "label" for k in node.keywords))
        for path in sorted((ROOT / "quant").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names
    ]
    assert len(calls) > 5
    assert [call for call in calls if not call[2]] == []


@pytest.mark.parametrize(("make", "code"), [(c[1], {"E1": 6, "E2": 6, "E11": 6, "E12": 6, "E13": 3}.get(c[0][6:], 5))
                                            for c in CASES], ids=[f"{c[0]} {c[2][:40]}" for c in CASES])  # fmt: skip
def test_exit_codes_are_as_the_page_says(make: Callable[[], Graph], code: int) -> None:
    with pytest.raises(TosaEngineError) as raised:
        quantize(make())
    problem = raised.value
    assert (problem.problems[0] if isinstance(problem, Problems) else problem).exit_code == code
