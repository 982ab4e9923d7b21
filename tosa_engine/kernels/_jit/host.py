"""Whether kernels are compiled, and for which processor."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

JIT: Final = os.environ.get("TOSA_ENGINE_JIT", "1") != "0"


@lru_cache(maxsize=1)
def features() -> frozenset[str]:
    """Features of the processor that compiled code may use, by LLVM's names; none when the JIT is off."""
    if not JIT:
        return frozenset()
    import llvmlite.binding

    return frozenset(name for name, present in llvmlite.binding.get_host_cpu_features().items() if present)


def has(*names: str) -> bool:
    return features().issuperset(names)
