"""docs/nnef-operations.md: every operation is in it at every rank, and what it says is what comes out today."""

from __future__ import annotations

import re

import generate_nnef_operations as generator
import pytest
from nnef_examples import EXAMPLES

from tosa_engine.frontends.nnef.language.library import standard_library

PARTS = 6
PAGE = generator.PAGE.read_text(encoding="utf-8")


def table() -> dict[str, list[str]]:
    """Operation -> its rows; a row without a name belongs to the one before."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in PAGE.splitlines():
        if not re.match(r"\| +(`|\| [0-9])", line):
            continue
        given = re.match(r"\| `(\w+)`", line)
        name = given[1] if given else name
        found.setdefault(name, []).append(line)
    return found


ROWS = table()


def test_no_operation_is_missing() -> None:
    assert list(ROWS) == list(standard_library())
    assert set(EXAMPLES) == set(standard_library())


@pytest.mark.parametrize("name", standard_library())
def test_float_is_there_at_every_rank(name: str) -> None:
    found = EXAMPLES[name]
    ranks = {n + 2 for example in (found if isinstance(found, tuple) else (found,)) for n in example.axes}
    assert ranks == ({2} if name == "linear" else {3, 4, 5})
    seen: set[int] = set()
    for row in ROWS[name]:
        _, _, rank, form, shape, _, _ = (cell.strip() for cell in row.split("|"))
        low, _, high = rank.partition(" - ")
        if form == "float":
            assert "refused" not in shape
            seen |= set(range(int(low), int(high or low) + 1))
        else:
            assert form in ("int8", "int16")
    assert seen == ranks
    for bits in generator.BITS:
        assert any(f"| int{bits} |" in row for row in ROWS[name])


@pytest.mark.slow("computes every operation at every rank in three widths")
@pytest.mark.parametrize("part", range(PARTS))
def test_the_table_is_fresh(part: int) -> None:
    for name in list(standard_library())[part::PARTS]:
        assert generator.rows_of(name) == ROWS[name], "run `make docs`"
