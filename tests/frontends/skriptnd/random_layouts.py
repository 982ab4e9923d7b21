"""Random invocations of the operators with a formula that move, window, resize and quantize tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from tests.frontends.skriptnd.random_invocations import FREE, of, shape, signed, some_axes, word

if TYPE_CHECKING:
    from tests.frontends.skriptnd.random_invocations import Case, Draw

KINDS: Final = st.sampled_from(("int", "real", "bool"))


def tensor(draw: Draw, least: int = 1) -> tuple[list[int], str]:
    extents = shape(draw, least)
    return extents, of("x", draw(KINDS), extents)


def made(draw: Draw, name: str) -> Case:
    extents, kind = shape(draw, 1, 2, 3), draw(st.sampled_from(("int", "real")))
    count = 1
    for n in extents:
        count *= n
    values = draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count))
    texts = [f"{v}.5" if kind == "real" else str(v) for v in values]
    return f"layout.{name}{{shape={extents}, value=[{', '.join(texts)}]}}()", of("x", kind, [1]), *FREE


def uniform(draw: Draw, name: str) -> Case:
    return f"layout.uniform{{shape={shape(draw)}}}(x)", of("x", draw(KINDS), []), *FREE


def counted(draw: Draw, name: str) -> Case:
    first, count, stride = draw(st.integers(-5, 5)), draw(st.integers(1, 5)), draw(st.sampled_from((-2, -1, 1, 3)))
    last = first + count * stride
    return f"layout.range{{first={first}, last={last}, stride={stride}}}()", of("x", "int", [1]), *FREE


def plain(draw: Draw, name: str) -> Case:
    return f"layout.{name}(x)", tensor(draw)[1], *FREE


def cast(draw: Draw, name: str) -> Case:
    return f"layout.cast<{draw(KINDS)}>(x)", tensor(draw)[1], *FREE


def flatten(draw: Draw, name: str) -> Case:
    extents, text = tensor(draw)
    axis = draw(st.integers(0, len(extents) - 1))
    rank = draw(st.integers(1, len(extents) - axis))
    return f"layout.flatten{{axis={signed(draw, axis, len(extents))}, rank={rank}}}(x)", text, *FREE


def unflatten(draw: Draw, name: str) -> Case:
    extents, parts = shape(draw), shape(draw, 2, 2, 3)
    axis = draw(st.integers(0, len(extents) - 1))
    extents[axis] = parts[0] * parts[1]
    return f"layout.unflatten{{axis={axis}, shape={parts}}}(x)", of("x", draw(KINDS), extents), *FREE


def squeezed(draw: Draw, name: str) -> Case:
    extents = shape(draw)
    axes = some_axes(draw, len(extents))
    if name == "squeeze":
        extents = [1 if i in axes else n for i, n in enumerate(extents)]
    return f"layout.{name}{{axes={sorted(axes)}}}(x)", of("x", draw(KINDS), extents), *FREE


def joined(draw: Draw, name: str) -> Case:
    extents, kind, names = shape(draw), draw(KINDS), "abc"[: draw(st.integers(1, 3))]
    axis = draw(st.integers(0, len(extents) - 1))
    shapes = [list(extents) for _ in names]
    if name == "concat":
        for one in shapes:
            one[axis] = draw(st.integers(1, 3))
    texts = "".join(of(n, kind, one) for n, one in zip(names, shapes, strict=True))
    return f"layout.{name}{{axis={axis}}}([{', '.join(names)}])", texts, *FREE


def first_part(draw: Draw, name: str) -> Case:
    extents, sizes = shape(draw), shape(draw, 2, 2)
    axis = draw(st.integers(0, len(extents) - 1))
    extents[axis] = sum(sizes) if name == "split" else 2
    attributes = f", sizes={sizes}" if name == "split" else ""
    return f"layout.{name}{{axis={axis}{attributes}}}(x)", of("x", draw(KINDS), extents), *FREE


def grown(draw: Draw, name: str) -> Case:
    extents = shape(draw)
    axes = some_axes(draw, len(extents))
    sizes = [draw(st.integers(1, 3)) for _ in axes]
    if name == "broadcast":
        extents = [1 if i in axes else n for i, n in enumerate(extents)]
    word = "repeats" if name == "tile" else "shape"
    return f"layout.{name}{{axes={axes}, {word}={sizes}}}(x)", of("x", draw(KINDS), extents), *FREE


def cut(draw: Draw, name: str) -> Case:
    extents, text = tensor(draw)
    axes, begins, ends = some_axes(draw, len(extents)), [], []
    for axis in axes:
        begins.append(draw(st.integers(0, extents[axis] - 1)))
        ends.append(draw(st.integers(begins[-1] + 1, extents[axis])))
    strides = [draw(st.integers(1, 2)) for _ in axes]
    return f"layout.slice{{axes={axes}, begin={begins}, end={ends}, stride={strides}}}(x)", text, *FREE


def padded(draw: Draw, name: str) -> Case:
    extents, method = shape(draw), draw(st.sampled_from(("CONSTANT", "REFLECT", "SYMMETRIC", "REPLICATE")))
    most = [2 if method in ("CONSTANT", "REPLICATE") else n - (method == "REFLECT") for n in extents]
    padding = [draw(st.integers(0, n)) for n in most * 2]
    return f"layout.pad{{padding={padding}, method='{method}'}}(x)", of("x", "real", extents), *FREE


def transposed(draw: Draw, name: str) -> Case:
    extents, text = tensor(draw)
    axis = draw(st.integers(0, len(extents) - 1))
    order = draw(st.permutations(range(len(extents) - axis)))
    return f"layout.transpose{{axis={axis}, perm={[axis + i for i in order]}}}(x)", text, *FREE


def gathered(draw: Draw, name: str) -> Case:
    extents = shape(draw)
    axis = draw(st.integers(0, len(extents) - 1))
    extents[axis] = 3
    text = of("x", draw(st.sampled_from(("int", "real"))), extents) + of("i", "int", shape(draw, 0, 2))
    return f"layout.gather{{axis={axis}}}(x, i)", text, 0.0, 2.0


def scattered(draw: Draw, name: str) -> Case:
    extents = shape(draw)
    axis = draw(st.integers(0, len(extents) - 1))
    extents[axis] = 3
    part = [1 if i == axis else n for i, n in enumerate(extents)]
    text = of("x", "real", extents) + of("i", "int", part) + of("u", "real", part)
    return f"layout.scatter{{axis={axis}}}(x, i, u)", text, 0.0, 2.0


def gathered_nd(draw: Draw, name: str) -> Case:
    batch, places, rest = shape(draw, 0, 1), shape(draw, 0 if name == "gather_nd" else 1, 1, 1), shape(draw, 0, 1)
    depth = draw(st.integers(1, 2))
    data = of("x", "real", [*batch, *[3] * depth, *rest]) + of("i", "int", [*batch, *places, depth])
    attributes = f"{{batch_dims={len(batch)}}}"
    if name == "gather_nd":
        return f"layout.gather_nd{attributes}(x, i)", data, 0.0, 2.0
    return f"layout.scatter_nd{attributes}(x, i, u)", data + of("u", "real", [*batch, *places, *rest]), 0.0, 2.0


def windows(draw: Draw, dimensions: int) -> str:
    stride, dilation = (shape(draw, dimensions, dimensions, 2) for _ in range(2))
    return f"stride={stride}, dilation={dilation}"


def convolved(draw: Draw, name: str) -> Case:
    d, batch, groups = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    inputs, outputs = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    size, bias = shape(draw, d, d, 2), draw(st.booleans())
    padding = draw(st.lists(st.integers(0, 1), min_size=2 * d, max_size=2 * d))
    given = f", padding={padding}" if draw(st.booleans()) else ""
    image = [draw(st.integers(4, 5)) for _ in range(d)]
    channels, across = ((inputs * groups, inputs), outputs * groups)
    filters = [across, channels[1]] if name == "conv" else [inputs * groups, outputs]
    texts = of("x", "real", [batch, channels[0], *image]) + of("w", "real", [*filters, *size])
    texts += of("b", "real", [across]) * bias
    return f"nn.{name}{{{windows(draw, d)}{given}, groups={groups}}}(x, w{', b' * bias})", texts, *FREE


def pooled(draw: Draw, name: str) -> Case:
    d = draw(st.integers(1, 2))
    size, image = shape(draw, d, d, 2), [draw(st.integers(4, 5)) for _ in range(d)]
    given = f", padding={[0, 1] * d}" if draw(st.booleans()) else ""
    more = f"{windows(draw, d)}{given}, ceil_mode={word(draw(st.booleans()))}"
    return f"nn.{name}{{size={size}, {more}}}(x)", of("x", "real", [1, *shape(draw, 1, 1), *image]), *FREE


def resampled(draw: Draw, name: str) -> Case:
    extents, axis = [1, 2, draw(st.integers(2, 4)), draw(st.integers(2, 4))], draw(st.integers(2, 3))
    factor = draw(st.integers(2, 3))
    if name == "nearest_downsample":
        extents[axis] *= factor
    more = ""
    if name == "linear_upsample":
        more = f", symmetric={word(draw(st.booleans()))}, replicate_border={word(draw(st.booleans()))}"
    return f"image.{name}{{axes=[{axis}], factor=[{factor}]{more}}}(x)", of("x", "real", extents), *FREE


def resized(draw: Draw, name: str) -> Case:
    extents, axis, size = [1, 2, draw(st.integers(2, 4))], 2, draw(st.integers(2, 6))
    transform = draw(st.sampled_from(("SYMMETRIC", "ASYMMETRIC", "ALIGNED")))
    more = f"axes=[{axis}], size=[{size}], coordinate_transform='{transform}'"
    return f"image.{name}{{{more}}}(x)", of("x", "real", extents), *FREE


def sampled(draw: Draw, name: str) -> Case:
    padding = draw(st.sampled_from(("ZEROS", "REPLICATE", "REFLECT")))
    places = shape(draw, 2, 2, 3)
    texts = of("x", "real", [1, 2, 3, 4]) + of("g", "real", [1, *places, 2])
    return f"image.{name}{{padding='{padding}', aligned={word(draw(st.booleans()))}}}(x, g)", texts, -1.2, 1.2


def mesh(draw: Draw, name: str) -> Case:
    return "misc.mesh_grid([x, z])", of("x", "real", shape(draw, 1, 1)) + of("z", "real", shape(draw, 1, 1)), *FREE


def quantized(draw: Draw, name: str) -> Case:
    bits, signs = draw(st.sampled_from((4, 8))), word(draw(st.booleans()))
    ends = "scale=0.05, zero_point=3" if name.startswith("zero") else "min=-1.0, max=2.0"
    return f"quant.{name}{{{ends}, bits={bits}, signed={signs}}}(x)", of("x", "real", shape(draw, 2)), *FREE


LAYOUT: Final = {
    "tensor": made, "constant": made, "uniform": uniform, "range": counted, "shape": plain, "cast": cast,
    "flatten": flatten, "unflatten": unflatten, "squeeze": squeezed, "unsqueeze": squeezed, "concat": joined,
    "stack": joined, "split": first_part, "unstack": first_part, "tile": grown, "broadcast": grown, "slice": cut,
    "pad": padded, "transpose": transposed, "gather": gathered, "scatter": scattered, "gather_nd": gathered_nd,
    "scatter_nd": gathered_nd,
}  # fmt: skip
LAYOUT_CASES: Final = {
    **{f"layout.{name}": make for name, make in LAYOUT.items()},
    "nn.conv": convolved, "nn.deconv": convolved, "nn.max_pool": pooled, "nn.sum_pool": pooled,
    "image.nearest_downsample": resampled, "image.nearest_upsample": resampled, "image.linear_upsample": resampled,
    "image.nearest_resize": resized, "image.linear_resize": resized, "image._nearest_grid_sample": sampled,
    "image._linear_grid_sample": sampled, "misc.mesh_grid": mesh, "quant.zero_point_linear_quantize": quantized,
    "quant.min_max_linear_quantize": quantized,
}  # fmt: skip
