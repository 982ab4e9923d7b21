"""RESULTS.md, whose sections commands write anew."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).with_name("RESULTS.md")


def record(heading: str, text: str, page: Path = PAGE) -> None:
    """Replace the section under `## heading`, up to the next one, or add it at the end."""
    before, found, rest = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    after = rest.partition("\n## ")
    end = f"\n## {after[2]}" if after[1] else ""
    page.write_text(f"{before if found else before.rstrip() + chr(10)}\n## {heading}\n\n{text.strip()}\n{end}", "utf-8")
