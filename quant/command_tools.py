"""What the verbs `calibrate` and `quantize` share: models with their quantization, outputs, warnings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tosa_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.graph import Graph, QParams
    from tosa_engine.types import Array

QUANT_FILE = "graph.quant"


def warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)


def load_with(model: str, quant: Mapping[str, QParams]) -> Graph:
    """A float model whose tensors carry the QParams given by name.

    Raises UsageError for names that the model doesn't have.
    """
    if _is_nnef(Path(model)):
        from tosa_engine.frontends import nnef

        return nnef.load(model, quant)
    from tosa_engine.load import load

    graph = load(model)
    unknown = [name for name in quant if name not in graph.main.tensors]
    if unknown:
        raise UsageError(f"the quantization names tensors that {model} doesn't have: {', '.join(unknown)}")
    for name, params in quant.items():
        graph.main.tensors[name].quant = params
    return graph


def _is_nnef(path: Path) -> bool:
    from tosa_engine.load import is_nnef

    return is_nnef(path)


def own_quant(model: Path) -> dict[str, QParams]:
    """The graph.quant inside an NNEF model. Raises UsageError when there is none."""
    from . import graph_quant

    if _is_nnef(model):
        from tosa_engine.frontends.nnef.container import open_container, read_text

        container = open_container(model)
        if container.has(QUANT_FILE):
            return graph_quant.from_text(read_text(container, QUANT_FILE), f"{container.label}/{QUANT_FILE}")
    raise UsageError(f"'{model}' has no {QUANT_FILE} inside: give one with --quant, or make one with calibrate")


def filters(model: str) -> dict[str, Array]:
    """The filters of an NNEF model's convolutions and linear layers, by tensor name, output channel first."""
    if not _is_nnef(Path(model)):
        return {}
    from tosa_engine.frontends.nnef import load_document
    from tosa_engine.frontends.nnef.syntax import Name
    from tosa_engine.frontends.nnef.variables import read_variable

    document = load_document(model)
    used = [op.arguments.get("filter") for op in document.operations]
    names = dict.fromkeys(f.text for f in used if isinstance(f, Name))
    variables = document.variables
    return {name: read_variable(document, variables[name], None) for name in names if name in variables}


def check_output(path: str, suffixes: tuple[str, ...]) -> None:
    """Before the work: the name tells the kind, and the folder is there."""
    target = Path(path)
    if target.suffix not in suffixes:
        raise UsageError(f"can't tell what to write to '{path}': the name must end in {' or '.join(suffixes)}")
    if not target.parent.is_dir():
        raise FileNotFoundError(2, "no such folder", str(target.parent))
