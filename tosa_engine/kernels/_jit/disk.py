"""The cache of compiled code on disk.

`TOSA_ENGINE_CACHE_DIR` names its folder; without it the user's cache folder is used. Compiled code is filed under a
hash of all kernel sources and of the versions and the processor it was made with, because numba's own cache looks at
one source file only. Any number of processes may use it at once; one that can't write it (a read-only home, an image
that was warmed up) reads it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import logging
import os
import platform
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from .host import JIT, features

if JIT:
    import llvmlite
    import llvmlite.binding
    import numba
    from numba.core import caching

logger = logging.getLogger("tosa_engine")
unkept: Final[list[str]] = []  # why compiled code wasn't written to the disk


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


@lru_cache
def _content(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]


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
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parents[2]
    for source in sorted([*(package / "kernels").rglob("*.py"), *(package / "numerics").glob("*.py")]):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    versions = (numba.__version__, llvmlite.__version__, sys.version, platform.machine())
    digest.update(repr((versions, llvmlite.binding.get_host_cpu_name(), sorted(features()))).encode())
    return digest.hexdigest()[:20]


def described(value: Any) -> str:
    """A function by its name, its line and what it encloses, and so on; all else as it prints."""
    value = getattr(value, "py_func", getattr(value, "_defn", value))  # of compiled functions and intrinsics
    if inspect.isfunction(value):
        enclosed = [described(cell.cell_contents) for cell in value.__closure__ or ()]
        return f"{value.__module__}.{value.__qualname__}:{value.__code__.co_firstlineno}({', '.join(enclosed)})"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(described, value))}]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [described(getattr(value, part.name)) for part in dataclasses.fields(value)]
        return f"{type(value).__name__}({', '.join(parts)})"
    text = repr(value)
    assert " at 0x" not in text, f"{text} is enclosed by a compiled function, and prints as another one in each process"
    return text


if JIT:

    class _Locator(caching._CacheLocator):
        """Where numba keeps the code of a function: in the one folder, under a name of the file's content and line."""

        def __init__(self, function: Any, file: str) -> None:
            self._line = function.__code__.co_firstlineno
            self._content = _content(file)

        @classmethod
        def from_function(cls, function: Any, file: str) -> _Locator:
            return cls(function, file)

        def get_cache_path(self) -> str:
            return str(cache_folder())

        def get_source_stamp(self) -> str:
            return self._content

        def get_disambiguator(self) -> str:
            return f"{self._line}.{self._content}"

        def ensure_cache_path(self) -> None:
            """It is there, or was removed: saving tells."""

    class _Description(caching.CompileResultCacheImpl):
        _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012

    class _Cache(caching.FunctionCache):
        _impl_class = _Description

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            """The sources are in the name of the folder, so what is enclosed makes the only other difference. numba
            takes the bytes of its pickle, which differ between processes wherever a compiled function is enclosed.
            """
            return sig, codegen.magic_tuple(), described(self._py_func)

    class _Signatures:
        """numba's files, one pair for each signature instead of one list for all signatures of a function.

        Such a list is read, changed and written again, and its entries are numbered: of two processes that compile
        different signatures at once, one would lose its entry, or the entry of one would name the code of the other.
        """

        def __init__(self, cache: Any) -> None:
            self._cache = cache

        def _file(self, key: Any) -> Any:
            make: Any = caching.IndexDataCacheFile
            description = self._cache._impl
            name = f"{description.filename_base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:12]}"
            return make(self._cache.cache_path, name, description.locator.get_source_stamp())

        def load(self, key: Any) -> Any:
            """Code, or None where there is none, or only a part: the machine may have stopped while it was saved."""
            file, reader = self._file(key), vars(caching)["pickle"]
            try:
                return file.load(key)
            except (EOFError, reader.UnpicklingError) as error:
                logger.warning("compiled code can't be read (%s) and is compiled anew", error)
                Path(file._index_path).unlink(missing_ok=True)
                return None

        def save(self, key: Any, data: Any) -> None:
            try:
                self._file(key).save(key, data)
            except OSError as error:
                _warn(error)

    def kept(function: Any) -> Any:
        """What numba keeps of a function: an object for the dispatcher's `_cache`."""
        cache: Any = _Cache
        found = cache(function)
        found._cache_file = _Signatures(found)
        return found
