"""The table of docs/stablehlo.md is the one that its command makes."""

from __future__ import annotations

import generate_stablehlo


def test_the_table_is_of_today() -> None:
    text = generate_stablehlo.PAGE.read_text(encoding="utf-8")
    assert text[text.index(generate_stablehlo.START) :] == generate_stablehlo.section()


def test_every_operation_has_a_family_and_a_way() -> None:
    rows = generate_stablehlo.rows()
    assert len(rows) > 110
    assert all(row.split("|")[2].strip() for row in rows)
