"""One tensor as a file: `.npy`, bare bytes, Intel HEX, words for Verilog's $readmemh, an array of C."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Final

import numpy as np

from .. import arrays
from ..errors import UsageError
from ..layouts import LITTLE, arrange, pack
from ..types import bool_, holds_floats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..layouts import Form
    from ..types import Array, DType

SUFFIXES: Final[Mapping[str, str]] = {"npy": ".npy", "bin": ".bin", "hex": ".hex", "mem": ".mem", "c-header": ".h"}
FORMATS: Final = tuple(SUFFIXES)
BYTES: Final = ("npy", "bin", "hex")  # those of which an order of bytes can be told
RECORD: Final = 32  # bytes in a line of Intel HEX
PAGE: Final = 1 << 16
PER_LINE: Final = 16
WORDS: Final[Mapping[int, str]] = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t"}


def check_endian(form: str, endian: str) -> None:
    """Raise UsageError where the format has whole numbers."""
    if endian != LITTLE and form not in BYTES:
        raise UsageError(
            f"--endian {endian}: --format {form} has whole elements, not bytes; it goes with bin, hex, npy"
        )


def content(array: Array, dtype: DType, stem: str, how: str, form: Form) -> bytes:
    """The file of a tensor; `stem` is its name, of which an identifier of C is made."""
    if how == "npy":
        return _npy(array, form)
    if how == "bin":
        return pack(array, dtype, form)
    if how == "hex":
        return intel_hex(pack(array, dtype, form))
    flat = arrange(array, form).reshape(-1)
    return readmemh(flat, dtype) if how == "mem" else c_header(flat, dtype, symbol(stem))


def symbol(stem: str) -> str:
    """The array's name in a header."""
    return "v" + re.sub(r"\W", "_", stem, flags=re.ASCII)


def _npy(array: Array, form: Form) -> bytes:
    """In the storage of arrays in memory: int48 in int64, a byte for each int4; floats without a name as V1, V2."""

    stored = arrange(array, form)
    if form.endian != LITTLE and stored.dtype.kind in "iuf":
        stored = stored.astype(stored.dtype.newbyteorder(">"))
    stream = io.BytesIO()
    arrays.write_stream(stream, stored)
    return stream.getvalue()


def intel_hex(raw: bytes) -> bytes:
    """Records of 32 bytes with their addresses, as `objcopy -I ihex` reads them."""
    lines = []
    for page in range(0, len(raw), PAGE):
        lines.append(_record(0, 4, (page // PAGE).to_bytes(2, "big")))
        part = raw[page : page + PAGE]
        lines += [_record(at, 0, part[at : at + RECORD]) for at in range(0, len(part), RECORD)]
    return "\n".join([*lines, ":00000001FF", ""]).encode()


def _record(address: int, kind: int, part: bytes) -> str:
    record = bytes((len(part), address >> 8, address & 255, kind)) + part
    return f":{record.hex().upper()}{-sum(record) & 255:02X}"


def readmemh(flat: Array, dtype: DType) -> bytes:
    """One element a line, its bits as a hexadecimal number of the element's width, from address 0."""
    size, width = flat.dtype.itemsize, max(1, dtype.bits // 8)
    raw: Array = np.ascontiguousarray(flat).view(np.uint8).reshape(-1, size)[:, :width][:, ::-1]
    if dtype.bits < 8 and dtype is not bool_:
        raw = raw & ((1 << dtype.bits) - 1)
    lines = raw.tobytes().hex("\n", width).split("\n") if flat.size else []
    if dtype.bits == 4:
        lines = [line[1] for line in lines]
    return "\n".join(["@0", *lines, ""]).encode()


def c_header(flat: Array, dtype: DType, name: str) -> bytes:
    """An array of C99. Integers are numbers, floats their bits."""
    if holds_floats(flat):
        kind = WORDS[flat.dtype.itemsize]
        texts = [f"0x{value:0{2 * flat.dtype.itemsize}x}" for value in flat.view(f"u{flat.dtype.itemsize}").tolist()]
    else:
        kind = "uint8_t" if dtype is bool_ else f"{flat.dtype.name}_t"
        texts = ["INT64_MIN" if value == -(1 << 63) else str(int(value)) for value in flat.tolist()]
    lines = ["#include <stdint.h>", f"#define {name}_COUNT {flat.size}"]
    if texts:  # C has no empty arrays
        lines.append(f"static const {kind} {name}[{flat.size}] = {{")
        lines += [", ".join(texts[i : i + PER_LINE]) + "," for i in range(0, len(texts), PER_LINE)]
        lines.append("};")
    return "\n".join([*lines, ""]).encode()
