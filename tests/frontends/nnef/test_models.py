"""Whole networks: the digits example and documents written by another project's exporter, against recorded outputs."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tosa_engine import check, oracle
from tosa_engine.errors import DataError, TosaEngineError
from tosa_engine.frontends import nnef

DATA = Path(__file__).parents[2] / "data" / "nnef"
SHARED = Path(__file__).parents[4] / "shared" / "models"


def test_digits(digits: Path) -> None:
    data = np.load(digits / "digits_data.npz")
    graph = nnef.load(digits / "digits.nnef")
    check.validate(graph)
    for i in (0, 1, 300, 596):
        output = oracle.run(graph, {"input": data["test_images"][i : i + 1]})["output"]
        np.testing.assert_allclose(output, data["test_float_output"][i : i + 1], atol=1e-5)


def test_what_digits_becomes(digits: Path) -> None:
    graph = nnef.load(digits / "digits.nnef")
    counts = Counter(op.op for op in graph.main.operators if not op.op.startswith("CONST"))
    assert counts == {
        "CONV2D": 5, "DEPTHWISE_CONV2D": 1, "CLAMP": 5, "MAX_POOL2D": 1, "ADD": 1, "mean": 1, "softmax": 1,
        "RESHAPE": 2,
    }  # fmt: skip
    assert [(t.name, t.shape) for t in (*graph.inputs, *graph.outputs)] == [
        ("input", (1, 1, 8, 8)),
        ("output", (1, 10)),
    ]
    for name in ("n1", "r1", "r2", "n3", "pool", "r4", "n5", "sum", "mean", "logits", "output", "c1_filter", "fc_bias"):
        source = graph.main.tensors[name].source
        assert source is not None
        assert source.name == name
    assert graph.main.tensors["sum"].shape == (1, 4, 4, 48)
    assert str(graph.main.tensors["sum"].source).endswith("graph.nnef:46 sum")
    for tensor in graph.main.tensors.values():
        assert tensor.dtype.name in ("fp32", "shape", "i8")
        assert tensor.source is not None
        assert tensor.source.line > 0


@pytest.mark.parametrize("name", ["ds_cnn_kws", "small_cnn"])
def test_exported_documents(name: str) -> None:
    runs(DATA / f"{name}.nnef", DATA / f"{name}.io.npz")


EXPORTS = {
    **{f"nnef/from_onnx/{name}": f"{name}.io.npz" for name in ("autoencoder_640", "mobilenet_v2_w035_96")},
    **{
        f"nnef/from_torch/{name}.khronos": f"{name}.io.npz"
        for name in ("encoder_block_T64_D128", "ops_mix", "small_cnn")
    },
    **{
        f"nnef/from_torch/{name}.tract": f"{name}.io.npz" for name in ("encoder_block_T64_D128", "lstm_T8", "small_cnn")
    },
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
@pytest.mark.parametrize("name", EXPORTS)
def test_larger_exported_documents(name: str) -> None:
    """Also those that bend the standard, and those of a vendor extension."""
    runs(SHARED / name, SHARED / Path(name).parent / EXPORTS[name])


def runs(path: Path, bundle: Path) -> None:
    graph = nnef.load(path)
    check.validate(graph)
    arrays = np.load(bundle)
    given, expected = ([arrays[n] for n in sorted(arrays.files) if n.startswith(kind)] for kind in ("in", "out"))
    assert (len(given), len(expected)) == (len(graph.inputs), len(graph.outputs))
    outputs = oracle.run(graph, {t.name: array for t, array in zip(graph.inputs, given, strict=True)})
    for tensor, array in zip(graph.outputs, expected, strict=True):
        np.testing.assert_allclose(outputs[tensor.name], array, atol=1e-4)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
def test_every_shared_document_is_read() -> None:
    """Those of whole networks; the other folders have documents of single operations, not all of which are read."""
    files = sorted(file for folder in ("digits", "nnef", "perf") for file in (SHARED / folder).rglob("graph.nnef"))
    assert len(files) == 16
    for file in files:
        nnef.load(file.parent)


BENT = {
    "encoder_block_T64_D128.khronos": [
        "19:10: fragment 'gelu' takes the place of the standard's operation",
        "21:27: NNEF.A1: operation 'erf' isn't declared, nor is it one of NNEF 1.0.4",
        "35:66: NNEF.T4: argument 'eps' must be a scalar (like 1.0), got a tensor of scalars",
        "83:23: NNEF.A8: attribute 'axes' of 'softmax' must be named",
        "83:23: NNEF.T4: argument 'axes' must be an array of integers, got the integer 3",
        "91:64: NNEF.T4: argument 'eps' must be a scalar (like 1.0), got a tensor of scalars",
        "95:31: NNEF.A2: 'gelu' takes 1 arguments, this is number 2",
    ],
    "ops_mix.khronos": [
        "7:10: fragment 'elu' takes the place of the standard's operation",
        "16:10: fragment 'silu' takes the place of the standard's operation",
        "71:31: NNEF.A8: attribute 'axis' of 'log_softmax' must be named",
    ],
    "lstm_T8.tract": ["126:23: 'slice': an end of 0 for the end of the axis is deprecated"],
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
@pytest.mark.parametrize("name", BENT)
def test_what_bends_the_standard_is_named_with_its_line(name: str) -> None:
    folder = SHARED / "nnef" / "from_torch" / name
    assert nnef.load(folder).warnings == [f"{folder}/graph.nnef:{warning}" for warning in BENT[name]]
    labelled = [warning for warning in BENT[name] if "NNEF." in warning]
    if labelled:
        with pytest.raises(TosaEngineError) as caught:
            nnef.load(folder, strict=True)
        shown = str(caught.value)
        assert all(warning in shown for warning in labelled)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
def test_parameters_of_channels_in_the_wrong_place_are_named() -> None:
    folder = SHARED / "nnef" / "from_torch" / "small_cnn.khronos"
    found = [warning.removeprefix(f"{folder}/graph.nnef:") for warning in nnef.load(folder).warnings]
    assert (
        "37:33: 'batch_normalization': 'mean' of shape [1, 1, 1, 16] isn't [1, 16]; "
        "its values are taken as those of the channels" in found
    )
    assert "104:17: 'conv': bias of shape [64]; the standard has [1, 64]" in found


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
def test_reading_is_fast() -> None:
    for file in sorted((SHARED / "perf").rglob("graph.nnef")):
        start = time.process_time()
        with contextlib.suppress(TosaEngineError):
            nnef.load_document(file.parent)
        assert time.process_time() - start < 5  # of processor time; 0.2 s as measured


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
def test_a_document_with_stored_codes_computes_what_the_codes_mean() -> None:
    folder = SHARED / "nnef" / "quantized" / "ds_cnn_kws.int8"
    graph = nnef.load(folder)
    check.validate(graph)
    bundle = np.load(folder.with_suffix(".int8.io.npz"))
    (source,), (result,) = graph.inputs, graph.outputs
    assert source.quant is not None
    assert result.quant is not None
    real = (bundle["in0"].astype(np.float64) - source.quant.zero_point[0]) * source.quant.scale[0]
    output = oracle.run(graph, {source.name: real.astype(np.float32)})[result.name]
    codes = np.round(output / result.quant.scale[0]) + result.quant.zero_point[0]
    assert np.abs(codes - bundle["out0_reference_kernels"]).max() <= 3


def test_missing_and_wrong_tensor_files_are_all_named(tmp_path: Path, digits: Path) -> None:
    (tmp_path / "graph.nnef").write_text((digits / "digits.nnef" / "graph.nnef").read_text())
    for file in (digits / "digits.nnef").rglob("*.dat"):
        copy = tmp_path / file.relative_to(digits / "digits.nnef")
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(file.read_bytes())
    (tmp_path / "c3" / "mean.dat").unlink()
    short = tmp_path / "c1" / "filter.dat"
    short.write_bytes(short.read_bytes()[:-4])
    (tmp_path / "fc" / "bias.dat").write_bytes(nnef.write_dat(np.zeros((10, 1), np.float32)))
    (tmp_path / "fc" / "filter.dat").write_bytes(nnef.write_dat(np.zeros((10, 48), np.int32)))
    found = "the header says 576, the file has 700"
    with pytest.raises(TosaEngineError) as caught:
        nnef.load(tmp_path)
    assert caught.value.exit_code == 6
    assert str(caught.value).split("\n") == [
        f"{tmp_path}/graph.nnef: 4 problems",
        f"{tmp_path}/c1/filter.dat: [16, 1, 3, 3] items of 32 bits need 128 + 576 bytes; {found}",
        f"{tmp_path}/c3/mean.dat: no such file",
        f"{tmp_path}/fc/filter.dat: INT items can't hold a tensor of type scalar",
        f"{tmp_path}/fc/bias.dat: shape [10, 1], but {tmp_path}/graph.nnef:51 says [1, 10]",
    ]


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("label = '../w'", "{folder}: '../w.dat' is a path with '..'"),
        ("label = '//w'", "{folder}: '/w.dat' is an absolute path"),
        ("label = ''", "label '' has characters that a label may not have"),
        ("label = 'a b'", "label 'a b' has characters that a label may not have"),
    ],
)
def test_labels_stay_in_the_document(tmp_path: Path, variable: str, message: str) -> None:
    text = f"version 1.0; graph g(x) -> (y) {{ x = external(shape = [1]); y = variable(shape = [1], {variable}); }}"
    (tmp_path / "graph.nnef").write_text(text)
    with pytest.raises(DataError) as caught:
        nnef.load(tmp_path)
    assert caught.value.message == message.format(folder=tmp_path)


def test_variables_that_share_a_label(tmp_path: Path) -> None:
    (tmp_path / "w.dat").write_bytes(nnef.write_dat(np.ones((1, 2), np.float32)))
    text = """version 1.0; graph g(x) -> (y) { x = external(shape = [1, 2]);
    a = variable(shape = [1, 2], label = 'w');
    b = variable(shape = SHAPE, label = 'w'); t = add(a, b); y = add(t, x); }"""
    (tmp_path / "graph.nnef").write_text(text.replace("SHAPE", "[1, 2]"))
    assert oracle.run(nnef.load(tmp_path), {"x": np.zeros((1, 2), np.float32)})["y"].tolist() == [[2, 2]]
    (tmp_path / "graph.nnef").write_text(text.replace("SHAPE", "[2]"))
    with pytest.raises(DataError) as caught:
        nnef.load(tmp_path)
    assert caught.value.message == "label 'w' is shared with 'a' of shape [1, 2], not [2]"


def test_values_beyond_fp32_are_named(tmp_path: Path) -> None:
    (tmp_path / "w.dat").write_bytes(nnef.write_dat(np.array([1.0, 1e39])))
    body = "x = external(shape = [2]); w = variable(shape = [2], label = 'w'); y = add(x, w);"
    text = f"version 1.0; graph g(x) -> (y) {{ {body} }}"
    (tmp_path / "graph.nnef").write_text(text)
    with pytest.raises(DataError) as caught:
        nnef.load(tmp_path)
    assert str(caught.value) == f"{tmp_path}/w.dat: the value 1e+39 is beyond fp32"
