"""Writing models: texts in their canonical form, tensor files and graph.quant, as a folder, an archive, or one text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UsageError
from ...files import write_atomically
from ..nnef.files.names import QUANT
from ..nnef.files.saving import save_files
from ..nnef.language.parser import format_literal, parse_quant
from .names import ARCHIVES, FOLDER, MAIN, TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def save_model(path: Path, texts: Mapping[str, str], files: Mapping[str, bytes]) -> None:
    """Write modules by name, `main` among them, and files by name. Raises UsageError for what isn't a model's name,
    and for a single text that leaves something out.
    """
    if path.name.endswith(TEXT):
        if files or len(texts) > 1:
            tensors = sum(name != QUANT for name in files)
            left = [f"{tensors} variables"] * (tensors > 0) + [QUANT] * (QUANT in files)
            left += [f"the module '{name}'" for name in texts if name != "main"]
            raise UsageError(f"'{path}' would leave out {', '.join(left)}; write a folder {FOLDER} or an archive")
        write_atomically(path, texts["main"].encode("utf-8"))
        return
    named = {f"{name.replace('.', '/')}{TEXT}": text.encode("utf-8") for name, text in texts.items()}
    save_files(path, lambda: {**named, **files}, FOLDER, ARCHIVES, MAIN)


def canonical_quant(text: str, file: str) -> bytes:
    """The lines of a graph.quant file, one for each tensor."""
    lines = []
    for line in parse_quant(text, file):
        given = ", ".join(f"{name} = {format_literal(value)}" for name, value in line.args.items())
        lines.append(f"{format_literal(line.tensor)}: {line.op}({given});\n")
    return "".join(lines).encode("utf-8")
