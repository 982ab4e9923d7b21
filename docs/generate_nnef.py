"""Writes the table of rules in docs/nnef.md from `frontends/nnef/language/rules.py`."""

from __future__ import annotations

from pathlib import Path

from tosa_engine.frontends.nnef.language.rules import RULES

PAGE = Path(__file__).with_name("nnef.md")


def page() -> str:
    """The page with a fresh table."""
    before, rest = PAGE.read_text(encoding="utf-8").split("## Rules\n", 1)
    introduction = rest.lstrip("\n").split("\n\n")[0]
    after = rest[rest.index("## Limits\n") :]
    rows = [f"| `{label}` | {section} | {rule} |" for label, (section, rule) in RULES.items()]
    table = "\n".join(["| label | section | rule |", "|---|---|---|", *rows])
    return f"{before}## Rules\n\n{introduction}\n\n{table}\n\n{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
