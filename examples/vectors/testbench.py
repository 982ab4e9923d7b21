"""An int8 convolution unit in plain Python, held against golden vectors: `testbench.py DIR [NUMBER]`.

    tosa-engine run net.tosa -i x.npy --vectors DIR --format bin

DIR has every tensor, NUMBER is a CONV2D in the index (default: the first) whose result a RESCALE reads.
"""

import json
import struct
import sys
from pathlib import Path

CODES = {"i8": "b", "i16": "h", "i32": "i"}


def compare(what: str, got: list[int], wanted: list[int]) -> None:
    wrong = [i for i, pair in enumerate(zip(got, wanted, strict=True)) if pair[0] != pair[1]]
    print(f"{what}: {len(wanted)} elements,", f"{len(wrong)} differ, the first at {wrong[0]}" if wrong else "all equal")
    if wrong:
        sys.exit(1)


def main(folder: Path, number: int | None) -> None:
    index = json.loads((folder / "index.json").read_text())
    assert (index["format"], index["endian"]) == ("bin", "little"), "write the vectors with --format bin"
    operators, tensors = index["operators"], index["tensors"]

    def read(name: str) -> list[int]:
        raw, code = (folder / tensors[name]["file"]).read_bytes(), CODES[tensors[name]["dtype"]]
        return list(struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw))

    conv = operators[next(i for i, op in enumerate(operators) if op["op"] == "CONV2D") if number is None else number]
    acc_name = conv["outputs"]["output"]
    rescale = next(operators[i] for i in tensors[acc_name]["read_by"] if operators[i]["op"] == "RESCALE")
    x, weight, bias, (x_zp,), (w_zp,) = (read(name) for name in conv["inputs"].values())
    (_, h, w, c), (oc, kh, kw, _) = (tensors[conv["inputs"][name]]["shape"] for name in ("input", "weight"))
    n, oh, ow, _ = tensors[acc_name]["shape"]
    (top, _, left, _), (sy, sx), (dy, dx) = (conv["attributes"][name] for name in ("pad", "stride", "dilation"))
    x, weight, acc = [v - x_zp for v in x], [v - w_zp for v in weight], []
    for place in range(n * oh * ow):
        image, y, column = place // (oh * ow), place // ow % oh * sy - top, place % ow * sx - left
        window: list[int] = []
        for row, col in ((y + i * dy, column + j * dx) for i in range(kh) for j in range(kw)):
            at = ((image * h + row) * w + col) * c
            window += x[at : at + c] if 0 <= row < h and 0 <= col < w else [0] * c
        size = len(window)
        acc += [bias[o % len(bias)] + sum(map(int.__mul__, window, weight[o * size :])) for o in range(oc)]
    compare(f"{conv['name']}: accumulators", acc, read(acc_name))

    _, multiplier, shift, (in_zp,), (out_zp,) = (read(name) for name in rescale["inputs"].values())
    double, result = rescale["attributes"]["rounding_mode"] == "DOUBLE_ROUND", []
    for i, value in enumerate(acc):
        m, s, v = multiplier[i % len(multiplier)], shift[i % len(shift)], value - in_zp
        half = (1 << (s - 1)) + ((1 << 30 if v >= 0 else -1 << 30) if double and s > 31 else 0)
        result.append(min(127, max(-128, ((v * m + half) >> s) + out_zp)))
    compare(f"{rescale['name']}: int8", result, read(rescale["outputs"]["output"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
