"""TFLite models by Arm's tools: the numbers of LiteRT, shapes, verbs, what is refused, hostile files."""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tflite_tools import CUSTOM, INT8, QUANTIZE, TANH, UINT8, Held, Node, tflite

from tosa_engine import Session, oracle
from tosa_engine.errors import TosaEngineError, Unsupported
from tosa_engine.frontends.tflite.children import CONVERTER, WRITER
from tosa_engine.graph import QParams
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Outcome

PLACES = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
if not all(shutil.which(tool, path=PLACES) for tool in (CONVERTER, WRITER)):
    pytest.skip("needs the programs of the extra `tflite`", allow_module_level=True)

SHARED = Path(__file__).parents[4] / "shared" / "models"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
SMALL = sorted(path.parent.name for path in SHARED.glob("perf_tflite/*/model.tflite"))


def written(folder: Path, data: bytes) -> Path:
    (folder / "m.tflite").write_bytes(data)
    return folder / "m.tflite"


def quantizing(kind: int, zero_point: int) -> bytes:
    tensors = [
        Held("x", [1, 4], signature=[-1, 4]),
        Held("q", [1, 4], kind, signature=[-1, 4], scale=(0.5, zero_point)),
    ]
    return tflite(tensors, [Node(QUANTIZE, [0], [1])], [0], [1])


