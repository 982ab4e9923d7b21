"""Hostile NNEF input for FUZZ_MINUTES per target: only typed errors, at most 5 s of processor time, less than 1 GiB.

    FUZZ_MINUTES=10 python -m pytest -q tests/fuzz/fuzz_nnef.py

A failure prints the seed; FUZZ_SEED starts there. The suite runs a second of each target (test_fuzz.py).
"""

from __future__ import annotations

import gzip
import io
import os
import random
import resource
import struct
import tarfile
import time
from typing import TYPE_CHECKING

import nnef_broken
import numpy as np
import pytest
from nnef_documents import WORDS, Writer, broken, tokens

from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef import mapping
from tosa_engine.frontends.nnef.build import NnefWriter
from tosa_engine.frontends.nnef.document import parse_text
from tosa_engine.frontends.nnef.files.dat import dequantized
from tosa_engine.frontends.nnef.flattening import lower
from tosa_engine.frontends.nnef.mapping import Shapes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MINUTES = float(os.environ.get("FUZZ_MINUTES", "0.1"))
FIRST = int(os.environ.get("FUZZ_SEED", "0"))
SECONDS, MEMORY = 5.0, 1 << 20  # per input; in KiB
HOSTILE = (
    "[1] * 4194304",
    "[[1] * 4000000] * 4000000",
    "'a' * 4000000",
    "9" * 5000,
    "2 ^ 63",
    "1e308 * 10.0",
    "[for i in range_of([0] * 100000) yield i]",
    "f0(f0(f0(x)))",
    "(" * 90 + "1" + ")" * 90,
    "[" * 200 + "]" * 200,
    "- " * 150 + "1",
    "1 + " * 150 + "1",
    "x[0][0][0]",
    "shape_of(x)",
    "'\\",
    "'\\\\'",
    '"\'"',
    "\0",
    "\x7f",
    "é",
    "\f",
    "#",
    "<?>",
    "< # \n ?>",
    "2147483648",
    "[-1, -1]",
    "[0]",
    "[2147483647, 2147483647]",
)
FRAGMENTS = (
    "fragment r(a: tensor<scalar>) -> (b: tensor<scalar>) { b = r(a) + r(a); }",
    ("fragment r(a: tensor<scalar>, n: integer = 0) -> (b: tensor<scalar>) { "
    "b = r(r(a, n = n + 1), n = n + 1) if n < 40 else a; }"),
    "fragment r(a: tensor<scalar>, k: integer[] = []) -> (b: tensor<scalar>) { b = r(a, k = k + k + [1]); }",
    "fragment r<?>(a: tensor<?>) -> (b: tensor<?>[]) { b = [a, a] * 100000; }",
)  # fmt: skip


def document(rng: random.Random) -> str:
    text = Writer(rng.randrange(1 << 30)).text(compositional=rng.random() < 0.8)
    if rng.random() < 0.2:
        text = rng.choice(nnef_broken.BROKEN)[1]
    if rng.random() < 0.3:
        text = text.replace("graph g", rng.choice(FRAGMENTS) + "\ngraph g").replace("relu(", "r(")
    for _ in range(rng.randint(0, 4)):
        if rng.random() < 0.4:
            words = tokens(text)
            words[rng.randrange(len(words))] = rng.choice((*HOSTILE, *WORDS))
            text = "".join(words)
        else:
            text = broken(text, rng)
    return text


def language(rng: random.Random, folder: Path) -> None:
    """Parsed, evaluated, mapped, and written: what was accepted is accepted again."""
    del folder
    found = parse_text(document(rng), "graph.nnef")
    written = nnef.format_document(found)
    assert nnef.format_document(parse_text(written, "again.nnef")) == written
    lower(found, lambda _: False, Shapes(found))
    mapping.map_operations(NnefWriter(found, {}, with_data=False), found.operations)


def tensor_file(rng: random.Random) -> bytes:
    bits, kind = rng.randint(1, 64), rng.randrange(6)
    shape = [rng.randint(0, 5) for _ in range(rng.randint(0, 4))]
    size = (int(np.prod(shape)) * bits + 7) // 8
    extents = (shape + [0] * 8)[:8]
    low, high = rng.choice((0.0, -1.0, float("nan"), 1e38)), rng.choice((0.0, 1.0, -1e38))
    numbers = (1, 0, size, len(shape), *extents, bits, kind, low, high)
    header = struct.pack("<2s2B2I8I2I2f68x", b"N\xef", *numbers)
    data = bytearray(header + rng.randbytes(size))
    for _ in range(rng.randrange(3)):
        struct.pack_into("<I", data, rng.randrange(0, 120), rng.choice((0, 1, 2, 255, 1 << 31, (1 << 32) - 1)))
    return bytes(data)


def tensor_files(rng: random.Random, folder: Path) -> None:
    del folder
    stored = nnef.read_dat(tensor_file(rng), "x.dat")
    if stored.range is not None:
        assert dequantized(stored).shape == stored.array.shape


