"""Warnings of models: one line for each kind with a count, all of them with -v, none with --quiet, in every verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine.commands.told import by_kind
from tosa_engine.frontends import nnef

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS = "attribute 'axes' of '{}' must be named"


@pytest.fixture
def bent(tmp_path: Path) -> Path:
    """A model with two kinds of warnings: one of one, one of three."""
    folder = tmp_path / "m.nnef"
    folder.mkdir()
    text = """version 1.0;
graph g(x) -> (y) {
x = external<scalar>(shape = [2, 3]);
a = softmax(x, [0]);
b = softmax(x, [1]);
c = sum_reduce(x, [1]);
d = mul(a, b);
e = add(d, c);
y = mul(e, 2);
}
"""
    (folder / "graph.nnef").write_text(text)
    np.save(tmp_path / "x.npy", np.float32([[1, 2, 3], [4, 5, 6]]))
    return folder


def test_warnings_of_one_kind_differ_in_names_shapes_numbers_and_places() -> None:
    warnings = [
        "a/b.nnef:3:10: NNEF.A8: attribute 'axes' of 'softmax' must be named",
        "'conv': bias of shape [8]; the standard has [1, 8]",
        "a/b.nnef:14:1: NNEF.A8: attribute 'axis' of 'concat' must be named",
        "'conv': bias of shape [16]; the standard has [1, 16]",
        "a/b.nnef:14:1: NNEF.A2: attribute 'axis' of 'concat' must be named",
        "'deconv': bias of shape [16, 2]; the standard has [1, 1e-05]",
    ]
    assert by_kind(warnings) == [
        f"{warnings[0]} (and 1 more like this: -v lists them)",
        f"{warnings[1]} (and 2 more like this: -v lists them)",
        warnings[4],
    ]
    assert by_kind([]) == []


VERBS: dict[str, list[object]] = {
    "check": [],
    "inspect": [],
    "run": ["-i", "x.npy"],
    "convert": ["-o", "y.tosa"],
    "compare": ["m.nnef", "-i", "x.npy"],
    "calibrate": ["--random", "2", "-o", "y.quant"],
    "quantize": ["--random", "2", "-o", "y.tosa"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_opens_models(
    bent: Path, verb: str, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bent.parent)
    axes = [f"m.nnef/graph.nnef:{line}: NNEF.A8: {WORDS.format(name)}" for line, name in
            (("4:16", "softmax"), ("5:16", "softmax"), ("6:19", "sum_reduce"))]  # fmt: skip
    two = "m.nnef/graph.nnef:9:12: NNEF.T4: argument 'y' must be a tensor of scalars, got the integer 2"

    def told(*flags: str) -> list[str]:
        lines = command(verb, "m.nnef", *VERBS[verb], *flags).err.splitlines()
        return [line.removeprefix("warning: ") for line in lines if "NNEF." in line]

    assert told() == [f"{axes[0]} (and 2 more like this: -v lists them)", two]
    assert told("-v") == [*axes, two]
    assert told("--quiet") == []
    assert told("-q") == []


def test_the_next_command_line_hears_of_warnings_again(bent: Path, command: Callable[..., Any]) -> None:
    assert command("-q", "check", bent).err == ""
    assert command("check", bent).err.count("warning: ") == 2
    assert len(nnef.load(bent).warnings) == 4
