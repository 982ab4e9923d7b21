"""Writing documents: the text of a flat graph (appendix A.1), tensor files, quantization, in a folder or an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from .files.container import read_text
from .files.dat import read_dat
from .files.names import ARCHIVES, FOLDER, GRAPH, QUANT
from .files.quantfile import Quantization
from .files.saving import save_files
from .files.variables import data_file
from .language.extensions import FRAGMENTS, OPERATORS
from .language.kinds import ArrayOf, Kind, TupleOf, is_generic
from .language.library import REQUIRED
from .language.parser import format_literal, parse_quant
from .language.syntax import Name, QuantLine
from .quantized import with_functions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from .language.flat import Document, Operation
    from .language.library import Declaration, Parameter


def format_document(document: Document) -> str:
    """The text of a `graph.nnef` in flat syntax, with the declarations of operations that aren't the standard's, and
    the extensions of vendors, which say what some operations mean.
    """
    custom = {op.name: op.declaration for op in document.operations if not op.declaration.standard}
    vendors = sorted(document.extensions - {FRAGMENTS, OPERATORS})
    extensions = [f"extension {name};" for name in (*vendors, *([FRAGMENTS] if custom else ()))]
    lines = ["version 1.0;", "", *extensions, *([""] if extensions else [])]
    if custom:
        lines += [*map(_declaration, custom.values()), ""]
    lines.append(f"graph {document.name}({', '.join(document.inputs)}) -> ({', '.join(document.outputs)})")
    lines += ["{", *(f"    {format_operation(operation)}" for operation in document.operations), "}", ""]
    return "\n".join(lines)


def format_operation(operation: Operation) -> str:
    """One assignment; arguments that are defaults are left out."""
    declaration = operation.declaration
    arguments = []
    positional = True
    for parameter in declaration.parameters:
        value = operation.arguments[parameter.name]
        if _same(value, parameter.default):
            positional = False
            continue
        shown = _format(value, parameter.kind)
        arguments.append(shown if parameter.is_tensor and positional else f"{parameter.name} = {shown}")
    generic = f"<{operation.generic}>" if _names_type(declaration) else ""
    return f"{_left_side(operation)} = {declaration.name}{generic}({', '.join(arguments)});"


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _names_type(declaration: Declaration) -> bool:
    """Whether the type can't be told from the arguments."""
    deduced = any(is_generic(parameter.kind) for parameter in declaration.parameters)
    return declaration.generic and (bool(declaration.generic_type) or not deduced)


def _left_side(operation: Operation) -> str:
    names = iter(operation.results)
    if len(operation.declaration.results) == 1:
        shown = ", ".join(name.text for name in names)
        return f"[{shown}]" if isinstance(operation.declaration.results[0].kind, ArrayOf) else shown
    sizes = _array_sizes(operation)
    parts = []
    for result in operation.declaration.results:
        if isinstance(result.kind, ArrayOf):
            parts.append("[" + ", ".join(next(names).text for _ in range(sizes.pop(0))) + "]")
        else:
            parts.append(next(names).text)
    return ", ".join(parts)


def _array_sizes(operation: Operation) -> list[int]:
    """How many results each array among several results has. Raises Unsupported where that isn't recorded."""
    kinds = [isinstance(result.kind, ArrayOf) for result in operation.declaration.results]
    arrays, single = sum(kinds), len(kinds) - sum(kinds)
    if arrays > 1:
        raise UsageError(f"'{operation.name}' returns several arrays; such operations can't be written")
    return [len(operation.results) - single] * arrays


def _format(value: Any, kind: Kind) -> str:
    if isinstance(value, Name):
        return value.text
    if isinstance(kind, ArrayOf) and kind.item is not None:
        return "[" + ", ".join(_format(item, kind.item) for item in value) + "]"
    if isinstance(kind, TupleOf):
        return "(" + ", ".join(map(_format, value, kind.items)) + ")"
    return format_literal(value)


def _declaration(declaration: Declaration) -> str:
    generic = f"<? = {declaration.generic_type}>" if declaration.generic_type else "<?>"

    def member(parameter: Parameter) -> str:
        shown = f"{parameter.name}: {parameter.kind}"
        return shown if parameter.default is REQUIRED else f"{shown} = {_format(parameter.default, parameter.kind)}"

    parameters, results = (", ".join(map(member, m)) for m in (declaration.parameters, declaration.results))
    return f"fragment {declaration.name}{generic if declaration.generic else ''}( {parameters} ) -> ( {results} );"


# files


def save(document: Document, path: str | os.PathLike[str]) -> None:
    """Write a document as a folder `.nnef`, or as an archive `.nnef.tgz` or `.tar`.

    Tensor files and the lines of `graph.quant` are those of the container that the document was read from; where the
    algorithm of a line is a fragment of the document, its operations stand in the graph instead. What was
    at `path` before is replaced at the end, and is left alone if anything fails. Raises UsageError for another name,
    and where a folder that isn't a document is in the way; DataError for tensor files that are missing or damaged.
    """
    save_files(path, lambda: dict(_files(document)), FOLDER, ARCHIVES, GRAPH)


def _files(document: Document) -> Iterator[tuple[str, bytes]]:
    container, lines = document.container, list[QuantLine]()
    if container is not None and container.has(QUANT):
        lines = parse_quant(read_text(container, QUANT), f"{container.label}/{QUANT}")
        document = with_functions(document, Quantization.of_fragments(lines, document))
    yield GRAPH, format_document(document).encode("ascii")
    if container is None:
        return
    for operation in document.variables.values():
        name = data_file(operation)
        data = container.read(name)
        read_dat(data, f"{container.label}/{name}")
        yield name, data
    if container.has(QUANT):
        kept = [line for line in lines if line.op not in document.own]
        shown = (f"{format_literal(line.tensor)}: {line.op}({_named(line.args)});\n" for line in kept)
        yield QUANT, "".join(shown).encode("ascii")


def _named(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {format_literal(value)}" for name, value in arguments.items())