def cases(name: str) -> Iterator[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """Inputs and LiteRT's outputs of each recorded case."""
    with np.load(SHARED / "real" / name / "io.npz") as held:
        arrays = dict(held)
    for case in sorted({key.partition(".")[0] for key in arrays}):
        yield tuple(
            {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            for start in (f"{case}.in.", f"{case}.out.")
        )


@shared
def test_an_int8_network_is_that_of_litert() -> None:
    session = Session(load(SHARED / "real/visual_wake_words_int8/model.tflite"))
    for given, wanted in cases("visual_wake_words_int8"):
        assert np.array_equal(session.run(["Identity"], given)[0], wanted["Identity"])


@shared
def test_a_streaming_network_keeps_its_past_as_litert_does() -> None:
    session, output = Session(load(SHARED / "real/okay_nabu_stream_int8/model.tflite")), "StatefulPartitionedCall:0"
    for given, wanted in cases("okay_nabu_stream_int8"):
        session.reset()
        for step, expected in enumerate(wanted[output]):
            found = session.run([output], {name: array[step] for name, array in given.items()})[0]
            assert np.array_equal(found.view(np.uint8), expected), step


@shared
def test_a_float_network_is_within_the_spread_of_litert() -> None:
    session = Session(load(SHARED / "real/mediapipe_face_landmark_fp16w/model.tflite"))
    for given, wanted in cases("mediapipe_face_landmark_fp16w"):
        for name, array in wanted.items():
            assert np.abs(session.run([name], given)[0] - array).max() < 1.4e-4


@shared
@pytest.mark.parametrize("name", SMALL)
def test_small_networks_load(name) -> None:
    graph = load(SHARED / "perf_tflite" / name / "model.tflite")
    assert all(tensor.source_name == tensor.name for tensor in (*graph.inputs, *graph.outputs))
    assert [t.quant is not None for t in graph.outputs] == [t.dtype.is_int for t in graph.outputs]


@shared
def test_a_batch_of_a_whole_network() -> None:
    path = SHARED / "real/visual_wake_words_int8/model.tflite"
    several = Session(load(path, shape={"input_1": (2, 96, 96, 3)}))
    (first, wanted), (second, more) = list(cases("visual_wake_words_int8"))[:2]
    both = several.run(None, {"input_1": np.concatenate([first["input_1"], second["input_1"]])})[0]
    assert np.array_equal(both, np.concatenate([wanted["Identity"], more["Identity"]]))


@pytest.mark.parametrize(
    ("kind", "zero_point", "right"),
    [
        (INT8, 3, [-128, 3, 5, 127]),
        (INT8, 0, [-128, 0, 2, 127]),
        (UINT8, 128, [0, 128, 130, 255]),
        (UINT8, 7, [0, 7, 9, 255]),
    ],
)
def test_quantize_saturates(kind, zero_point, right, tmp_path) -> None:
    graph = load(written(tmp_path, quantizing(kind, zero_point)))
    found = oracle.run(graph, {"x": np.array([[-500, 0, 1, 500]], np.float32)})["q"]
    assert found.view(np.uint8 if kind == UINT8 else np.int8).tolist() == [right]
    assert graph.outputs[0].quant == QParams((0.5,), (zero_point,), signed=kind != UINT8)


def test_the_command_line_binds_and_takes_real_numbers(tmp_path, command: Callable[..., Outcome]) -> None:
    path, out = written(tmp_path, quantizing(UINT8, 7)), tmp_path / "y.npz"
    np.save(tmp_path / "x.npy", np.array([[-500, 0, 1, 1.5], [2, 3, 4, 5]], np.float32))
    done = command("run", path, "--shape", "x=2,4", "-i", tmp_path / "x.npy", "--real", "-o", out)
    assert (done.code, done.err) == (0, "")
    assert np.load(out)["q"].tolist() == [[-3.5, 0, 1, 1.5], [2, 3, 4, 5]]
    assert command("convert", path, "--shape", "x=3,4", "-o", tmp_path / "m.tosa").code == 0
    graph = load(tmp_path / "m.tosa")
    assert (graph.inputs[0].shape, graph.outputs[0].quant) == ((3, 4), QParams((0.5,), (7,), signed=False))
    assert "2 tensors" in command("check", path).out


def test_a_custom_operator_keeps_its_name(tmp_path, command: Callable[..., Outcome]) -> None:
    path = written(tmp_path, tflite([Held("x", [4]), Held("y", [4])], [Node(CUSTOM, [0], [1], "Mine")], [0], [1]))
    operator = load(path).main.operators[-1]
    assert (operator.op, operator.attributes["operator_name"], operator.attributes["domain_name"]) == (
        "CUSTOM", "Mine", "TFL",
    )  # fmt: skip
    done = command("run", path)
    assert done.code != 0
    assert "Mine" in done.err


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Node(109, [0], [1]), "m.tflite: the converter makes no TOSA of tfl.where (node 'y \"é\"')"),
        (
            Node(88, [0], [1]),
            "m.tflite: tosa-converter-for-tflite refused it: 'tfl.unpack' op requires attribute 'axis' (at 'y \"é\"')",
        ),
    ],
)
def test_what_the_converter_refuses(node, message, tmp_path) -> None:
    path = written(tmp_path, tflite([Held("x", [4]), Held('y "é"', [4])], [node], [0], [1]))
    with pytest.raises(Unsupported) as caught:
        load(path)
    assert str(caught.value) == message


def test_names_with_any_characters(tmp_path) -> None:
    names = ["x: 1", 'inside "\\é"', "y\n"]
    tensors = [Held(name, [4]) for name in names]
    graph = load(written(tmp_path, tflite(tensors, [Node(TANH, [0], [1]), Node(TANH, [1], [2])], [0], [2])))
    assert [tensor for tensor in graph.main.tensors if tensor in names] == names


@shared
def test_broken_files_are_one_error_each(tmp_path) -> None:
    """Damage anywhere in the file: a typed error, or a model that still has a meaning."""
    data = (SHARED / "perf_tflite/tflite_micro_speech/model.tflite").read_bytes()
    for seed in range(12):
        r, broken = random.Random(seed), bytearray(data)
        for _ in range(r.choice((1, 3, 20))):
            broken[r.randrange(2000)] = r.randrange(256)
        path = written(tmp_path, bytes(broken[: r.randrange(len(data)) if seed % 3 == 0 else None]))
        start = time.perf_counter()
        try:
            load(path)
        except TosaEngineError as problem:
            assert "\n" not in str(problem)  # noqa: PT017
        assert time.perf_counter() - start < 5