def archive(rng: random.Random) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(
        fileobj=packed, mode="w", format=rng.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT))
    ) as tar:
        for _ in range(rng.randint(0, 4)):
            name = rng.choice(
                (
                    "graph.nnef",
                    "m/graph.nnef",
                    "w.dat",
                    "../w.dat",
                    "/w.dat",
                    "a/../../b.dat",
                    "C:\\w.dat",
                    "w" * 90,
                    "graph.quant",
                )
            )
            member, data = tarfile.TarInfo(name), b""
            member.type = rng.choice(
                (tarfile.REGTYPE,) * 5
                + (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)
            )
            if member.type == tarfile.REGTYPE:
                data = rng.choice(
                    (document(rng).encode("utf-8", "replace"), tensor_file(rng), bytes(rng.randrange(3) * 1_000_000))
                )
                member.size = len(data)
            member.linkname = rng.choice(("", "/etc/passwd", "graph.nnef"))
            tar.addfile(member, io.BytesIO(data))
    data = bytearray(packed.getvalue())
    for _ in range(rng.randrange(3)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    content = bytes(data[: rng.randrange(len(data))]) if rng.random() < 0.2 else bytes(data)
    if rng.random() < 0.5:
        squeezed = bytearray(gzip.compress(content, mtime=0))
        for _ in range(rng.randrange(2)):
            squeezed[rng.randrange(len(squeezed))] = rng.randrange(256)
        return bytes(squeezed)
    return content


def archives(rng: random.Random, folder: Path) -> None:
    path = folder / "m.nnef.tgz"
    path.write_bytes(archive(rng))
    nnef.load(path)


def quantization(rng: random.Random, folder: Path) -> None:
    del folder
    text = "'x': zero_point_linear_quantize(zero_point = 0, scale = [0.5, 1e-3], bits = 8, signed = true);\n" * 2
    for _ in range(rng.randint(1, 4)):
        words = tokens(text)
        words[rng.randrange(len(words))] = rng.choice((*HOSTILE, *WORDS))
        text = "".join(words)
    nnef.parse_quant(text, "graph.quant")


QUANTIZED = """version 1.0;
extension KHR_enable_fragment_definitions;
fragment own(x: tensor<scalar>, scale: scalar) -> (y: tensor<scalar>) { y = mul(x, scale); }
graph g(x) -> (y)
{
    x = external(shape = [1, 2, 3, 3]); w = variable(shape = [4, 2, 1, 1], label = 'w');
    c = conv(x, w); r = relu(c); y = min_max_linear_quantize(r, 0.0, 2.0, bits = 8, signed = false, symmetric = false);
}
"""
LINES = (
    "'x': zero_point_linear_quantize(zero_point = 3, scale = 0.5, bits = 8, signed = true, symmetric = false);",
    "'w': zero_point_linear_quantize(zero_point = 0, scale = [0.5, 1.0], bits = 8, signed = true, symmetric = true);",
    "'w': min_max_linear_quantize(min = -1.0, max = [1.0, 2.0, 3.0, 4.0], bits = 8, signed = true, symmetric = false);",
    "'c': linear_quantize(min = -1.0, max = 1.0, bits = 8);",
    "'w': logarithmic_quantize(max = 2.0, bits = 8);",
    "'r': own(scale = 0.5);",
)


def quantized_documents(rng: random.Random, folder: Path) -> None:
    """A graph.quant that is applied to its document, stored codes included."""
    model = folder / "q.nnef"
    if not model.exists():
        model.mkdir()
        (model / "graph.nnef").write_text(QUANTIZED, encoding="utf-8")
        codes = np.arange(-4, 4, dtype=np.int8).reshape(4, 2, 1, 1)
        (model / "w.dat").write_bytes(nnef.write_dat(codes, quantized=True))
    text = "\n".join(rng.sample(LINES, rng.randint(1, 4)))
    for _ in range(rng.randint(0, 3)):
        words = tokens(text)
        words[rng.randrange(len(words))] = rng.choice((*HOSTILE, *WORDS, "-0.0", "1e-45", "3e38", "127", "true", "'w'"))
        text = "".join(words)
    (model / "graph.quant").write_text(text, encoding="utf-8", errors="replace")
    nnef.load(model, strict=rng.random() < 0.2, inverted_scales=rng.choice((None, True, False)))


TARGETS: dict[str, Callable[[random.Random, Path], None]] = {
    "language": language, "tensor files": tensor_files, "archives": archives, "quantization": quantization,
    "quantized documents": quantized_documents,
}  # fmt: skip


def fuzz(target: str, seconds: float, folder: Path, first: int = FIRST) -> tuple[int, int, float]:
    """How many inputs were tried and accepted, and the longest time of one."""
    seed, accepted, longest = first, 0, 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.process_time()
        try:
            TARGETS[target](random.Random(seed), folder)
            accepted += 1
        except TosaEngineError:
            pass
        except BaseException as error:
            raise AssertionError(f"{target}: seed {seed}: {type(error).__name__}: {error}") from error
        longest = max(longest, time.process_time() - start)
        assert longest < SECONDS, f"{target}: seed {seed} took {longest:.1f} s"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert peak - before < MEMORY, f"{target}: seed {seed} took {(peak - before) >> 10} MiB"
        seed += 1
    return seed - first, accepted, longest


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_input(target: str, tmp_path: Path, report: Callable[[str], None]) -> None:
    tried, accepted, longest = fuzz(target, MINUTES * 60, tmp_path)
    report(f"{target}: {tried} inputs, {accepted} of them legal, the slowest took {longest:.2f} s")
    assert 0 < accepted < tried
