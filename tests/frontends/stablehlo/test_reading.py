"""Files: what they may hold, what binds dynamic shapes, and what is said of those that can't be read."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from stablehlo_modules import graph, main, needs_jaxlib, needs_newer, run

from tosa_engine import load
from tosa_engine.errors import DataError, Unsupported, UsageError
from tosa_engine.frontends.stablehlo import child, reading
from tosa_engine.frontends.stablehlo.reading import Process

pytestmark = needs_jaxlib
DATA = Path(__file__).parents[2] / "data" / "stablehlo"
DYNAMIC = main(
    "%n: tensor<i32>, %x: tensor<?x2xf32>",
    """%one = stablehlo.constant dense<2> : tensor<1xi32>
%m = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
%s = stablehlo.multiply %m, %one : tensor<1xi32>
%out = stablehlo.dynamic_reshape %x, %s : (tensor<?x2xf32>, tensor<1xi32>) -> tensor<?xf32>""",
    "tensor<?xf32>",
)


def test_text_bytecode_hlo_and_what_jax_export_wraps_are_read_through_the_one_door(tmp_path: Path) -> None:
    artefact = (DATA / "cumulated.mlirbc").read_bytes()
    wrapped = tmp_path / "cumulated.jax"
    wrapped.write_bytes(b"some fields of a flatbuffer." + len(artefact).to_bytes(4, "little") + artefact + b"more")
    shapes = [
        [(port.name, port.shape) for port in (*found.inputs, *found.outputs)]
        for found in (load.load(wrapped), load.load(DATA / "cumulated.mlirbc"))
    ]
    assert shapes[0] == shapes[1]
    assert shapes[0][0] == ("x", (2, 10))


@pytest.mark.parametrize("visibility", ["", "public "])
def test_the_only_public_function_is_the_model_without_the_name_main(visibility: str) -> None:
    (found,) = run(
        f"""func.func {visibility}@model(%x: tensor<2xf32>) -> tensor<2xf32> {{
%0 = call @own(%x) : (tensor<2xf32>) -> tensor<2xf32>
return %0 : tensor<2xf32>
}}
func.func private @own(%x: tensor<2xf32>) -> tensor<2xf32> {{
%0 = stablehlo.abs %x : tensor<2xf32>
return %0 : tensor<2xf32>
}}""",
        np.asarray([-1, 2]),
    )
    assert found.tolist() == [1, 2]


def test_places_name_tensors_and_ports() -> None:
    text = """func.func @main(%arg0: tensor<2xf32> loc("image")) -> (tensor<2xf32> {jax.result_info = "logits"}) {
%0 = stablehlo.tanh %arg0 : tensor<2xf32> loc("net/activation")
%1 = stablehlo.abs %0 : tensor<2xf32> loc("net/size")
return %1 : tensor<2xf32>
}"""
    found = graph(text)
    assert [port.name for port in (*found.inputs, *found.outputs)] == ["image", "logits"]
    assert "net/activation" in found.main.tensors


def test_dynamic_shapes_are_found_from_those_of_the_inputs() -> None:
    (found,) = run(DYNAMIC, np.ones((3, 2)), shapes={"arg1": [3, 2]}, constants={"arg0": 3})
    assert found.shape == (6,)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "model.mlir: input 'arg1' has the type tensor<?x2xf32>: --shape arg1=N,... says its shape"),
        ({"shapes": {"y": [1]}}, "model.mlir: the model has no input 'y'; it has arg0, arg1"),
        ({"constants": {"z": 1}}, "model.mlir: the model has no input or dimension 'z'; it has arg0, arg1"),
    ],
)  # fmt: skip
def test_what_does_not_bind_says_how_to(request_: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as problem:
        graph(DYNAMIC, **request_)
    assert str(problem.value) == message or (request_.get("constants") and "'arg1' has the type" in str(problem.value))


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc", ".hlo", ".pb", ".jax"])
def test_what_is_no_module_is_one_typed_error(suffix: str) -> None:
    with pytest.raises((DataError, Unsupported), match=r"^model"):
        graph("ML\x00nothing of the kind", suffix=suffix)


def test_a_dialect_that_is_not_there_is_named() -> None:
    with pytest.raises(Unsupported, match=r"model.mlir: .*'tosa.*"):
        graph(main("%x: tensor<2xf32>", "%out = tosa.abs %x : (tensor<2xf32>) -> tensor<2xf32>", "tensor<2xf32>"))


def test_an_operation_has_its_line_and_type_in_the_error() -> None:
    text = main(
        "%x: tensor<2xcomplex<f32>>",
        "%out = stablehlo.real %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>",
        "tensor<2xf32>",
    )
    with pytest.raises(Unsupported) as refused:
        graph(text)
    assert str(refused.value) == "model.mlir: input 'arg0': TOSA has no number format for tensor<2xcomplex<f32>>"


def test_a_process_that_dies_is_an_error_and_the_next_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "child.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGABRT)\n")
    path = tmp_path / "model.mlir"
    path.write_text(main("%x: tensor<2xf32>", "%out = stablehlo.abs %x : tensor<2xf32>", "tensor<2xf32>"))
    with Process() as process:
        monkeypatch.setattr(reading.child, "__file__", str(script))
        with pytest.raises(Unsupported, match=r"model.mlir: jaxlib died of it \(SIGABRT; it may have \d+ MB\)"):
            process.read(path)
        monkeypatch.undo()
        assert process.read(path).main.names == ["arg0"]


def test_without_jaxlib_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "child.py"
    script.write_text("import sys\nsys.stderr.write(\"import: No module named 'jaxlib'\\n\")\nsys.exit(3)\n")
    monkeypatch.setattr(reading.child, "__file__", str(script))
    path = tmp_path / "model.mlir"
    path.write_text("")
    with pytest.raises(UsageError) as problem:
        reading.read_module(path)
    assert str(problem.value) == (
        "reading StableHLO and HLO needs the package 'jaxlib': pip install 'tosa-engine[stablehlo]' "
        "(No module named 'jaxlib')"
    )
    assert "jaxlib" not in sys.modules


@needs_newer
def test_a_reversed_scan_is_one_of_reversed_arrays() -> None:
    text = """func.func @main(%x: tensor<4x2xi32>, %i: tensor<2xi32>) -> (tensor<4x2xi32>, tensor<2xi32>) {
%out, %c = chlo.scan(%x) inits(%i) dimension=0 attributes {is_reverse = true} {
^bb0(%a: tensor<2xi32>, %b: tensor<2xi32>):
%s = stablehlo.add %a, %b : tensor<2xi32>
stablehlo.return %s, %s : tensor<2xi32>, tensor<2xi32>
} : (tensor<4x2xi32>, tensor<2xi32>) -> (tensor<4x2xi32>, tensor<2xi32>)
return %out, %c : tensor<4x2xi32>, tensor<2xi32>
}"""
    found, carried = run(text, np.arange(8).reshape(4, 2), np.asarray([10, 100]))
    assert found.tolist() == [[22, 116], [22, 115], [20, 112], [16, 107]]
    assert carried.tolist() == [22, 116]


def test_what_an_older_jaxlib_does_not_know_says_which_one_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxlib.version.__version__", "0.10.2")
    assert child.older() == ""
    monkeypatch.setattr("jaxlib.version.__version__", "0.6.2")
    assert child.older() == "; jaxlib 0.10.2 may read it, this is 0.6.2"


def test_modules_that_jaxlib_renamed_are_found_by_either_name() -> None:
    assert child.first_of("json", ("_missing", "decoder")).__name__ == "json.decoder"
    with pytest.raises(ImportError, match=r"^json has no module _missing$"):
        child.first_of("json", ("_missing",))
