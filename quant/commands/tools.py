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


def load_with(model: str, quant: Mapping[str, QParams] | None = None) -> Graph:
    """A float model whose tensors carry the QParams given by name (None: its own), ready to be quantized.

    It is without the operations of an NNEF model that quantize to ranges which the graph computes.

    Raises UsageError for names that the model doesn't have.
    """
    if _is_nnef(Path(model)):
        from tosa_engine.frontends import nnef

        return nnef.load(model, quant, for_integers=True)
    from tosa_engine.load import load

    graph = load(model)
    quant = quant or {}
    unknown = [name for name in quant if name not in graph.main.tensors]
    if unknown:
        raise UsageError(f"the quantization names tensors that {model} doesn't have: {', '.join(unknown)}")
    for name, params in quant.items():
        graph.main.tensors[name].quant = params
    return graph


def needs_floats(graph: Graph, model: str) -> None:
    """Raises UsageError for a graph without floats: it is what quantization makes."""
    tensors = graph.main.tensors.values()
    if not any(tensor.dtype.is_float for tensor in tensors):
        raise UsageError(f"'{model}' computes in integers already: give the float model")


def _is_nnef(path: Path) -> bool:
    from tosa_engine.load import is_nnef

    return is_nnef(path)


def given_quant(model: str, file: str | None, inverted_scales: bool | None) -> Mapping[str, QParams]:
    """The quantization of a model in `file`, or, without one, in the graph.quant inside an NNEF model.

    Raises UsageError when there is none, ParseError or Problems for what is wrong in it.
    """
    from tosa_engine.frontends.nnef.files import graph_quant

    nnef_model = _is_nnef(Path(model))
    if nnef_model:
        from tosa_engine.frontends.nnef import load_document, own_quantization
        from tosa_engine.frontends.nnef.quantized import checked

        document = load_document(model)
        if file is None:
            quant = own_quantization(document, inverted_scales)
            if quant.lines or any(op.name.endswith("_quantize") for op in document.operations):
                return quant
        else:
            return checked(document, graph_quant.read(file, bool(inverted_scales)), inverted_scales)
    if file is not None:
        return graph_quant.read(file, bool(inverted_scales))
    raise UsageError(
        f"'{model}' has no {QUANT_FILE} inside: give one with --quant (calibrate makes one), or samples with --data"
    )


def filters(model: str, inverted_scales: bool | None = None) -> dict[str, Array]:
    """The filters of an NNEF model's convolutions and linear layers, by tensor name, output channel first."""
    if not _is_nnef(Path(model)):
        return {}
    from tosa_engine.frontends import nnef
    from tosa_engine.frontends.nnef.build import with_axis
    from tosa_engine.frontends.nnef.files.variables import read_variable
    from tosa_engine.frontends.nnef.language.syntax import Name

    document = nnef.load_document(model)
    used = [op.arguments.get("filter") for op in document.operations]
    names = dict.fromkeys(f.text for f in used if isinstance(f, Name))
    variables = document.variables
    quantization = nnef.own_quantization(document, inverted_scales)
    document, hints = nnef.quantized(document, quantization)
    shapes = {name: variables[name].arguments["shape"] for name in names if name in variables}
    return {
        name: read_variable(
            document, variables[name], with_axis(hints.get(name), name, shape), quantization.decoders.get(name)
        )
        for name, shape in shapes.items()
    }


def check_output(path: str, suffixes: tuple[str, ...]) -> None:
    """Before the work: the name tells the kind, and the folder is there."""
    target = Path(path)
    if target.suffix not in suffixes:
        raise UsageError(f"can't tell what to write to '{path}': the name must end in {' or '.join(suffixes)}")
    if not target.parent.is_dir():
        raise FileNotFoundError(2, "no such folder", str(target.parent))
