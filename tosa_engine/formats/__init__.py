"""The one door for models: which formats there are, and how a file of one of them is opened as a source.

Nothing here imports a front end, numpy or numba before a model is opened: a format says its name, its suffixes and its
options without them. `open_model` gives a `Source`, which verbs and passes work with whatever the format is.
"""

from .format import Bridge, Format, HintFile, Option
from .registry import (
    GROUP,
    bridge_to,
    format_of,
    formats,
    graph_suffixes,
    hint_file,
    hint_suffixes,
    is_model_folder,
    model_help,
    open_model,
    options_of,
    read_hints,
    write_graph,
    write_hints,
    writer_of,
    writer_suffixes,
)
from .source import FileSource, Source, Step
from .words import SHAPE, pair

__all__ = [
    "GROUP", "SHAPE", "Bridge", "FileSource", "Format", "HintFile", "Option", "Source", "Step", "bridge_to",
    "format_of", "formats", "graph_suffixes", "hint_file", "hint_suffixes", "is_model_folder", "model_help",
    "open_model", "options_of", "pair", "read_hints", "write_graph", "write_hints", "writer_of", "writer_suffixes",
]  # fmt: skip
