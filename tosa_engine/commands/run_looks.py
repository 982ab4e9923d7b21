"""What looks at the tensors of a run: `run --dump-intermediates` and `run --vectors`."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .run_vectors import Vectors

if TYPE_CHECKING:
    import argparse

    from ..probe import Watcher
    from ..runtime.session import Session
    from ..types import Array
    from .run_corners import Corners


class Look(Protocol):
    """Something that looks at the tensors of one run."""

    @property
    def probe(self) -> Watcher: ...

    def begin(self, feeds: dict[str, Array]) -> None: ...

    def finish(self) -> None: ...


class _Dump:
    """A probe that writes each tensor to a file of its own; `index.json` says which tensor is where.

    What a region wrote when it ran for the second time is called TENSOR#2.
    """

    tensors = None  # all of them

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index: dict[str, dict[str, object]] = {}
        self.times: Counter[str] = Counter()

    @property
    def probe(self) -> _Dump:
        return self

    def begin(self, feeds: dict[str, Array]) -> None:
        del feeds
        self.folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, node: str, tensor: str, array: Array) -> None:
        from .. import arrays

        file = f"{len(self.index):04}_{re.sub(r'[^A-Za-z0-9_.-]', '_', tensor)[:80]}.npy"
        arrays.write(self.folder / file, {tensor: array})
        self.times[tensor] += 1
        key = tensor if self.times[tensor] == 1 else f"{tensor}#{self.times[tensor]}"
        self.index[key] = {"file": file, "node": node, "dtype": str(array.dtype), "shape": list(array.shape)}

    def finish(self) -> None:
        (self.folder / "index.json").write_text(json.dumps(self.index, indent=2) + "\n", encoding="utf-8")


def looks(args: argparse.Namespace, session: Session, corners: Corners | None) -> list[Look]:
    """What looks at the tensors of a run."""
    found: list[Look] = [] if corners is None else [corners]
    found += [_Dump(Path(args.dump_intermediates))] if args.dump_intermediates else []
    return [*found, Vectors(args, session)] if args.vectors else found
