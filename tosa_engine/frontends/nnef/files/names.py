"""The names of the files of an NNEF document, and of the folders and archives that they are in (section 5.1)."""

from __future__ import annotations

from typing import Final

GRAPH: Final = "graph.nnef"
QUANT: Final = "graph.quant"
FOLDER: Final = ".nnef"
ARCHIVES: Final = (".nnef.tgz", ".nnef.tar.gz", ".tar")
READ: Final = (".nnef.tgz", ".nnef.tar.gz", ".nnef.tar", ".tar")
