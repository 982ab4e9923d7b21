"""A small example of every operation of NNEF 1.0.4, in one, two and three spatial axes.

In the text of an example `n` stands for the number of spatial axes; all tensors of the examples have rank n + 2 unless
the text says otherwise. docs/generate_nnef_operations.py makes a table of what becomes of them, and
tests/peers/test_nnef_interpreter.py runs them with another interpreter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tosa_engine.frontends import nnef

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tosa_engine.types import Array

SPATIAL: Final = (6, 4, 4)
HEAD: Final = "version 1.0;\nextension KHR_enable_operator_expressions;\n"
KINDS: Final = {"f": "scalar", "i": "integer", "b": "logical"}


@dataclass(frozen=True)
class Example:
    """`body` assigns `results`, from the externals `x` and `v`, where they are used, with values in `low` .. `high`,
    and from `tensors`, which are made for n spatial axes.
    """

    body: str
    low: float = -2.0
    high: float = 2.0
    tensors: Mapping[str, Callable[[int], Any]] = field(default_factory=dict)
    results: tuple[str, ...] = ("y",)
    axes: tuple[int, ...] = (1, 2, 3)
    integers: tuple[int, ...] = (1, 2, 3)  # which of them are worth quantizing
    variant: str = ""

    def shapes(self, n: int) -> dict[str, list[int]]:
        """The externals."""
        names = [name for name in ("x", "v") if re.search(rf"\b{name}\b", self.body)]
        return {name: [2, 4, *SPATIAL[:n]] for name in names}

    def constants(self, n: int) -> dict[str, Array]:
        rng = np.random.default_rng(n)
        found = {}
        for name, make in self.tensors.items():
            value = make(n)
            found[name] = random(rng, value, -1.0, 1.0) if isinstance(value, list) else np.asarray(value)
        return found

    def samples(self, n: int, seed: int) -> dict[str, Array]:
        """Inputs, uniformly distributed."""
        rng = np.random.default_rng(seed)
        return {name: random(rng, shape, self.low, self.high) for name, shape in self.shapes(n).items()}

    def text(self, n: int) -> str:
        lines = [f"{name} = external(shape = {shape});" for name, shape in self.shapes(n).items()]
        for name, array in self.constants(n).items():
            kind = KINDS[array.dtype.kind]
            lines.append(f"{name} = variable<{kind}>(shape = {list(array.shape)}, label = '{name}');")
        lines.append(re.sub(r"\bn\b", str(n), self.body))
        body = "".join(f"    {line}\n" for line in lines)
        return f"{HEAD}graph g( {', '.join(self.shapes(n))} ) -> ( {', '.join(self.results)} )\n{{\n{body}}}\n"

    def write(self, folder: Path, n: int) -> Path:
        """The example as a document with its tensor files."""
        folder.mkdir(parents=True)
        (folder / "graph.nnef").write_text(self.text(n), encoding="utf-8")
        for name, array in self.constants(n).items():
            (folder / f"{name}.dat").write_bytes(nnef.write_dat(array))
        return folder


def random(rng: np.random.Generator, shape: list[int], low: float, high: float) -> Array:
    return rng.uniform(low, high, shape).astype(np.float32)


def of_x(*names: str, low: float = -2.0, high: float = 2.0) -> dict[str, Example]:
    """Functions of one tensor: an integer TABLE knows no rank."""
    return {name: Example(f"y = {name}(x);", low, high, integers=(2,)) for name in names}


def of_two(*names: str) -> dict[str, Example]:
    return {name: Example(f"y = {name}(x, v);") for name in names}


def with_v(text: str, **tensors: Callable[[int], Any]) -> Example:
    return Example(text, tensors=tensors)


def codes(shape: Callable[[int], list[int]], most: int) -> Callable[[int], Array]:
    """Indices from 0 to `most` - 1."""
    return lambda n: np.random.default_rng(n).integers(0, most, shape(n)).astype(np.int32)


def regions(n: int) -> Array:
    return np.array([[0] * n + [4] * n, [1] * n + [3] * n, [0.6] * n + [3.2] * n], np.float32)


def of_region(call: str) -> Example:
    return Example(f"y = {call};", tensors={"r": regions, "i": lambda _: np.array([[0], [1], [1]], np.int32)})


WINDOW = "size = [1, 1] + [2] * n, stride = [1, 1] + [2] * n, border = 'ignore'"
KERNEL: Final = {"w": lambda n: [6, 4] + [3] * n, "b": lambda _: [1, 6]}
TURNED: Final = {"w": lambda n: [4, 6] + [3] * n, "b": lambda _: [1, 6]}
CELLS: Final = codes(lambda n: [2, 4, *((extent + 1) // 2 for extent in SPATIAL[:n])], 2)
CHANNELS: Final = {"m": lambda _: [1, 4], "o": lambda _: [1, 4], "s": lambda _: [1, 4]}
TRUTHS: Final = "c = gt(x, 0.0); d = lt(x, 0.5); "

EXAMPLES: Final[dict[str, Example | tuple[Example, ...]]] = {
    "external": Example("y = copy(x);"),
    "constant": Example("c = constant(shape = [1, 4], value = [0.5, -1.0, 0.25, 2.0]); y = add(x, c);"),
    "variable": with_v("y = add(x, w);", w=lambda _: [1, 4]),
    **of_x("copy", "neg"),
    **of_x("rcp", low=0.5, high=4.0),
    **of_x("exp"),
    **of_x("log", low=0.3, high=4.0),
    **of_x("sin", "cos"),
    **of_x("tan", low=-1.2, high=1.2),
    **of_x("sinh", "cosh", "tanh"),
    **of_x("asin", "acos", low=-0.95, high=0.95),
    **of_x("atan", "asinh"),
    **of_x("acosh", low=1.0, high=4.0),
    **of_x("atanh", low=-0.95, high=0.95),
    **of_x("abs", "sign"),
    "not": Example("c = gt(x, 0.0); y = not(c);"),
    **of_x("floor", "ceil", "round", low=-8.0, high=8.0),
    **of_two("add", "sub", "mul"),
    "div": Example("y = div(x, v);", 0.5, 2.0),
    "pow": (
        Example("y = pow(x, v);", 0.5, 2.0, variant="two tensors"),
        Example("y = pow(x, 1.7);", 0.5, 2.0, integers=(2,), variant="a number as exponent"),
    ),
    **of_two("lt", "gt", "le", "ge"),
    "eq": Example("r = round(x); s = round(v); y = eq(r, s);"),
    "ne": Example("r = round(x); s = round(v); y = ne(r, s);"),
    "and": Example(TRUTHS + "y = and(c, d);"),
    "or": Example(TRUTHS + "y = or(c, d);"),
    "select": Example("c = gt(x, 0.0); y = select(c, x, v);"),
    **of_x("sqr"),
    **of_x("sqrt", low=0.0, high=4.0),
    **of_x("rsqr", "rsqrt", "log2", low=0.5, high=2.0),
    **of_two("min", "max"),
    "clamp": (
        Example("y = clamp(x, -1.0, 1.5);", variant="numbers as bounds"),
        with_v("y = clamp(x, l, h);", l=lambda _: np.float32([[-1, -0.5, 0, -1.5]]), h=lambda _: np.float32([[1.5]])),
    ),
    "conv": (
        Example("y = conv(x, w, b);", tensors=KERNEL),
        Example("y = conv(x, w, b, groups = 0, stride = [2] * n);", variant="depthwise",
                tensors={"w": lambda n: [8, 1] + [3] * n, "b": lambda _: [1, 8]}),
        Example("y = conv(x, w, b, groups = 2);", variant="two groups",
                tensors={"w": lambda n: [6, 2] + [3] * n, "b": lambda _: [1, 6]}),
        Example("y = conv(x, v);", variant="a filter that is computed"),
    ),
    "deconv": (
        Example("y = deconv(x, w, b, stride = [2] * n, padding = [(1, 1)] * n);", tensors=TURNED),
        Example("y = deconv(x, w, stride = [2] * n, groups = 0);", variant="depthwise",
                tensors={"w": lambda n: [4, 1] + [3] * n}),
    ),
    "box": (
        Example("y = box(x, size = [1, 1] + [3] * n, normalize = true);", variant="mean"),
        Example("y = box(x, size = [1, 1] + [3] * n);", variant="sum"),
    ),
    "debox": Example("y = debox(x, size = [1, 1] + [3] * n, stride = [1, 1] + [2] * n);"),
    "argmax_pool": Example(f"y = argmax_pool(x, {WINDOW});"),
    "sample": with_v(f"y = sample(x, i, {WINDOW.replace('ignore', 'constant')});", i=CELLS),
    "desample": Example(
        "y = desample(x, i, size = [1, 1] + [2] * n, stride = [1, 1] + [2] * n);",
        tensors={"i": codes(lambda n: [2, 4, *SPATIAL[:n]], 2)},
    ),
    "nearest_downsample": Example("y = nearest_downsample(x, factor = [2] * n);"),
    "area_downsample": Example("y = area_downsample(x, factor = [2] * n);"),
    "nearest_upsample": Example("y = nearest_upsample(x, factor = [2] * n);"),
    "multilinear_upsample": tuple(
        Example(f"y = multilinear_upsample(x, factor = [2] * n, method = '{method}', border = '{border}');",
                variant=f"{method}, {border}")
        for method, border in (("symmetric", "replicate"), ("symmetric", "constant"), ("asymmetric", "replicate"),
                               ("asymmetric", "constant"), ("aligned", "replicate"))
    ),
    "sum_reduce": Example("y = sum_reduce(x, axes = [1]);"),
    "max_reduce": Example("y = max_reduce(x, axes = [1]);"),
    "min_reduce": Example("y = min_reduce(x, axes = [1]);"),
    "argmax_reduce": Example("y = argmax_reduce(x, axes = [1]);"),
    "argmin_reduce": Example("y = argmin_reduce(x, axes = [1]);"),
    "all_reduce": Example("c = gt(x, -1.5); y = all_reduce(c, axes = [1]);"),
    "any_reduce": Example("c = gt(x, 1.5); y = any_reduce(c, axes = [1]);"),
    "mean_reduce": Example("y = mean_reduce(x, axes = [for i in range_of([1] * n) yield i + 2]);"),
    "reshape": Example("y = reshape(x, shape = [0, -1]);"),
    "squeeze": Example("m = max_reduce(x, axes = [1]); y = squeeze(m, axes = [1]);"),
    "unsqueeze": Example("y = unsqueeze(x, axes = [1]);"),
    "transpose": Example("y = transpose(x, axes = [1, 0]);"),
    "split": Example("[y, z] = split(x, axis = 1, ratios = [1, 3]);", results=("y", "z")),
    "concat": Example("y = concat([x, v], axis = 1);"),
    "stack": Example("y = stack([x, v], axis = 1);"),
    "unstack": Example("[y, z] = unstack(x, axis = 0);", results=("y", "z")),
    "slice": Example("y = slice(x, axes = [1, 2], begin = [1, 4], end = [3, 0], stride = [1, -2]);"),
    "pad": tuple(
        Example(f"y = pad(x, padding = [(0, 0), (0, 0)] + [(1, 2)] * n, border = '{border}');", variant=border)
        for border in ("constant", "replicate", "reflect", "reflect-even")
    ),
    "tile": Example("y = tile(x, repeats = [1, 2] + [2] * n);"),
    "gather": with_v("y = gather(x, i, axis = 1);", i=lambda _: np.array([2, 0, 2], np.int32)),
    "cast": Example("c = cast<logical>(x); y = cast<scalar>(c);"),
    "avg_roi_pool": of_region("avg_roi_pool(x, r, i, output_size = [2] * n)"),
    "max_roi_pool": of_region("max_roi_pool(x, r, i, output_size = [2] * n)"),
    "roi_resample": of_region("roi_resample(x, r, i, output_size = [2] * n)"),
    "avg_roi_align": of_region("avg_roi_align(x, r, i, output_size = [2] * n, sampling_rate = [2] * n)"),
    "max_roi_align": of_region("max_roi_align(x, r, i, output_size = [2] * n, sampling_rate = [2] * n)"),
    "matmul": (
        Example("y = matmul(x, v, transposeB = true);", variant="two tensors"),
        with_v("y = matmul(x, w);", w=lambda n: [1] * n + [SPATIAL[n - 1], 7]),
    ),
    "update": with_v("u = update(w, x); y = add(u, w);", w=lambda n: [2, 4, *SPATIAL[:n]]),
    **of_x("sigmoid", "relu"),
    "prelu": with_v("y = prelu(x, a);", a=lambda _: np.float32([[0.1, 0.25, 0.5, 0.05]])),
    "leaky_relu": Example("y = leaky_relu(x, alpha = 0.1);", integers=(2,)),
    **of_x("elu", "selu", "gelu", "silu"),
    "softmax": (
        Example("y = softmax(x);", variant="one axis"),
        Example("y = softmax(x, axes = [1, 2]);", variant="two axes"),
    ),
    **of_x("softplus"),
    "linear": Example(
        "r = reshape(x, shape = [0, -1]); y = linear(r, w, b);", axes=(0,), integers=(0,),
        tensors={"w": lambda _: [5, 4], "b": lambda _: [1, 5]},
    ),
    "separable_conv": Example(
        "y = separable_conv(x, p, w, b);",
        tensors={"p": lambda n: [4, 1] + [3] * n, "w": lambda n: [6, 4] + [1] * n, "b": lambda _: [1, 6]},
    ),
    "separable_deconv": Example(
        "y = separable_deconv(x, p, w, b, stride = [2] * n);",
        tensors={"p": lambda n: [6, 1] + [3] * n, "w": lambda n: [4, 6] + [1] * n, "b": lambda _: [1, 6]},
    ),
    "max_pool_with_index": Example(f"(y, i) = max_pool_with_index(x, {WINDOW});", results=("y", "i")),
    "max_pool": Example(f"y = max_pool(x, {WINDOW});"),
    "avg_pool": Example(f"y = avg_pool(x, {WINDOW});"),
    "rms_pool": Example(f"y = rms_pool(x, {WINDOW});"),
    "local_response_normalization": Example(
        "y = local_response_normalization(x, size = [1, 3] + [1] * n, alpha = 0.5, beta = 0.75, bias = 1.0);"
    ),
    "local_mean_normalization": Example("y = local_mean_normalization(x, size = [1, 1] + [3] * n);"),
    "local_variance_normalization": Example(
        "y = local_variance_normalization(x, size = [1, 1] + [3] * n, bias = 0.5, epsilon = 0.1);"
    ),
    "local_contrast_normalization": Example(
        "y = local_contrast_normalization(x, size = [1, 1] + [3] * n, bias = 0.5, epsilon = 0.1);"
    ),
    "l1_normalization": Example("y = l1_normalization(x, axes = [1], bias = 0.5);"),
    "l2_normalization": Example("y = l2_normalization(x, axes = [1], epsilon = 0.01);"),
    "batch_normalization": Example(
        "y = batch_normalization(x, m, d, o, s, epsilon = 0.001);",
        tensors={**CHANNELS, "d": lambda _: np.float32([[0.5, 1.0, 1.5, 2.0]])},
    ),
    "min_max_linear_quantize": Example(
        "y = min_max_linear_quantize(x, -1.5, 1.5, bits = 4, signed = true, symmetric = true);", integers=(2,)
    ),
    "zero_point_linear_quantize": Example(
        "y = zero_point_linear_quantize(x, zero_point = 3, scale = 0.125, bits = 5, signed = true, symmetric = false);",
        integers=(2,),
    ),
    "linear_quantize": Example("y = linear_quantize(x, -1.0, 1.5, bits = 6);", integers=(2,)),
    "logarithmic_quantize": Example("y = logarithmic_quantize(x, 1.5, bits = 3);", 0.01, 2.0, integers=(2,)),
    "copy_n": Example("[y, z] = copy_n(x, times = 2);", results=("y", "z")),
    "add_n": Example("y = add_n([x, v, x]);"),
    "moments": Example("(y, z) = moments(x, axes = [0, 2]);", results=("y", "z")),
}  # fmt: skip
