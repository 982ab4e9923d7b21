"""Image operators (specification 2.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from ..types import i8, i16, i32, i48
from .case import Case
from .floats import FP, float_rows
from .spatial import longer
from .table import Attribute, Call, Check, Limit, OpSpec, Row, row, shape_input, tensor
from .traits import samples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_SIZE = 16384
MOST_SCALE = 1 << 11
NAMES = {
    "scale": ("scale_y_n", "scale_y_d", "scale_x_n", "scale_x_d"),
    "offset": ("offset_y", "offset_x"),
    "border": ("border_y", "border_x"),
}


def _sizes(call: Call) -> Mapping[str, int]:
    """The elements of scale, offset and border by name; none of those whose values aren't known yet."""
    sizes: dict[str, int] = {}
    for argument, names in NAMES.items():
        if call[argument] is not None:
            sizes.update(zip(names, (int(v) for v in call[argument]), strict=True))
    return sizes


def _known(call: Call, *names: str) -> bool:
    return all(call.has(name) for name in names)


def _scales(call: Call, axis: str) -> tuple[int, int] | None:
    """Numerator and denominator along an axis, where they are known and positive."""
    if not call.has(f"scale_{axis}_n") or min(call[f"scale_{axis}_n"], call[f"scale_{axis}_d"]) <= 0:
        return None
    return int(call[f"scale_{axis}_n"]), int(call[f"scale_{axis}_d"])


def _span(call: Call, axis: str) -> int | None:
    """What divided by the scale's denominator, plus 1, is the output size along an axis."""
    scales = _scales(call, axis)
    if scales is None or not _known(call, f"offset_{axis}", f"border_{axis}"):
        return None
    size = call.IH if axis == "y" else call.IW
    return int((size - 1) * scales[0] - call[f"offset_{axis}"] + call[f"border_{axis}"])


