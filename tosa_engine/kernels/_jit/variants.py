"""The vector units that kernels are emitted for, and which one this process uses.

A `Variant` is the first argument of every kernel that has vector code: compiled code is made for one variant, chosen by
the argument's type, so that two variants never share compiled code and none of it branches on the variant.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from ...errors import Unsupported, UsageError
from .host import has


@dataclass(frozen=True)
class Variant:
    """`lanes` int32 in one vector; tiles of `rows` rows, or of `few` where fewer are left, times `panels` panels.

    `quads`: one instruction multiplies unsigned by signed bytes and adds up four products; `signed`: it multiplies
    signed bytes. `masks`: a part of a vector can be stored.
    """

    name: str
    needs: tuple[str, ...]
    lanes: int = 8
    rows: int = 6
    few: int = 2
    panels: int = 1
    quads: bool = False
    signed: bool = False
    masks: bool = False
    x86: bool = True

    @property
    def native(self) -> bool:
        return bool(self.needs)


AVX2: Final = ("avx2", "fma")
AVX512: Final = ("avx512f", "avx512bw", "avx512dq", "avx512vl", *AVX2)
GENERIC: Final = Variant("generic", ())
# the best first
VARIANTS: Final = (
    Variant("avx512vnni", ("avx512vnni", *AVX512), lanes=16, rows=12, few=4, panels=2, quads=True, masks=True),
    Variant("avx512", AVX512, lanes=16, rows=12, few=4, panels=2, masks=True),
    Variant("avxvnni", ("avxvnni", *AVX2), quads=True),
    Variant("avx2", AVX2),
    Variant("neondot", ("neon", "dotprod"), lanes=4, signed=True, x86=False),
    Variant("neon", ("neon",), lanes=4, x86=False),
    GENERIC,
)
MOST_ROWS: Final = max(v.rows for v in VARIANTS)
TILE: Final = max(v.rows * v.panels for v in VARIANTS) * 16  # accumulators of the largest tile

PANELS_OF_ONE: Final = 4  # of a tile of one row


def variant() -> Variant:
    """The chosen vector unit: `TOSA_ENGINE_KERNELS`, or the host's best.

    Raises:
        UsageError: the variable names no variant.
        Unsupported: the host can't run the variant.
    """
    wanted = os.environ.get("TOSA_ENGINE_KERNELS", "")
    if not wanted:
        return next(v for v in VARIANTS if has(*v.needs))
    for found in VARIANTS:
        if found.name == wanted:
            break
    else:
        names = ", ".join(v.name for v in VARIANTS)
        raise UsageError(f"TOSA_ENGINE_KERNELS: unknown variant '{wanted}'; choose from: {names}")
    if not has(*found.needs):
        raise Unsupported(f"TOSA_ENGINE_KERNELS: this processor (or TOSA_ENGINE_JIT=0) has no {wanted}")
    return found
