"""A profile as one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from ..text import shown
from .picture import picture
from .table import table

if TYPE_CHECKING:
    Facts = dict[str, Any]

STYLE: Final = (
    "body{font:15px system-ui,sans-serif;margin:2em auto;max-width:1240px;padding:0 1em;color:#222}"
    "svg{max-width:100%;height:auto}pre{overflow-x:auto;font-size:13px;line-height:1.45}"
)


def page(found: Facts, name: str) -> str:
    """The picture, and every step in order below it."""
    title = escape(shown(f"Profile of {name}"))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{picture(found)}\n"
        "<p>From left to right: the run, as wide as it takes long; its operators; its steps, green at their bound, red "
        "far from it. Point at a step for its figures.</p>\n"
        f"<pre>{escape(table(found, every=True))}</pre></body></html>\n"
    )
