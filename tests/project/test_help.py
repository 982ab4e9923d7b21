"""`--help` of every verb: an example that the verb takes, groups of flags, a text and the default of each."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

import pytest

from tosa_engine import cli
from tosa_engine.commands import GROUP
from tosa_engine.plugins import added

if TYPE_CHECKING:
    from collections.abc import Iterator

VERBS = sorted(entry.name for entry in added(GROUP))
MOST_TOGETHER = 10
UNGROUPED = 8  # with -h and -v


def parser_of(verb: str) -> argparse.ArgumentParser:
    parser = cli._build_parser([verb])
    (verbs,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    found = verbs.choices[verb]
    assert isinstance(found, argparse.ArgumentParser)
    return found


def shown_default(action: argparse.Action) -> str:
    """The default that a user has to know, as it is shown; nothing where leaving the flag out leaves something out."""
    value = action.default
    if action.nargs == 0 or value is None or value == [] or value is argparse.SUPPRESS:
        return ""
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def flags(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.Action, str]]:
    formatter = parser._get_formatter()
    assert isinstance(formatter, cli._Help)
    for action in parser._actions:
        if action.help is not argparse.SUPPRESS:
            yield action, formatter._expand_help(action) if action.help else ""


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = parser_of(verb)
    for action, text in flags(parser):
        name = "/".join(action.option_strings) or action.dest
        assert len(text) > 5, f"{verb} {name} has no help"
        if default := shown_default(action):
            said = text.partition("default")[2]
            assert default in said or float_in(default, said), f"{verb} {name}: '{text}' doesn't say default {default}"
    sizes = {group.title: len(group._group_actions) for group in parser._action_groups}
    assert max(size for title, size in sizes.items() if title != "options") <= MOST_TOGETHER, sizes
    assert sizes["options"] <= UNGROUPED, sizes
    assert cli.main([verb, "--help"]) == 0
    examples = [line for line in capsys.readouterr().out.partition("\nexample:\n")[2].splitlines() if line]
    assert examples, f"{verb} --help has no example"
    for line in examples:
        program, *arguments = shlex.split(line)
        assert (program, arguments[0]) == ("tosa-engine", verb)
        assert cli._build_parser(arguments).parse_args(arguments).verb == verb


def float_in(default: str, said: str) -> bool:
    """Whether a number is shown in another form: 0 for 0.0."""
    try:
        return f"{float(default):g}" in said
    except ValueError:
        return False
