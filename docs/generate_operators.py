"""Writes docs/operators.md from the op table. `make docs` runs it; a test keeps the page fresh."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tosa_engine.spec import FAMILIES
from tosa_engine.versions import V1_0

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tosa_engine.spec import Argument, Attribute, OpSpec, Row
    from tosa_engine.versions import Version

PAGE = Path(__file__).with_name("operators.md")
INTRODUCTION = """# Operators

Made from the op table (`tosa_engine/spec/`) by `make docs`: change the table, not this page.

*Rows* are the supported combinations of types; each has one kernel and one oracle of the same key. *Rules* carry the
labels that errors show: `E` an ERROR_IF, `L` a limit of the level, `R` a REQUIRE on values. Names in braces stand for
what the message shows. `ctc` marks inputs that must be compile-time constants. *Since* is the version of TOSA that an
operator, a row or an attribute came with; without it, 1.0.
"""


def page() -> str:
    """The whole page as Markdown."""
    lines = [INTRODUCTION]
    for family in FAMILIES:
        title = (family.__doc__ or "").splitlines()[0].rstrip(".")
        lines.append(f"## {title}\n")
        for spec in family.OPERATORS:
            lines += operator(spec)
    return "\n".join(lines).rstrip() + "\n"


def operator(spec: OpSpec) -> list[str]:
    inputs = [argument(a, "input") for a in spec.inputs]
    outputs = [argument(a, "output") for a in spec.outputs]
    arguments = [*inputs, *(attribute(a) for a in spec.attributes), *outputs]
    type_names = list(spec.rows[0].types)
    return [
        f"### {spec.name}\n",
        f"Specification {spec.section}; operator {spec.code} of the flatbuffer schema{since(spec.since, '; ')}.\n",
        *table(("argument", "kind", "type", "shape", "rank"), arguments),
        *table(("row", "mode", *type_names, "needs"), (row(r, type_names) for r in spec.rows)),
        *table(("rule", "says"), rules(spec)),
    ]


def argument(a: Argument, kind: str) -> tuple[str, ...]:
    low, high = a.rank
    rank = str(low) if low == high else f"{low} to {'MAX_RANK' if high is None else high}"
    marks = [kind, *(["ctc"] if a.ctc else []), *(["list"] if a.is_list else [])]
    return f"`{a.name}`", ", ".join(marks), f"`{a.type}`", f"`{a.shape}`", rank


def attribute(a: Attribute) -> tuple[str, ...]:
    marks = f"attribute{', optional' if a.optional else ''}{since(a.since, ', ')}"
    return f"`{a.name}`", marks, f"`{a.type or a.kind}`", "", ""


def row(r: Row, type_names: Sequence[str]) -> tuple[str, ...]:
    needs = " or ".join(" and ".join(together) for together in r.needs)
    return f"`{r.key}`", r.mode, *(r.types[name].name for name in type_names), needs + since(r.since, ", ")


def since(version: Version, before: str) -> str:
    """The version that something came with, after `before`; nothing where it is the first."""
    return "" if version == V1_0 else f"{before}since {version}"


def rules(spec: OpSpec) -> Iterable[tuple[str, str]]:
    for check in spec.checks:
        yield f"`{check.label}`", check.message
    for i, limit in enumerate(spec.limits, 1):
        yield f"`{spec.name}.L{i}`", f"{limit.value} <= {limit.limit.upper()}"
    for require in spec.requires:
        yield f"`{require.label}`", require.text


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table with an empty line after it; nothing where there are no rows."""
    cells = [[cell.replace("|", "\\|") for cell in line] for line in rows]
    if not cells:
        return []
    lines = [heads, ["---"] * len(heads), *cells]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
