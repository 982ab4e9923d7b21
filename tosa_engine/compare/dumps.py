"""Tensors that a device or another program wrote: an `.npz`, or a folder of `.npy` files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .. import arrays
from ..errors import DataError

if TYPE_CHECKING:
    import os

    from ..types import Array

INDEX: Final = "index.json"
DOCUMENT: Final = "graph.nnef"


def is_dump(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an `.npz`, or a folder that isn't an NNEF model."""
    found = Path(path)
    return found.suffix == ".npz" or (found.is_dir() and not (found / DOCUMENT).exists())


def read(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Arrays by tensor name. A folder's names are those of its `index.json` (`run --dump-intermediates` writes one:
    tensor name to `{"file": ...}`, in execution order), else the files' names without `.npy`, sorted.

    Raises OSError, and DataError for a folder without arrays or with a bad index, and for damaged files.
    """
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(2, "no such dump", str(path))
    if not found.is_dir():
        return arrays.read_bundle(found)
    files = _indexed(found) if (found / INDEX).exists() else {f.stem: f for f in sorted(found.glob("*.npy"))}
    if not files:
        raise DataError(f"{found}: the folder has no .npy files")
    total = sum(file.stat().st_size for file in files.values())
    if total > arrays.MAX_BUNDLE_BYTES:
        raise DataError(f"{found}: {total} bytes are more than the {arrays.MAX_BUNDLE_BYTES} that are read at once")
    return {name: arrays.read(file) for name, file in files.items()}


def _indexed(folder: Path) -> dict[str, Path]:
    """The files that index.json names: of this folder, nowhere else."""
    where = folder / INDEX
    try:
        content: Any = json.loads(where.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{where}: not JSON: {problem}") from problem
    files: dict[str, Path] = {}
    for name, entry in content.items() if isinstance(content, dict) else [("", None)]:
        file = entry.get("file") if isinstance(entry, dict) else None
        if not isinstance(file, str) or Path(file).name != file:
            raise DataError(f"{where}: '{name}' needs a 'file' in this folder")
        files[name] = folder / file
    return files
