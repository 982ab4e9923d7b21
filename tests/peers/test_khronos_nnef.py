"""The Khronos parser (PyPI `nnef`) beside ours, in a subprocess: what one accepts, the other accepts, or docs/errata.md
says why not. NNEF_PYTHON names an interpreter that has it, where this one hasn't.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from nnef_documents import documents

from tosa_engine.errors import ParseError, Problems, TosaEngineError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.document import parse_text

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
# public documents; those of exporters are looked for where MODELS of the Makefile has its models, too
MODELS = Path(os.environ.get("NNEF_MODELS", HERE.parents[2] / "shared" / "models" / "nnef"))
COUNT = 500

# our label -> why the Khronos parser accepts what the standard forbids: docs/errata.md, "The Khronos parser"
THEY_ACCEPT = {
    "NNEF.L4",
    "NNEF.L5",
    "NNEF.S3",
    "NNEF.D4",
    "NNEF.D5",
    "NNEF.T7",
    "NNEF.T11",
    "NNEF.T14",
    "NNEF.I6",
    "NNEF.I10",
    "NNEF.E5",
    "NNEF.E6",
    "NNEF.V2",
    "NNEF.V3",
    "NNEF.V4",
}
# what the Khronos parser says of what the standard allows
THEY_REJECT = (
    r"unexpected token '\+'",  # unary plus (3.2.3)
    r"expected token ';', found '\['",  # subscripts of strings (3.3.3)
    r"operand types 'string' and 'integer' for operation '\*'",  # repeated strings (3.3.3)
    r"could not handle extension 'tract_registry'",  # of a vendor (3.2.1)
)


def interpreter() -> str:
    if "NNEF_PYTHON" in os.environ:
        return os.environ["NNEF_PYTHON"]
    if importlib.util.find_spec("nnef") is None:
        pytest.skip("needs nnef, the extra `peers`, or NNEF_PYTHON")
    return sys.executable


def run(script: str, *arguments: object, text: str = "") -> str:
    command = [interpreter(), str(HERE / script), *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def theirs(texts: list[str]) -> list[str]:
    found: list[str] = json.loads(run("khronos_parser.py", text=json.dumps(texts)))
    return found


def ours(text: str) -> list[TosaEngineError]:
    try:
        parse_text(text, "graph.nnef")
    except Problems as several:
        return several.problems
    except TosaEngineError as error:
        return [error]
    return []


def unexplained(texts: list[str]) -> list[tuple[str, str, str]]:
    """The documents about which the parsers disagree without a reason: text, what we say, what they say."""
    found = []
    for text, message in zip(texts, theirs(texts), strict=True):
        problems = ours(text)
        if bool(problems) == bool(message):
            continue  # a crash counts as a refusal
        labels = {problem.label for problem in problems if isinstance(problem, ParseError)}
        if labels and labels <= THEY_ACCEPT:
            continue
        if not problems and any(re.search(pattern, message) for pattern in THEY_REJECT):
            continue
        found.append((text, "\n".join(map(str, problems)), message))
    return found


@pytest.mark.peers
def test_500_generated_documents() -> None:
    texts = documents(COUNT)
    assert unexplained(texts) == []
    accepted = sum(not ours(text) for text in texts)
    assert COUNT // 2 <= accepted < COUNT * 2 // 3  # the legal ones, and broken ones that are legal all the same


@pytest.mark.peers
def test_public_documents() -> None:
    paths = [EXAMPLES / "digits" / "digits.nnef" / "graph.nnef", *sorted(MODELS.glob("*/*/graph.nnef"))]
    assert unexplained([path.read_text(encoding="utf-8") for path in paths]) == []


@pytest.mark.peers
def test_broken_rules() -> None:
    import nnef_broken

    broken = [case for case in nnef_broken.BROKEN if case[0] != "NNEF.LIMIT"]  # they fill the memory first
    texts = [text for _, text, _ in broken]
    assert unexplained(texts) == []
    accepted = {label for (label, *_), message in zip(broken, theirs(texts), strict=True) if not message}
    assert accepted == THEY_ACCEPT, "docs/errata.md lists what the Khronos parser accepts"


@pytest.mark.peers
def test_what_we_write_is_read() -> None:
    texts = [text for text in documents(100, seed=10_000) if not ours(text)]
    flat = [nnef.format_document(parse_text(text, "graph.nnef")) for text in texts]
    assert len(flat) >= 50
    assert [message for message in theirs(flat) if message] == []


@pytest.mark.peers
def test_tensor_files_both_ways(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kinds = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
    arrays = {f"a{kind.strip('?') or 'b'}": (rng.standard_normal((3, 5)) * 100).astype(kind) for kind in kinds}
    np.savez(tmp_path / "arrays.npz", **arrays)
    for name, array in arrays.items():
        (tmp_path / f"{name}.dat").write_bytes(nnef.write_dat(array))
    run("khronos_tensors.py", tmp_path / "arrays.npz", tmp_path)
    for name, array in arrays.items():
        read = np.load(tmp_path / f"{name}.npy")
        assert (read.dtype, read.tolist()) == (array.dtype, array.tolist())
        assert (tmp_path / f"{name}.theirs").read_bytes() == nnef.write_dat(array)


@pytest.mark.peers
@pytest.mark.parametrize("output", ["m.nnef", "m.nnef.tgz", "m.tar"])
def test_quantized_documents_we_write_are_read(tmp_path: Path, output: str) -> None:
    """Folder or unpacked archive: the same tensors, stored integers and lines of graph.quant."""
    source = HERE.parent / "data" / "nnef" / "ds_cnn_kws.int8.nnef.tgz"
    document = nnef.load_document(source)
    nnef.save(document, tmp_path / output)
    folder = tmp_path / output
    if folder.is_file():
        with tarfile.open(folder) as archive:
            archive.extractall(tmp_path / "unpacked", filter="data")
        folder = tmp_path / "unpacked"
    found = json.loads(run("khronos_graph.py", folder))
    quantization = nnef.own_quantization(document)
    assert set(found) == set(document.tensors)
    for name, line in quantization.lines.items():
        theirs = found[name]["quantization"]
        assert (theirs.pop("op-name"), set(theirs)) == (line.op, set(line.args))
        assert theirs["bits"] == line.args["bits"]
        np.testing.assert_allclose(theirs["scale"], line.args["scale"], rtol=1e-6)
    assert document.container is not None
    for name, operation in document.variables.items():
        stored = nnef.read_dat(document.container.read(f"{operation.arguments['label']}.dat"), name)
        assert found[name]["sum"] == stored.array.sum(dtype=np.float64)
