"""Packed constants, made once for everybody who needs the same: plans of a session, and sessions of the same graph.

They are known by the content of what they are made from, and held weakly: the memory is free as soon as no plan uses
it. Whoever gets one must not change it.
"""

from __future__ import annotations

import hashlib
import threading
from functools import wraps
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Array

_known: Final[WeakValueDictionary[bytes, Array]] = WeakValueDictionary()
_lock: Final = threading.Lock()


def shared(pack: Callable[..., Array]) -> Callable[..., Array]:
    """For functions that make an array of arrays, numbers, numpy types, and lists and tuples of these alone."""

    @wraps(pack)
    def packed(*arguments: Any, **named: Any) -> Array:
        key = _key(pack, arguments, named)
        found = _known.get(key)
        if found is None:
            made = pack(*arguments, **named)
            with _lock:  # of two who made it at once, both use one
                found = _known.setdefault(key, made)
        return found

    return packed


def _key(pack: Callable[..., Array], arguments: tuple[Any, ...], named: dict[str, Any]) -> bytes:
    digest = hashlib.sha256(f"{pack.__module__}.{pack.__qualname__}".encode())
    pending: list[Any] = [arguments, sorted(named.items())]
    while pending:
        value = pending.pop()
        if isinstance(value, np.ndarray):
            digest.update(f"array {value.dtype.str} {value.shape} ".encode())
            digest.update(np.ascontiguousarray(value).data)
        elif isinstance(value, (tuple, list)):
            digest.update(f"{len(value)} of ".encode())
            pending += value
        else:
            assert isinstance(value, (bool, int, str, type, np.integer, np.dtype)), f"{value!r} has no content"
            digest.update(f"{value!r} ".encode())
    return digest.digest()
