"""Every field of every file that is no model, broken: an error of ours on one line, or success, through the verb."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import every_field
import numpy as np
import pytest
from limits import within_limits

from tosa_engine.frontends import nnef
from tosa_engine.qparams import trailer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DOCUMENT = """version 1.0;
graph net(x) -> (y)
{
    x = external(shape = [1, 2]);
    w = variable(shape = [2, 2], label = 'w');
    y = matmul(x, w);
}
"""
DATA = "--statistics net.stats.json --random 1"
MAKE = (
    "calibrate net.nnef --random 2 --statistics net.stats.json -o graph.quant",
    "quantize net.nnef --statistics net.stats.json -o q.json",
    "convert q.json -o q.tosa",
    f"sensitivity net.nnef {DATA} --journal journal.jsonl",
    "run net.nnef -i x.npy --dump-intermediates dump -o all.npz",
)


@dataclass(frozen=True)
class Kind:
    """A file, the command line that reads it, and one in how many ways `make test` takes."""

    file: str
    line: str
    share: int


KINDS = {
    "sidecar": Kind("q.qparams.json", "inspect q.json", 9),
    "scales in .tosa": Kind("q.tosa", "inspect q.tosa", 9),
    "report's record": Kind("q.tosa", "report net.nnef q.tosa --random 1 --suggest 0 -o out.json", 97),
    "statistics": Kind("net.stats.json", "quantize net.nnef --statistics net.stats.json -o out.tosa", 23),
    "merged": Kind("net.stats.json", "calibrate net.nnef --merge net.stats.json -o out.quant", 23),
    "resumed": Kind(
        "net.stats.json", "calibrate net.nnef --random 2 --resume --statistics net.stats.json -o out.quant", 61
    ),
    "journal": Kind("journal.jsonl", f"sensitivity net.nnef {DATA} --journal journal.jsonl --resume", 23),
    "index": Kind("dump/index.json", "compare dump all.npz", 7),
    "map": Kind("map.json", "compare net.nnef all.npz -i x.npy --map map.json", 7),
    "layers": Kind("layers.txt", "quantize net.nnef --statistics net.stats.json --layers layers.txt -o out.tosa", 3),
    "dat": Kind("net.nnef/w.dat", "check net.nnef", 3),
}
LAYERS = (
    "", "=", "y", "y=", "=int8", "y=int8=int8", "y=int7", "y = int8", "y=int8\ny=int8", "op:=int8", "op:MATMUL=int16",
    "*=float", "[=int8", "y=\x1b[2J", "\x00=int8", "\udcff=int8", "y=" + "9" * 100_000, "*" * 5000 + "=int8", "#",
    "y=nan", "y=int8\r\n" * 3, "z" * 100_000 + "=int8", "\n" * 100_000, "y=int16 # note", "[a=int8\n]=int8",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    from tosa_engine.cli import main

    made, before = tmp_path_factory.mktemp("fields"), os.getcwd()
    os.chdir(made)
    (made / "net.nnef").mkdir()
    (made / "net.nnef" / "graph.nnef").write_text(DOCUMENT, encoding="utf-8")
    (made / "net.nnef" / "w.dat").write_bytes(nnef.write_dat(np.array([[1, 2], [3, 4]], np.float32)))
    (made / "map.json").write_text('{"y": "y"}', encoding="utf-8")
    (made / "layers.txt").write_text("y=int16\n", encoding="utf-8")
    np.save("x.npy", np.ones((1, 2), np.float32))
    for line in MAKE:
        assert main(line.split()) == 0, line
    yield made
    os.chdir(before)


def broken(kind: Kind, data: bytes) -> Iterator[tuple[str, bytes]]:
    if kind.file.endswith(".dat"):
        yield from every_field.broken_dat(data)
    elif kind.file.endswith(".tosa"):
        yield from every_field.broken_trailer(data, trailer.MAGIC)
    elif kind.file.endswith(".txt"):
        yield from ((line[:20], line.encode("utf-8", "surrogateescape")) for line in LAYERS)
    elif kind.file.endswith(".jsonl"):
        lines = data.splitlines(keepends=True)
        for number in (0, 1):
            for place, text in every_field.broken_json(lines[number].decode()):
                yield (
                    f"line {number + 1}: {place}",
                    b"".join([*lines[:number], text.encode(), b"\n", *lines[number + 1 :]]),
                )
    else:
        for place, text in every_field.broken_json(data.decode()):
            yield place, text.encode()


def look(kind: Kind, folder: Path, command: Callable[..., object], share: int, first: int = 0) -> None:
    path = folder / kind.file
    data, problems, refused = path.read_bytes(), [], 0
    try:
        for place, content in [*broken(kind, data)][first::share]:
            path.write_bytes(content)
            with within_limits():
                done = command(*kind.line.split())
            refused += done.code > 0
            said = [c for c in done.err + done.out if not c.isprintable() and c not in "\n\t"]
            if done.code not in range(7) or said or "\nFORGED" in done.err + done.out or len(done.err) > 20_000:
                problems.append(f"{kind.line}: {place}: {done.code}: {done.err[-300:]}")
    finally:
        path.write_bytes(data)
    assert not problems, f"{len(problems)}:\n" + "\n".join(problems)
    assert refused


@pytest.mark.parametrize("name", KINDS)
def test_some_fields(name: str, folder: Path, command: Callable[..., object]) -> None:
    look(KINDS[name], folder, command, KINDS[name].share)


@pytest.mark.slow("every field of every file in every way: thousands of command lines")
@pytest.mark.parametrize("name", KINDS)
def test_every_field(name: str, folder: Path, command: Callable[..., object]) -> None:
    look(KINDS[name], folder, command, 1)
