"""`quantize --target`: precisions that a processor has, and a refusal that names all it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.calibration.observe import collect
from quant.legalize.layers import LayerRule
from quant.legalize.processors import lacking, rules_for
from quant.legalize.quantize import prepared
from tosa_engine import serialize, types
from tosa_engine.npu import npu

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph

U55, U85 = npu("ethos-u55-256"), npu("ethos-u85-256")
SAMPLES = [{"x": np.random.default_rng(n).normal(size=(1, 4, 6)).astype(np.float32)} for n in range(4)]


def network(*, greater: bool = False) -> Graph:
    """A product by itself, transposed; with `greater`, of the greater of two values."""
    f = Floats()
    x = f.input((1, 4, 6))
    left = x
    if greater:
        other = f.op("REVERSE", [x], axis=1)
        left = f.op("SELECT", [f.op("GREATER", [x, other], dtype=types.bool_), x, other])
    right = f.op("TRANSPOSE", [left], perms=(0, 2, 1))
    return f.outputs(f.op("MATMUL", [left, right], name="gram"))


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., list[Any]]:
    def write(graph: Graph) -> list[Any]:
        serialize.write(graph, tmp_path / "net.tosa")
        collect(serialize.read(tmp_path / "net.tosa"), enumerate(SAMPLES)).write(tmp_path / "kept.json")
        return [tmp_path / "net.tosa", "--statistics", tmp_path / "kept.json", "--bits", 16, "-o", tmp_path / "i.tosa"]

    return write


def formats(path: Path) -> list[str]:
    block = serialize.read(path).main
    return [block.tensors[op.inputs[0]].dtype.name for op in block.operators if op.op == "MATMUL"]


def test_only_operators_that_the_processor_has_for_int8_alone_get_it() -> None:
    ready = prepared(network()).main
    assert rules_for(U55, ready, "int16") == [LayerRule("op:MATMUL", "int8")]
    assert rules_for(U55, ready, "int8") == rules_for(U85, ready, "int16") == []


def test_a_product_of_16_bits_becomes_one_of_8_for_ethos_u55(command, files, tmp_path: Path) -> None:
    given = files(network())
    assert command("quantize", *given).code == 0
    assert formats(tmp_path / "i.tosa") == ["i16"]
    assert "ethos-u55-256.format" in {problem.label for problem in lacking(serialize.read(tmp_path / "i.tosa"), U55)}
    done = command("quantize", *given, "--target", "ethos-u55-256")
    assert (done.code, formats(tmp_path / "i.tosa")) == (0, ["i8"]), done.err
    assert "op:MATMUL = int8: ethos-u55-256 has it for int8 only\n" in done.out
    assert command("check", tmp_path / "i.tosa", "--target", "ethos-u55-256").code == 0
    assert command("quantize", *given, "--target", "ethos-u85-256").code == 0
    assert formats(tmp_path / "i.tosa") == ["i16"]


def test_what_the_user_says_of_a_layer_counts_and_is_refused(command, files, tmp_path: Path) -> None:
    done = command("quantize", *files(network()), "--layer", "gram=int16", "--target", "ethos-u55-256")
    assert (done.code, (tmp_path / "i.tosa").exists()) == (3, False)
    assert f"{tmp_path / 'i.tosa'} is not written: 2 problems with the target ethos-u55-256" in done.err
    assert "ethos-u55-256.format: ethos-u55-256 has MATMUL of i8, not of i16" in done.err


def test_operators_that_the_processor_lacks_are_all_named(command, files, tmp_path: Path) -> None:
    given = files(network(greater=True))
    done = command("quantize", *given, "--target", "ethos-u55-256")
    assert (done.code, (tmp_path / "i.tosa").exists()) == (3, False)
    assert ("has no GREATER" in done.err, "has no SELECT" in done.err) == (True, True)
    assert command("quantize", *given, "--target", "ethos-u85-256").code == 0


def test_a_target_that_nobody_knows(command, files, tmp_path: Path) -> None:
    done = command("quantize", *files(network()), "--target", "ethos-u99")
    assert (done.code, "no target 'ethos-u99'" in done.err) == (2, True)
