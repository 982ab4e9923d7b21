"""Totals of test runs: read from the official runner's closing lines, added up, shown."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

from ..errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Totals:
    """How many tests ended how, in the official runner's words and order."""

    expected_pass: int = 0
    expected_failure: int = 0
    unexpected_pass: int = 0
    unexpected_failure: int = 0
    internal_error: int = 0
    skipped: int = 0

    @property
    def count(self) -> int:
        """All tests."""
        return sum(astuple(self))

    @property
    def good(self) -> bool:
        """Every test ran and ended as expected."""
        return self.expected_pass + self.expected_failure == self.count

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, f.name)} {f.name}" for f in fields(self))

    @classmethod
    def parse(cls, output: str, module: str) -> Totals:
        """The totals of `module` in what the official runner printed; its exit status doesn't tell.

        Raises:
            DataError: there isn't exactly one line of totals for the module, or it isn't of the known form.
        """
        found = re.findall(rf"^Totals \({re.escape(module)}\): (.*)$", output, re.MULTILINE)
        if len(found) != 1:
            raise DataError(f"the test runner printed {len(found)} lines of totals for {module}, not one")
        counts = {name: int(n) for n, name in re.findall(r"(\d+) (\w+)", found[0])}
        if list(counts) != [f.name for f in fields(cls)]:
            raise DataError(f"the test runner's totals have an unknown form: {found[0]}")
        return cls(**counts)


def table(totals: Mapping[str, Totals]) -> str:
    """A Markdown table: one line per operator, then the sum."""
    heads = [f.name.replace("_", " ") for f in fields(Totals)]
    lines = [f"| operator | tests | {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) + 1)]
    lines += [_line(name, one) for name, one in totals.items()]
    return "\n".join([*lines, _line("**all**", sum(totals.values(), Totals()))]) + "\n"


def _line(name: str, totals: Totals) -> str:
    return f"| {name} | {' | '.join(str(n) for n in (totals.count, *astuple(totals)))} |"
