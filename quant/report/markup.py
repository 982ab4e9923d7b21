"""Text in HTML. Names come from files of strangers: they are escaped, and can't turn the text around them."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .measured import Measured

# control characters, halves of pairs, and what turns the direction of text around
NO_TEXT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


def text(value: object) -> str:
    """For HTML; characters that no text has are shown as such."""
    return html.escape(NO_TEXT.sub("\ufffd", str(value)))


def name(value: object) -> str:
    """A name from a file, apart from the direction of the text around it."""
    return f"<bdi>{text(value)}</bdi>"


def anchor(layer: Measured) -> str:
    """Names of tensors may hold anything: anchors are made of their bytes."""
    return "t-" + layer.stored.encode("utf-8", "replace").hex()


def link(layer: Measured) -> str:
    return f'<a href="#{anchor(layer)}">{name(layer.name)}</a>'


def class_of(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def definition_list(entries: Mapping[str, Any]) -> str:
    shown = {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in entries.items()}
    return "<dl>" + "".join(f"<dt>{text(k)}</dt><dd>{name(v)}</dd>" for k, v in shown.items()) + "</dl>"


def counted(number: float) -> str:
    """1234567 as 1.23 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f}"
