"""Writing the files of a model as a folder or an archive: all of them, or none."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def save_files(
    path: str | os.PathLike[str],
    files: Callable[[], Mapping[str, bytes]],
    folder: str,
    archives: Sequence[str],
    main: str,
) -> None:
    """Write files by name as a folder whose name ends in `folder`, or as one of `archives`. `main` is the text.

    What was at `path` before is replaced at the end, and is left alone if anything fails. Raises UsageError for another
    name, and where a folder that isn't such a model, or a file, is in the way; and what `files` raises.
    """
    target = Path(path)
    if not target.name.endswith((folder, *archives)):
        raise UsageError(f"can't tell what to write to '{path}': the name must end in {', '.join((folder, *archives))}")
    if target.is_dir() and (not target.name.endswith(folder) or not (target / main).is_file()):
        raise UsageError(f"'{path}' is a folder without {main}: nothing is written over it")
    if target.exists() and not target.is_dir() and target.name.endswith(folder):
        raise UsageError(f"'{path}' is a file, not a folder")
    if target.name.endswith(tuple(archives)):
        _write_archive(target, files())
    else:
        _write_folder(target, files())


def _write_folder(target: Path, files: Mapping[str, bytes]) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name, data in files.items():
            place = temporary / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o777 & ~mask)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            target.replace(old / "old")
            temporary.replace(target)
            shutil.rmtree(old)
        else:
            temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_archive(target: Path, files: Mapping[str, bytes]) -> None:
    """The same bytes for the same files: no times, no owners."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    content = packed.getvalue()
    if not target.name.endswith(".tar"):
        content = gzip.compress(content, compresslevel=6, mtime=0)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
