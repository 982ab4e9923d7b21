"""More examples of NNEF operations: attributes that docs/nnef_examples.py leaves at one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from nnef_examples import KERNEL, TURNED, Example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Case = tuple[str, Example]
BORDERS = ("constant", "replicate", "reflect")
NO_PADDING = "(0, 0), (0, 0)"
HALVES = "h = mul(floor(x), 0.5); "
GROWN = "[2, 6] + [12, 8, 8][:n]"


def of(name: str, *arguments: str, before: str = "", **options: Any) -> Iterator[Case]:
    """One example for each text of arguments; `options` are fields of Example, or tensors."""
    fields = {key: options.pop(key) for key in ("low", "high", "results", "axes") if key in options}
    target = "(y, z)" if "results" in fields else "y"
    for text in arguments:
        yield name, Example(f"{before}{target} = {name}({text});", tensors=options, **fields)


def same(values: Any) -> Callable[[int], Any]:
    return lambda _: np.asarray(values)


def windows() -> Iterator[Case]:
    stepped = "size = [1, 1] + [3] * n, stride = [1, 1] + [2] * n"
    for border in BORDERS:
        yield from of("conv", f"x, w, b, border = '{border}', padding = [(1, 2)] * n", **KERNEL)
        yield from of("box", f"x, size = [1, 1] + [3] * n, border = '{border}', normalize = true")
        for name in ("max_pool", "avg_pool"):
            yield from of(name, f"x, {stepped}, border = '{border}', padding = [{NO_PADDING}] + [(1, 1)] * n")
    for name in ("max_pool", "avg_pool", "rms_pool"):
        yield from of(name, f"x, {stepped}, border = 'ignore'")
    yield from of("conv", "x, w, b, stride = [2] * n, dilation = [2] * n", **KERNEL)
    yield from of("conv", "x, w, 0.5, padding = [(-1, 1)] * n", w=KERNEL["w"])
    yield from of(
        "max_pool", "x, size = [1, 1] + [2] * n, dilation = [1, 1] + [2] * n, border = 'ignore'",
        "x, size = [1, 3] + [1] * n, stride = [1, 2] + [1] * n, border = 'ignore'",
    )  # fmt: skip
    yield from of(
        "box", "x, size = [1, 3] + [1] * n, border = 'ignore', normalize = true", f"x, {stepped}, border = 'ignore'",
        f"x, size = [1, 1] + [2] * n, border = 'ignore', normalize = true, padding = [{NO_PADDING}] + [(0, 1)] * n",
    )  # fmt: skip


def reverse_windows() -> Iterator[Case]:
    yield from of(
        "deconv", "x, w, b", "x, w, b, stride = [2] * n",
        "x, w, b, stride = [2] * n, padding = [(0, 1)] * n, dilation = [2] * n",
        "x, w, b, stride = [2] * n, border = 'replicate', padding = [(1, 1)] * n", **TURNED,
    )  # fmt: skip
    yield from of("deconv", "x, w, groups = 2, stride = [2] * n, padding = [(1, 0)] * n", w=lambda n: [4, 3] + [3] * n)
    for more in ("", ", padding = [(1, 1)] * n"):
        yield from of("deconv", f"x, w, stride = [2] * n, output_shape = {GROWN}{more}", w=TURNED["w"])
    stepped = "stride = [1, 1] + [2] * n"
    yield from of(
        "debox", f"x, size = [1, 1] + [2] * n, {stepped}, output_shape = [2, 4] + [12, 8, 8][:n]",
        f"x, size = [1, 1] + [3] * n, {stepped}, padding = [{NO_PADDING}] + [(1, 0)] * n, normalize = true",
    )  # fmt: skip
    for method in ("symmetric", "asymmetric", "aligned"):
        for border in BORDERS[:2]:
            yield from of("multilinear_upsample", f"x, factor = [3] * n, method = '{method}', border = '{border}'")


def reductions() -> Iterator[Case]:
    for axes in ("[0]", "[2]", "[1, 2]", "[0, 2]"):
        for name in ("sum_reduce", "max_reduce", "min_reduce", "mean_reduce"):
            yield from of(name, f"x, axes = {axes}")
        yield from of("moments", f"x, axes = {axes}", results=("y", "z"))
        for name in ("l1_normalization", "l2_normalization"):
            yield from of(name, f"x, axes = {axes}, bias = 0.25, epsilon = 0.5")
    for axes in ("[0]", "[2]", "[1, 2]"):
        for name in ("argmax_reduce", "argmin_reduce"):
            yield from of(name, f"x, axes = {axes}")
    yield from of("sum_reduce", "x, axes = [1, 2], normalize = true")
    yield from of("softmax", "x, axes = [2]")
    yield from of("local_response_normalization", "x, size = [1, 1] + [3] * n, alpha = 2.0")
    yield from of("local_mean_normalization", "x, size = [1, 3] + [1] * n")


def shapes() -> Iterator[Case]:
    parts = (
        "begin = [1], end = [0]", "begin = [-3], end = [-1]", "begin = [5], end = [0], stride = [-1]",
        "begin = [0], end = [5], stride = [2]", "begin = [-1], end = [-7], stride = [-1]",
        "begin = [4], end = [1], stride = [-2]", "begin = [4], end = [0], stride = [-3]",
    )  # fmt: skip
    yield from of("slice", *(f"x, axes = [2], {part}" for part in parts))
    pads = [f"x, padding = [{NO_PADDING}] + [(2, 1)] * n, border = '{border}'" for border in BORDERS]
    yield from of(
        "pad", *pads, f"x, padding = [{NO_PADDING}] + [(-1, 2)] * n, value = 1.5",
        "x, padding = [(1, 0), (0, 2)] + [(0, 0)] * n",
        f"x, padding = [{NO_PADDING}] + [(1, 1)] * n, border = 'reflect-even'",
    )  # fmt: skip
    yield from of("reshape", "x, shape = [-1], axis_start = 1", "x, shape = [2, -1], axis_start = 1, axis_count = 2")
    yield from of("concat", "[x, v, x], axis = 0")
    yield "split", Example("[y, z] = split(x, axis = 2, ratios = [1, 1]);", results=("y", "z"))
    yield from of("stack", "[x, v], axis = 0")
    yield from of("unsqueeze", "x, axes = [0, 2]")
    yield from of("transpose", "x, axes = [0, 2, 1]")
    yield from of("gather", "x, i, axis = 0", "x, i, axis = 1", i=same(np.int32([[1, 0], [0, 0]])))


def elementwise() -> Iterator[Case]:
    for name in ("add", "mul", "min", "pow"):
        yield from of(name, "x, w", low=0.5, w=same(np.float32([[0.5, 1, 2, 0.25]])))
    yield from of("select", "c, x, 1.0", before="c = gt(x, 0.0); ")
    yield from of("select", "c, w, x", before="c = gt(x, 0.0); ", w=lambda _: [1, 4])
    yield from of("clamp", "x, 0.5, -0.5")
    yield from of("round", "h", before=HALVES, low=-8.0, high=8.0)
    yield from of("sign", "r", before="r = round(x); ")
    yield from of("elu", "x, alpha = 0.5")
    yield from of("selu", "x, alpha = 1.0, lambda = 2.0")
    yield from of("prelu", "x, a", a=same(np.float32([0.25])))
    yield from of("add_n", "[x]")
    yield "cast", Example("c = cast<integer>(x); y = cast<scalar>(c);")
    yield from of("matmul", "x, v, transposeA = true")
    yield from of("linear", "r, w", before="r = reshape(x, shape = [0, -1]); ", axes=(0,), w=lambda _: [5, 4])
    yield from of(
        "zero_point_linear_quantize", "h, zero_point = 0, scale = 1.0, bits = 4, signed = true, symmetric = true",
        before=HALVES, low=-8.0, high=8.0,
    )  # fmt: skip
    yield from of(
        "zero_point_linear_quantize", "x, zero_point = 5, scale = 0.25, bits = 4, signed = false, symmetric = false"
    )
    yield from of("min_max_linear_quantize", "x, -1.5, 1.0, bits = 4, signed = false, symmetric = false")
    yield from of("logarithmic_quantize", "x, 2.0, bits = 4")


VARIANTS = [*windows(), *reverse_windows(), *reductions(), *shapes(), *elementwise()]
