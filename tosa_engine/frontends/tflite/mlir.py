"""What has to be done to the text of MLIR between the two tools, and names as MLIR writes them."""

from __future__ import annotations

import re
from typing import Final

from ...errors import Unsupported, raise_all

_CAST: Final = re.compile(
    r"\s*(?P<new>%\w+) = builtin\.unrealized_conversion_cast (?P<old>%\w+) : (?P<before>\S+) to (?P<after>\S+)"
    r"(?: loc\(.*\))?\s*$"
)
_RESULTS: Final = re.compile(r"\s*(%\w+(?::\d+)?(?:, %\w+(?::\d+)?)*) = ")
_WORDS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|%\w+')
_LEFT: Final = re.compile(r'^\s*(?:%[^"=]* = )?"(tfl\.\w+)"\([^\n]*?(?:loc\((#\w+)\))?$', re.MULTILINE)
_ALIAS: Final = re.compile(r"^(#\w+) = (loc\([^\n]*)$", re.MULTILINE)
_ESCAPE: Final = re.compile(rb"\\(\\|[0-9A-Fa-f]{2})")


def without_casts(text: str, name: str) -> str:
    """The module without `unrealized_conversion_cast`, which the converter leaves behind where models have variables.

    Raises Unsupported for one between different types.
    """
    if "unrealized_conversion_cast" not in text:
        return text
    kept, instead = [], dict[str, str]()
    for line in text.splitlines(keepends=True):
        cast = _CAST.match(line)
        if cast is None:
            made = _RESULTS.match(line)
            for value in re.findall(r"%\w+", made[1]) if made is not None else ():
                instead.pop(value, None)  # another region numbers its values anew
            kept.append(_WORDS.sub(lambda word: instead.get(word[0], word[0]), line))
            continue
        if cast["before"] != cast["after"]:
            raise Unsupported(f"{name}: the converter left a cast of {cast['before']} to {cast['after']} behind")
        instead[cast["new"]] = instead.get(cast["old"], cast["old"])
    return "".join(kept)


def refuse_leftovers(text: str, name: str) -> None:
    """Raises Unsupported for operators of TFLite that the converter left as they are, Problems for several."""
    if '"tfl.' not in text:
        return
    places = {found[1]: name_of(found[2]) for found in _ALIAS.finditer(text)}
    left = [(found[1], places.get(found[2] or "", "")) for found in _LEFT.finditer(text)]
    raise_all([Unsupported(f"{name}: the converter makes no TOSA of {op}", node=place) for op, place in left])


def unescaped(text: str) -> str:
    r"""A string as MLIR writes it: `\22` is the byte 0x22."""
    data = _ESCAPE.sub(lambda found: b"\\" if found[1] == b"\\" else bytes([int(found[1], 16)]), text.encode())
    return data.decode("utf-8", errors="replace")


def name_of(location: str) -> str:
    """The name in a location, `loc("conv"("file":0:0))`: TFLite's name of the tensor; empty where it has none."""
    found = re.match(r'loc\((?:fused\[)?"((?:[^"\\]|\\.)*)"\(', location)
    return unescaped(found[1]) if found is not None else ""
