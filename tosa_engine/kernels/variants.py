"""The vector units that kernels are emitted for, and which one this process uses.

A `Variant` is the first argument of every kernel that has vector code: compiled code is made for one variant, chosen by
the argument's type, so that two variants never share compiled code and none of it branches on the variant.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from ..errors import Unsupported, UsageError


@dataclass(frozen=True)
class Variant:
    """`lanes` int32 in one vector; a tile of `rows` rows; `group8` neighbours along K in one step of int8 products (4:
    one instruction multiplies unsigned by signed bytes and adds four products; 2: they are widened to int16 pairs).
    """

    name: str
    needs: tuple[str, ...]
    lanes: int = 8
    rows: int = 6
    group8: int = 2

    @property
    def native(self) -> bool:
        return bool(self.needs)


AVX2: Final = ("avx2", "fma")
AVX512: Final = ("avx512f", "avx512bw", "avx512dq", "avx512vl", *AVX2)
GENERIC: Final = Variant("generic", ())
# the best first
VARIANTS: Final = (
    Variant("avx512vnni", ("avx512vnni", *AVX512), lanes=16, rows=12, group8=4),
    Variant("avx512", AVX512, lanes=16, rows=12),
    Variant("avxvnni", ("avxvnni", *AVX2), group8=4),
    Variant("avx2", AVX2),
    GENERIC,
)


def variant() -> Variant:
    """The chosen vector unit: `TOSA_ENGINE_KERNELS`, or the host's best.

    Raises:
        UsageError: the variable names no variant.
        Unsupported: the host can't run the variant.
    """
    from . import _jit

    wanted = os.environ.get("TOSA_ENGINE_KERNELS", "")
    if not wanted:
        return next(v for v in VARIANTS if _jit.has(*v.needs))
    for found in VARIANTS:
        if found.name == wanted:
            break
    else:
        names = ", ".join(v.name for v in VARIANTS)
        raise UsageError(f"TOSA_ENGINE_KERNELS: unknown variant '{wanted}'; choose from: {names}")
    if not _jit.has(*found.needs):
        raise Unsupported(f"TOSA_ENGINE_KERNELS: this processor (or TOSA_ENGINE_JIT=0) has no {wanted}")
    return found
