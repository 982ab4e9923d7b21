"""The call of `quantize` that made a model, from its record."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tosa_engine.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..improve.trial import Kept

# of what isn't about the network itself, or is about samples that test it
LEFT_OUT: Final = frozenset({"output", "model", "accept", "accept_data", "targets"})
SEPARATORS: Final = {"image_size": "x"}


def scales_of(settings: dict[str, Any]) -> Kept:
    """What channels were divided by, taken out of a record. Raises DataError."""
    found = settings.pop("scales", [])
    try:
        return [(str(name), [int(exponent) for exponent in exponents]) for name, exponents in found]
    except (TypeError, ValueError) as problem:
        raise DataError(f"the record of the model has no scales of channels: {problem}") from problem


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise DataError(f"the record of the model has other options than `quantize`: {message}")


def words_of(settings: Mapping[str, Any], model: str) -> tuple[str, ...]:
    """`quantize MODEL` and the flags of a record, without the output."""
    words = ["quantize", model]
    for action in _parser()._actions:
        value = settings.get(action.dest)
        if action.option_strings and action.dest not in LEFT_OUT and value not in (None, False, [], action.default):
            words += _flag(action, value)
    return tuple(words)


def parsed(words: tuple[str, ...]) -> argparse.Namespace:
    """What `quantize` makes of these words. Raises DataError."""
    return _parser().parse_args([*words[1:], "-o", "-"])


def _flag(action: argparse.Action, value: Any) -> Iterator[str]:
    flag = action.option_strings[0]
    if action.nargs == 0:
        yield flag
    elif isinstance(action.default, list) or "Append" in type(action).__name__:
        for part in value if isinstance(value, list) else [value]:
            yield from (flag, str(part))
    elif isinstance(value, list):
        yield from (flag, SEPARATORS.get(action.dest, ",").join(map(_text, value)))
    else:
        yield from (flag, _text(value))


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parser() -> argparse.ArgumentParser:
    from .quantize import quantize

    parser = _Parser()
    quantize.add_arguments(parser)
    return parser
