"""The cache of compiled code on disk.

`TOSA_ENGINE_CACHE_DIR` names its folder; without it the user's cache folder is used. Compiled code is filed under a
hash of all kernel sources and of the versions and the processor it was made with. A file holds one function for one
kind of arguments. Any number of processes may use the cache at once; one that can't write it (a read-only home, an
image that was warmed up) reads it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .host import features

logger = logging.getLogger("tosa_engine")
unkept: Final[list[str]] = []  # why compiled code wasn't written to the disk
DIGEST: Final = 32  # bytes in front of the code


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """The folder for this version of the kernels, made if need be; None (with a warning) when there can't be one."""
    folder = _user_cache() / _key()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _warn(error)
        return None
    return folder


def _warn(error: OSError) -> None:
    if not unkept:
        logger.warning("compiled kernels can't be kept: %s; set TOSA_ENGINE_CACHE_DIR to a writable folder", error)
    unkept.append(str(error))


def _user_cache() -> Path:
    named = os.environ.get("TOSA_ENGINE_CACHE_DIR")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tosa_engine"


def _key() -> str:
    import llvmlite.binding

    numba = find_spec("numba")  # which isn't imported, nor what finds the versions of packages: 20 ms
    assert numba is not None
    assert numba.origin is not None

    digest = hashlib.sha256()
    package = Path(__file__).resolve().parents[2]
    for source in sorted([*(package / "kernels").rglob("*.py"), *(package / "numerics").glob("*.py")]):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    digest.update(Path(numba.origin).with_name("_version.py").read_bytes())
    versions = (llvmlite.__version__, sys.version, platform.machine())
    digest.update(repr((versions, llvmlite.binding.get_host_cpu_name(), sorted(features()))).encode())
    return digest.hexdigest()[:20]


def read(name: str) -> bytes | None:
    """Code, or None where there is none, or only a part: the machine may have stopped while it was saved."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        content = (folder / name).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        logger.warning("compiled code can't be read (%s) and is compiled anew", error)
        return None
    digest, code = content[:DIGEST], content[DIGEST:]
    if hashlib.sha256(code).digest() == digest:
        return code
    logger.warning("compiled code in %s isn't whole and is compiled anew", folder / name)
    return None


def write(name: str, code: bytes) -> None:
    """Keep code: whoever reads it meets all of it."""
    folder = cache_folder()
    if folder is None:
        return
    temporary = folder / f".{name}.{os.getpid()}"
    try:
        temporary.write_bytes(hashlib.sha256(code).digest() + code)
        temporary.replace(folder / name)
    except OSError as error:
        _warn(error)
