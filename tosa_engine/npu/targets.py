"""Processors by name, and those that a user's own file describes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError, UsageError
from ..spec import TABLE
from ..target import Target
from ..toml import read_toml
from ..types import BY_NAME
from .conditions import parse
from .ethos_u import ETHOS_U
from .rules import Npu, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES: Final = tuple(ETHOS_U)
SUFFIX: Final = ".toml"
KEYS: Final = {
    "name": str, "base": str, "profiles": list, "extensions": list, "level": str, "version": str, "operators": dict,
    "rule": list, "macs_per_cycle": int, "bytes_per_cycle": (int, float), "constant_bytes_per_cycle": (int, float),
    "units": dict, "mhz": (int, float),
}  # fmt: skip
RULE_KEYS: Final = {"label": str, "operators": list, "needs": list, "when": list, "why": str, "rewrite": str}


def npu(name: str) -> Npu:
    """A processor by its name, or by the path of a file that describes it.

    Raises:
        UsageError: there is none of the name.
        DataError: the file is damaged; all problems at once.
    """
    if name in ETHOS_U:
        return ETHOS_U[name]
    if name.endswith(SUFFIX):
        return _own(Path(name))
    raise UsageError(f"no target '{name}'; there are {', '.join(NAMES)}, and your own in a file NAME{SUFFIX}")


def _own(path: Path) -> Npu:
    found = read_toml(path)
    problems = list(_problems(found))
    if problems:
        raise DataError(f"{path}: {'; '.join(problems)}", label="TARGET.file")
    return _built(found, path)


def _problems(found: dict[str, Any]) -> Iterator[str]:
    yield from _form(found, KEYS, "the file")
    if "base" in found and found["base"] not in ETHOS_U:
        yield f"base '{found['base']}' is none of {', '.join(NAMES)}"
    if "base" not in found and "operators" not in found:
        yield "it needs [operators], or a base that has them"
    if isinstance(found.get("operators"), dict):
        yield from _of_operators(found["operators"])
    yield from _of_speed(found)
    for number, rule in enumerate(found["rule"] if isinstance(found.get("rule"), list) else [], 1):
        yield from _of_rule(rule, f"rule {number}")
    try:
        _target(found)
    except (UsageError, TypeError, AttributeError) as problem:
        yield str(problem)


def _form(found: dict[str, Any], keys: dict[str, Any], where: str) -> Iterator[str]:
    for key, value in found.items():
        if key not in keys:
            yield f"{where} has '{key}', and there are {', '.join(keys)}"
        elif not isinstance(value, keys[key]) or isinstance(value, bool):
            yield f"'{key}' of {where} is of another type"


def _of_operators(found: dict[str, Any]) -> Iterator[str]:
    for op, formats in found.items():
        if op not in TABLE:
            yield f"no operator {op}"
        wrong = [str(f) for f in formats if f not in BY_NAME] if isinstance(formats, list) else [str(formats)]
        if wrong:
            yield f'{op}: a list of formats, such as ["i8", "i16"], not {", ".join(wrong)}'


def _of_speed(found: dict[str, Any]) -> Iterator[str]:
    for key in ("macs_per_cycle", "bytes_per_cycle", "constant_bytes_per_cycle", "mhz"):
        value = found.get(key, 1)
        if isinstance(value, (int, float)) and not 0 < value < 1e9:
            yield f"{key} is {value}"
    units = found.get("units", {})
    for op, value in units.items() if isinstance(units, dict) else ():
        if op not in TABLE:
            yield f"units: no operator {op}"
        elif not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 32:
            yield f"units of {op}: a whole number from 1, not {value}"


def _of_rule(rule: Any, where: str) -> Iterator[str]:
    if not isinstance(rule, dict):
        yield f"{where} is no table"
        return
    yield from _form(rule, RULE_KEYS, where)
    for key in ("label", "needs", "why"):
        if key not in rule:
            yield f"{where} has no {key}"
    for key in ("operators", "needs", "when"):
        texts = rule.get(key, [])
        for text in texts if isinstance(texts, list) else []:
            if not isinstance(text, str):
                yield f"{where}: {key} are texts, not {text}"
            elif key == "operators":
                if text not in TABLE:
                    yield f"{where}: no operator {text}"
            else:
                try:
                    parse(text)
                except UsageError as problem:
                    yield f"{where}: {problem}"


def _target(found: dict[str, Any]) -> Target:
    base = ETHOS_U[found["base"]].target if found.get("base") in ETHOS_U else Target()
    names = None
    if "profiles" in found or "extensions" in found:
        names = [*found.get("profiles", base.profiles), *found.get("extensions", base.extensions)]
    names = sorted(base.names) if names is None else names
    return Target.parse(names, found.get("level", base.level.name), found.get("version", str(base.version)))


def _built(found: dict[str, Any], path: Path) -> Npu:
    base = ETHOS_U[found["base"]] if "base" in found else Npu("", {})
    operators = dict(base.operators) | {op: tuple(formats) for op, formats in found.get("operators", {}).items()}
    rules = [
        Rule(
            one["label"], tuple(one.get("operators", ())), tuple(one["needs"]), one["why"], one.get("rewrite", ""),
            tuple(one.get("when", ())),
        )
        for one in found.get("rule", [])
    ]  # fmt: skip
    return replace(
        base, name=found.get("name", path.stem), operators=operators, rules=(*base.rules, *rules),
        target=_target(found), source=str(path), macs_per_cycle=found.get("macs_per_cycle", base.macs_per_cycle),
        bytes_per_cycle=float(found.get("bytes_per_cycle", base.bytes_per_cycle)),
        constant_bytes_per_cycle=float(found.get("constant_bytes_per_cycle", base.constant_bytes_per_cycle)),
        units={**base.units, **found.get("units", {})}, clock=found["mhz"] * 1e6 if "mhz" in found else base.clock,
    )  # fmt: skip
