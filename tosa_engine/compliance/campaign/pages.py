"""Results for people and for other tools: Markdown, one page of HTML, JUnit XML, JSON."""

from __future__ import annotations

import json
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from ...text import shown
from ..coverage import tables
from ..judge import Status

if TYPE_CHECKING:
    from .record import Failure, Record, Results

COLUMNS: Final = [status.value for status in Status]
BAD: Final = [status.value for status in Status if not status.good]
STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2330; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; } th, td { padding: .25rem .6rem; text-align: right; }
th { font-weight: 600; border-bottom: 2px solid #9aa5b5; } td { border-bottom: 1px solid #e2e7ee; }
th:first-child, td:first-child, td.text, th.text { text-align: left; } tr.bad td { background: #fdecea; }
td.none { color: #b8c0cc; } .verdict { font-size: 1.1rem; padding: .5rem .8rem; border-radius: .4rem; }
.good { background: #e3f4e7; } .failed { background: #fbdcd8; } code { font-size: .88em; }
article { border-left: 4px solid #c4432f; padding: .1rem 1rem; margin: 1rem 0; background: #fafbfc; }
dt { font-weight: 600; float: left; clear: left; width: 9rem; } dd { margin: 0 0 .25rem 9rem; overflow-wrap: anywhere; }
summary { cursor: pointer; } details { margin: .3rem 0; }
@media (prefers-color-scheme: dark) { body { background: #14181f; color: #d8dee8; } td { border-color: #2b323d; }
 tr.bad td, .failed { background: #4a201b; } .good { background: #1d3d27; } article { background: #1a2029; } }
"""


def as_json(results: Results) -> str:
    return json.dumps(results.data(), indent=1) + "\n"


def headline(results: Results) -> str:
    """How many tests ended how, and of how many kinds the failures are."""
    counts = results.counts()
    parts = [f"{counts[name]} {name}" for name in COLUMNS if counts[name]]
    count = len(results.failures)
    kinds = f"; {count} kind{'s' if count > 1 else ''} of failures" if count else ""
    return f"{len(results.records)} tests: {', '.join(parts) or 'none'}{kinds}"


def failure_lines(failure: Failure) -> list[tuple[str, str]]:
    """What is said of a kind of failure: names and texts."""
    small = f"{', '.join(failure.operators)}; the largest tensor has {failure.elements} elements"
    found = [
        ("probably", failure.cause), ("found", failure.text), ("small test", small if failure.operators else ""),
        ("files", f"failures/{failure.folder}" if failure.folder else ""),
        ("first test", failure.name), ("tests", str(failure.tests)),
    ]  # fmt: skip
    return [(name, shown(text, 400)) for name, text in found if text]


def by_operator(results: Results) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for (operator, _), counts in results.by_row().items():
        found.setdefault(operator, Counter()).update(counts)
    return found


def as_markdown(results: Results) -> str:
    lines = ["# Compliance", "", f"Engine: `{shown(str(results.settings['engine']))}`", "", headline(results), ""]
    if results.failures:
        lines += ["## Failures", ""]
    for failure in results.failures:
        lines += [f"### {failure.name.split('/')[0]}: {failure.status}", ""]
        lines += [f"- {name}: {_cell(text)}" for name, text in failure_lines(failure)] + [""]
    lines += ["## Operators and rows", "", f"| operator | row | tests | {' | '.join(COLUMNS)} |"]
    lines += ["|---|---|" + "---:|" * (len(COLUMNS) + 1)]
    for (operator, row), counts in results.by_row().items():
        cells = " | ".join(str(counts[name] or "") for name in COLUMNS)
        lines.append(f"| {operator} | {row} | {counts.total()} | {cells} |")
    if results.coverage is not None:
        lines += ["", "## Coverage", "", tables.as_markdown(results.coverage).rstrip()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def as_junit(results: Results) -> str:
    """A test case for each test, a suite for each operator."""
    root = ET.Element("testsuites", name="tosa-engine comply")
    groups: dict[str, list[Record]] = {}
    for record in results.records:
        groups.setdefault(record.operator, []).append(record)
    for operator, records in groups.items():
        failed = sum(1 for record in records if not record.status.good)
        counts = {"name": operator, "tests": str(len(records)), "failures": str(failed)}
        counts["skipped"] = str(sum(1 for record in records if record.status is Status.UNSUPPORTED))
        suite = ET.SubElement(root, "testsuite", counts)
        for record in records:
            case = ET.SubElement(suite, "testcase", classname=operator, name=record.name)
            if record.status is Status.UNSUPPORTED:
                ET.SubElement(case, "skipped", message=_plain(record.text))
            elif not record.status.good:
                ET.SubElement(case, "failure", type=record.status.value, message=_plain(record.text))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _plain(text: str) -> str:
    """Without what XML can't hold."""
    return shown(text, 600)


def as_html(results: Results) -> str:
    """One page without anything from elsewhere."""
    verdict = "failed" if not results.good else "good"
    settings = ", ".join(f"{name} {_said(value)}" for name, value in results.settings.items() if _said(value))
    body = [
        "<h1>Compliance</h1>",
        f"<p>Engine: <code>{escape(shown(str(results.settings['engine'])))}</code></p>",
        f'<p class="verdict {verdict}">{escape(headline(results))}</p>',
    ]
    if results.failures:
        body.append("<h2>Failures</h2>")
    for failure in results.failures:
        items = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in failure_lines(failure))
        title = f"{failure.name.split('/')[0]}: {failure.status}"
        body.append(f"<article><h3>{escape(title)}</h3><dl>{items}</dl></article>")
    body += ["<h2>Operators and rows</h2>", _table(results)]
    if results.coverage is not None:
        body += ["<h2>Coverage</h2>", tables.as_html(results.coverage)]
    body.append(f"<details><summary>Settings</summary><p><code>{escape(settings)}</code></p></details>")
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Compliance</title>'
    page = f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>'
    return page + "<body>\n" + "\n".join(body) + "\n</body></html>\n"


def _said(value: object) -> str:
    return shown(" ".join(map(str, value)) if isinstance(value, list) else str(value), 600)


def _table(results: Results) -> str:
    heads = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = []
    for operator, total in by_operator(results).items():
        rows.append(_row(f"<b>{escape(operator)}</b>", total))
        parts = [(row, c) for (name, row), c in results.by_row().items() if name == operator]
        if len(parts) > 1:
            rows += [_row(f"&emsp;{escape(row)}", counts) for row, counts in parts]
    return f'<table><tr><th class="text">operator</th><th>tests</th>{heads}</tr>{"".join(rows)}</table>'


def _row(title: str, counts: Counter[str]) -> str:
    cells = "".join(f"<td>{counts[name]}</td>" if counts[name] else '<td class="none">·</td>' for name in COLUMNS)
    bad = ' class="bad"' if any(counts[name] for name in BAD) else ""
    return f"<tr{bad}><td>{title}</td><td>{counts.total()}</td>{cells}</tr>"
