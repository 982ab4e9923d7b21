"""Where a difference is; several faults in one dump; faults of the dump alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from devices import Files, scaled_by
from nets import Net

from tosa_engine import arrays, types
from tosa_engine.compare.where import where

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array


def differing(shape: tuple[int, ...], *place: Any) -> Array:
    found = np.zeros(shape, bool)
    found[place] = True
    return found


@pytest.mark.parametrize(
    ("different", "text"),
    [
        (differing((1, 8, 8, 32), ..., 16), "channel 16 only"),
        (differing((1, 16, 16, 4), 0, slice(8, 16), slice(8, 16)), "rows 8-15, columns 8-15 only"),
        (differing((1, 4, 4, 32), ..., slice(3, None, 4)), "every 4th channel from 3 to 31 only"),
        (differing((1, 100), 0, slice(5, None, 16)), "every 16th channel from 5 to 85 only"),
        (differing((7, 7), range(7), range(7)), "every 8th element, from element 0"),
        (differing((2, 3), ...), "every element"),
        (differing((2, 3), 1, 1), ""),
        (differing((1, 2, 2, 8), ..., [0, 3, 7]), "channels 0, 3, 7 only"),
        (differing((1, 1, 1, 40), ..., [0, 3, 7, 8, 21]), "5 of 40 channels (0, 3, 7, 8, ...) only"),
        (differing((1, 4, 4, 2), 0, [0, 1, 2], [0, 1, 3], 1), "33 % of rows 0-2, columns 0, 1, 3, channel 1"),
        (differing((3, 3), [0, 1, 2, 2], [0, 2, 1, 0]), "44 % of the elements, all over"),
    ],
)
def test_where_in_words(different: Array, text: str) -> None:
    assert where(different) == text


def chain() -> Graph:
    """Four RESCALEs of int8, each of the one before it, with ties."""
    net = Net(5)
    name = net.input("x", types.i8, 1, 4, 4, 8)
    for i in range(4):
        name = net.rescale(f"y{i}", name, types.i8, types.i8, 31, zero=(i - 1, 2 * i), multiplier=[(1 << 30) + 77 * i])
    return net.done("y3")


def truncated(v: int, m: int, s: int) -> int:
    return (v * m) >> s


def compared(command, files: Files) -> dict[str, Any]:
    outcome = command("compare", files.model, files.dump, "-i", files.inputs, "--format", "json")
    assert outcome.code == 1, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)[0]
    return found | {"text": command("compare", files.model, files.dump, "-i", files.inputs).out}


def test_two_faults_in_one_dump_are_both_found(command, tmp_path: Path) -> None:
    files = Files(tmp_path, chain)
    files.write_dump({"y0": scaled_by(truncated), "y2": scaled_by(truncated)})
    found = compared(command, files)
    truncation = "truncation towards minus infinity instead of SINGLE_ROUND"
    assert found["first"] == "y0"
    assert truncation in [cause["text"] for cause in found["causes"]]
    (other,) = found["others"]
    assert other["here"] == "y2"
    assert truncation in [cause["text"] for cause in other["causes"]]
    local = {row["here"]: row["local"] for row in found["tensors"]}
    assert local["y1"] == local["y3"] == 0
    assert "another difference: 'y2' has " in found["text"]
    assert "2 of the tensors that differ are right for what they were computed from" in found["text"]


def test_what_is_wrong_in_the_dump_alone(command, tmp_path: Path) -> None:
    files = Files(tmp_path, chain)
    files.write_dump({})
    with np.load(files.dump) as dump:
        given = dict(dump)
    given["y1"] = given["y1"] + np.int8(9)
    arrays.write(files.dump, given)
    found = compared(command, files)
    assert [row["here"] for row in found["tensors"] if row["dump_fault"]] == ["y1"]
    assert found["others"] == []
    assert "'y1' differs, but what reads it agrees: this tensor is wrong in the dump alone" in found["text"]


def test_a_fault_that_consumers_pass_on_is_not_of_the_dump(command, tmp_path: Path) -> None:
    files = Files(tmp_path, chain)
    files.write_dump({"y1": scaled_by(truncated)})
    found = compared(command, files)
    assert not any(row["dump_fault"] for row in found["tensors"])
    assert found["others"] == []