def _output_check(label: str, axis: str) -> Check:
    letter = {"y": "OH", "x": "OW"}[axis]

    def violated(c: Call) -> bool:
        span, scales = _span(c, axis), _scales(c, axis)
        if span is None or scales is None:
            return False
        return span < 0 or span % scales[1] != 0 or (c.has(letter) and c[letter] != span // scales[1] + 1)

    message = (
        f"output size {letter} must be ((input size - 1) * scale_n - offset + border) / scale_d + 1, without remainder"
    )
    return Check(label, violated, message, longer(axis), "output")


def _output_size(c: Call, axis: str) -> int:
    span, scales = _span(c, axis), _scales(c, axis)
    assert span is not None
    assert scales is not None
    return span // scales[1] + 1


def _values(argument: str, *values: int) -> Callable[[Case], object]:
    return lambda case: case.const(argument, types.shape, list(values))


def _between(label: str, name: str, axis: str, bounds: tuple[int, int], broken: Callable[[Case], object]) -> Check:
    """A size of an axis is at least bounds[0] and less than bounds[1] times the scale's numerator."""

    def violated(c: Call) -> bool:
        scales = _scales(c, axis)
        if scales is None or not c.has(name):
            return False
        return not bounds[0] * scales[0] <= c[name] < bounds[1] * scales[0]

    message = f"{name} must be at least {bounds[0]} and less than {bounds[1]} times scale_{axis}_n, got {{{name}}}"
    return Check(label, violated, message, broken, name.split("_", maxsplit=1)[0])


def _too_large(case: Case) -> None:
    case.reshape("input", 1, MOST_SIZE, 3, 2)


def _steep(c: Call, axis: str) -> bool:
    scales = _scales(c, axis)
    return scales is not None and scales[1] >= 16 * scales[0]


def _ratio(axis: str) -> Limit:
    def get(c: Call) -> int:
        scales = _scales(c, axis)
        return -(-scales[0] // scales[1]) if scales is not None else 0

    return Limit(f"scale_{axis}_n/scale_{axis}_d", "max_scale", get)


def _wrong_mode(c: Call) -> bool:
    """Integer rows are for one mode each: bilinear ones have a wider output."""
    return bool(c.in_t.is_int) and (c.mode == "BILINEAR") == (c.in_t is c.out_t)


def _example(r: Row) -> Case:
    t = r.types
    mode = "NEAREST" if t["in_t"] is t["out_t"] else "BILINEAR"
    return (
        Case("RESIZE")
        .input("input", t["in_t"], (1, 4, 3, 2))
        .const("scale", types.shape, [4, 2, 4, 2])
        .const("offset", types.shape, [-1, -1])
        .const("border", types.shape, [1, 1])
        .set(mode=mode)
        .output("output", t["out_t"], (1, 8, 6, 2))
    )


RESIZE = OpSpec(
    name="RESIZE",
    code=64,
    schema="Resize",
    section="2.12.1",
    inputs=(
        tensor("input", "in_t", "[N,IH,IW,C]", (4, 4)),
        shape_input("scale", "[4]"),
        shape_input("offset", "[2]"),
        shape_input("border", "[2]"),
    ),
    attributes=(Attribute("mode", "resize_mode", 0),),
    outputs=(tensor("output", "out_t", "[N,OH,OW,C]", (4, 4)),),
    rows=(
        row("signed 8, bilinear", "PRO-INT", in_t=i8, out_t=i32),
        row("signed 8, nearest", "PRO-INT", in_t=i8, out_t=i8),
        row("signed 16, bilinear", "EXT-INT16", in_t=i16, out_t=i48),
        row("signed 16, nearest", "EXT-INT16", in_t=i16, out_t=i16),
        *float_rows(FP, "in_t", "out_t"),
    ),
    sizes=_sizes,
    traits=samples("input"),
    shapes=lambda c: [(c.N, _output_size(c, "y"), _output_size(c, "x"), c.C)],
    limits=(_ratio("y"), _ratio("x")),
    checks=(
        Check(
            "RESIZE.E1",
            lambda c: max(c.IH, c.IW, *((c.OH, c.OW) if c.has("OH") else ())) >= MOST_SIZE,
            f"input and output sizes must be less than {MOST_SIZE}, got {{IH}} x {{IW}}",
            _too_large,
            "input",
        ),
        Check(
            "RESIZE.E2",
            lambda c: c["scale"] is not None and min(c["scale"]) <= 0,
            "scale must be positive, got {scale}",
            _values("scale", 4, 0, 4, 2),
            "scale",
        ),
        Check(
            "RESIZE.E3",
            lambda c: c["scale"] is not None and max(c.scale_y_n, c.scale_x_n) > MOST_SCALE,
            f"the numerators of scale must be at most {MOST_SCALE}, got {{scale}}",
            _values("scale", MOST_SCALE + 1, 2, 4, 2),
            "scale",
        ),
        Check(
            "RESIZE.E4",
            lambda c: _steep(c, "y") or _steep(c, "x"),
            "scale must not shrink by 16 or more, got {scale}",
            _values("scale", 4, 2, 4, 64),
            "scale",
        ),
        _between("RESIZE.E5", "offset_y", "y", (-1, 16), _values("offset", -5, -1)),
        _between("RESIZE.E6", "offset_x", "x", (-1, 16), _values("offset", -1, 64)),
        _between("RESIZE.E7", "border_y", "y", (-16, 1), _values("border", 4, 1)),
        _between("RESIZE.E8", "border_x", "x", (-16, 1), _values("border", 1, -65)),
        _output_check("RESIZE.E9", "y"),
        _output_check("RESIZE.E10", "x"),
        Check(
            "RESIZE.E11",
            _wrong_mode,
            "no row of supported data types has {in_t} to {out_t} with mode {mode}",
            lambda case: case.set(mode="NEAREST" if case.attributes["mode"] == "BILINEAR" else "BILINEAR"),
            "output",
        ),
    ),
    example=_example,
)

OPERATORS = (RESIZE,)
