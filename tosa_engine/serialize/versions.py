"""Which versions of the file format are read: 1.0.x and the drafts of 1.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import DataError
from ..versions import VERSIONS
from . import schema

if TYPE_CHECKING:
    from .schema import Record

_MXFP: Final = 1 << 1


def version(root: Record, file: str) -> tuple[tuple[int, int, int], bool]:
    """(major, minor, patch) and whether it is a draft.

    Raises:
        DataError: the file has no version, or one that isn't read.
    """
    record = root.get("version")
    if record is None:
        raise DataError(f"{file}: the graph has no version")
    major, minor, patch, draft = (record.get(f.name, f.default) for f in schema.VERSION.fields)
    if (major, minor) not in VERSIONS.values():
        raise DataError(
            f"{file}: the file is of TOSA version {major}.{minor}.{patch}; versions 1.0.x and 1.1 (draft) are read. "
            "Make the file anew from its source with the converter set to TOSA 1.0"
        )
    return (major, minor, patch), bool(draft)


def check_features(root: Record, file: str) -> None:
    """Refuse files that need more of their reader than this one can do (bits of `compatibility.features`).

    Bit 1, MXFP, is known: `unpack` says which tensors and operators need it.
    """
    needed = root.get("compatibility", {}).get("features", 0) & ~(_MXFP | 1)
    if needed:
        bits = ", ".join(str(b) for b in range(64) if needed >> b & 1)
        raise DataError(f"{file}: the file needs compatibility features that this reader doesn't know: {bits}")
