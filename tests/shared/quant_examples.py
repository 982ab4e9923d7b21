"""For every operation of NNEF a small document, and for every TOSA-FP operator a small graph, to be quantized."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from nnef_tools import write_nnef

from quant.calibration import calibrate, observe
from quant.calibration.methods import Method
from quant.calibration.records import Statistics
from quant.calibration.statistics import TensorStatistics
from quant.legalize.quantize import float_tensors, prepared, quantize, unbounded
from quant.ranges import activation_qparams
from tosa_engine import oracle, types
from tosa_engine.frontends import nnef
from tosa_engine.infer import infer
from tosa_engine.qparams.arrays import dequantize_array, quantize_array
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.types import Array

    Source = Callable[[np.random.Generator, tuple[int, ...]], Array]

IMAGE = (2, 4, 6, 6)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.5, 4.0, shape)


def unit(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(-0.9, 0.9, shape)


def above_one(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(1.2, 4.0, shape)


def regions(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    low, size = rng.uniform(0, 2, (shape[0], 2)), rng.uniform(2, 4, (shape[0], 2))
    return np.concatenate([low, low + size], axis=1)


def indices(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(0, 2, shape)


def truths(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(0, 2, shape) > 0


@dataclass(frozen=True)
class Example:
    """The statements of a document; its inputs; of its variables `wN` the shapes and where their values come from."""

    body: str
    inputs: Mapping[str, tuple[tuple[int, ...], Source]] = field(default_factory=lambda: {"x": (IMAGE, normal)})
    variables: Mapping[str, tuple[tuple[int, ...], Source]] = field(default_factory=dict)
    results: str = "y"


def of(source: Source, shape: tuple[int, ...] = IMAGE) -> dict[str, tuple[tuple[int, ...], Source]]:
    return {"x": (shape, source)}


X: Any = of(normal)
TWO = {"x": (IMAGE, normal), "z": (IMAGE, normal)}
PAIR = {"x": (IMAGE, normal), "z": (IMAGE, positive)}
FILTER = {"w0": ((8, 4, 3, 3), normal), "w1": ((1, 8), normal)}
TRANSPOSED = {"w0": ((4, 8, 3, 3), normal), "w1": ((1, 8), normal)}
CHANNELS = {"w0": ((1, 4), normal), "w1": ((1, 4), positive), "w2": ((1, 4), normal), "w3": ((1, 4), normal)}
ROIS = {"x": ((2, 3, 8, 8), normal), "r": ((3, 4), regions), "i": ((3, 1), indices)}
WINDOW = "size = [1, 1, 2, 2], stride = [1, 1, 2, 2], padding = [(0, 0), (0, 0), (0, 0), (0, 0)], border = 'ignore'"
ACROSS = "size = [1, 3, 1, 1]"


def unary(name: str) -> Example:
    sources = {"asin": unit, "acos": unit, "atanh": unit, "acosh": above_one, "tan": unit}
    somewhere = {"rcp", "log", "sqrt", "rsqr", "rsqrt", "log2", *sources}
    return Example(f"y = {name}(x);", of(sources.get(name, positive) if name in somewhere else normal))


def compare(name: str) -> Example:
    return Example(f"y = {name}(x, z);", TWO)


EXAMPLES: dict[str, Example] = {
    **{name: unary(name) for name in (
        "copy", "neg", "rcp", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
        "asinh", "acosh", "atanh", "abs", "sign", "floor", "ceil", "round", "sqr", "sqrt", "rsqr", "rsqrt", "log2",
        "relu", "sigmoid", "gelu", "silu", "softplus", "elu", "selu", "softmax",
    )},
    **{name: compare(name) for name in ("add", "sub", "mul", "min", "max", "lt", "gt", "le", "ge", "eq", "ne")},
    "constant": Example("c = constant(shape = [1, 1, 1, 1], value = [0.75]); y = add(x, c);"),
    "external": Example("y = copy(x);"),
    "variable": Example("y = mul(x, w0);", X, {"w0": (IMAGE, normal)}),
    "not": Example("c = gt(x, z); y = not(c);", TWO),
    "and": Example("c = gt(x, z); d = gt(x, 0.0); y = and(c, d);", TWO),
    "or": Example("c = gt(x, z); d = gt(x, 0.0); y = or(c, d);", TWO),
    "div": Example("y = div(x, z);", PAIR),
    "pow": Example("y = pow(z, x);", PAIR),
    "select": Example("c = gt(x, z); y = select(c, x, 0.25);", TWO),
    "clamp": Example("y = clamp(x, -0.7, 1.1);"),
    "conv": Example("y = conv(x, w0, w1);", X, FILTER),
    "deconv": Example("y = deconv(x, w0, w1, stride = [2, 2]);", X, TRANSPOSED),
    "box": Example(f"y = box(x, {WINDOW});"),
    "debox": Example("y = debox(x, size = [1, 1, 3, 3], stride = [1, 1, 2, 2]);"),
    "argmax_pool": Example(f"y = argmax_pool(x, {WINDOW});"),
    "sample": Example(f"i = argmax_pool(x, {WINDOW}); y = sample(x, i, {WINDOW});"),
    "desample": Example(f"(m, i) = max_pool_with_index(x, {WINDOW}); y = desample(m, i, {WINDOW});"),
    "nearest_downsample": Example("y = nearest_downsample(x, factor = [2, 2]);"),
    "area_downsample": Example("y = area_downsample(x, factor = [2, 2]);"),
    "nearest_upsample": Example("y = nearest_upsample(x, factor = [2, 2]);"),
    "multilinear_upsample": Example("y = multilinear_upsample(x, factor = [2, 2]);"),
    **{name: Example(f"y = {name}(x, axes = [2, 3]);") for name in (
        "sum_reduce", "max_reduce", "min_reduce", "argmax_reduce", "argmin_reduce", "mean_reduce")},
    "all_reduce": Example("c = gt(x, -1.5); y = all_reduce(c, axes = [3]);"),
    "any_reduce": Example("c = gt(x, 1.5); y = any_reduce(c, axes = [3]);"),
    "reshape": Example("y = reshape(x, shape = [2, -1]);"),
    "squeeze": Example("y = squeeze(x, axes = [1]);", of(normal, (2, 1, 6, 6))),
    "unsqueeze": Example("y = unsqueeze(x, axes = [1]);"),
    "transpose": Example("y = transpose(x, axes = [0, 2, 3, 1]);"),
    "split": Example("[y, t] = split(x, axis = 1, ratios = [1, 3]);", results="y, t"),
    "concat": Example("y = concat([x, z], axis = 1);", PAIR),
    "stack": Example("y = stack([x, z], axis = 1);", TWO),
    "unstack": Example("[y, t] = unstack(x, axis = 0);", results="y, t"),
    "slice": Example("y = slice(x, axes = [2], begin = [1], end = [5]);"),
    "pad": Example("y = pad(x, padding = [(0, 0), (0, 0), (1, 1), (2, 1)], border = 'reflect');"),
    "tile": Example("y = tile(x, repeats = [1, 2, 1, 1]);"),
    "gather": Example("y = gather(x, i, axis = 1);", {"x": (IMAGE, normal), "i": ((3,), indices)}),
    "cast": Example("c = gt(x, z); y = cast<scalar>(c);", TWO),
    "avg_roi_pool": Example("y = avg_roi_pool(x, r, i, output_size = [2, 2]);", ROIS),
    "max_roi_pool": Example("y = max_roi_pool(x, r, i, output_size = [2, 2]);", ROIS),
    "roi_resample": Example("y = roi_resample(x, r, i, output_size = [3, 3]);", ROIS),
    "avg_roi_align": Example("y = avg_roi_align(x, r, i, output_size = [2, 2], sampling_rate = [2, 2]);", ROIS),
    "max_roi_align": Example("y = max_roi_align(x, r, i, output_size = [2, 2], sampling_rate = [2, 2]);", ROIS),
    "matmul": Example("y = matmul(x, z);", {"x": ((2, 6, 8), normal), "z": ((2, 8, 5), normal)}),
    "update": Example("v = variable(shape = [], label = 'w0'); s = mean_reduce(x, axes = [0, 1, 2, 3]); "
                      "t = squeeze(s, axes = [0, 1, 2, 3]); u = update(v, t); y = add(x, v);", X, {}),
    "prelu": Example("y = prelu(x, w0);", X, {"w0": ((1, 4), positive)}),
    "leaky_relu": Example("y = leaky_relu(x, alpha = 0.1);"),
    "linear": Example("y = linear(x, w0, w1);", of(normal, (6, 16)), {"w0": ((5, 16), normal), "w1": ((1, 5), normal)}),
    "separable_conv": Example("y = separable_conv(x, w0, w1);", X,
                              {"w0": ((4, 1, 3, 3), normal), "w1": ((5, 4, 1, 1), normal)}),
    "separable_deconv": Example("y = separable_deconv(x, w0, w1);", X,
                                {"w0": ((5, 1, 3, 3), normal), "w1": ((4, 5, 1, 1), normal)}),
    "max_pool_with_index": Example(f"(y, i) = max_pool_with_index(x, {WINDOW});", results="y, i"),
    "max_pool": Example(f"y = max_pool(x, {WINDOW});"),
    "avg_pool": Example(f"y = avg_pool(x, {WINDOW});"),
    "rms_pool": Example(f"y = rms_pool(x, {WINDOW});"),
    "local_response_normalization": Example(f"y = local_response_normalization(x, {ACROSS}, beta = 0.75);"),
    "local_mean_normalization": Example(f"y = local_mean_normalization(x, {ACROSS});"),
    "local_variance_normalization": Example(f"y = local_variance_normalization(x, {ACROSS}, epsilon = 0.1);"),
    "local_contrast_normalization": Example(f"y = local_contrast_normalization(x, {ACROSS}, epsilon = 0.1);"),
    "l1_normalization": Example("y = l1_normalization(x, axes = [1], epsilon = 0.01);"),
    "l2_normalization": Example("y = l2_normalization(x, axes = [1], epsilon = 0.01);"),
    "batch_normalization": Example("y = batch_normalization(x, w0, w1, w2, w3, epsilon = 0.001);", X, CHANNELS),
    "min_max_linear_quantize": Example(
        "y = min_max_linear_quantize(x, -2.0, 2.0, bits = 4, signed = true, symmetric = false);"),
    "zero_point_linear_quantize": Example(
        "y = zero_point_linear_quantize(x, zero_point = 1, scale = 0.25, bits = 4, signed = true, symmetric = false);"),
    "linear_quantize": Example("y = linear_quantize(x, -2.0, 2.0, bits = 4);"),
    "logarithmic_quantize": Example("y = logarithmic_quantize(x, 4.0, bits = 3);"),
    "copy_n": Example("[y, t] = copy_n(x, times = 2);", results="y, t"),
    "add_n": Example("y = add_n([x, z, x]);", TWO),
    "moments": Example("(y, t) = moments(x, axes = [2, 3]);", results="y, t"),
}  # fmt: skip
# what exporters make of layers that NNEF has no operation for
COMPOUNDS: dict[str, Example] = {
    "layer_normalization": Example(
        "(m, v) = moments(x, axes = [2]); d = sub(x, m); e = add(v, 0.00001); s = sqrt(e); n = div(d, s); "
        "g = mul(n, w0); y = add(g, w1);", of(normal, (2, 5, 16)),
        {"w0": ((1, 1, 16), positive), "w1": ((1, 1, 16), normal)}),
    "rms_normalization": Example(
        "p = sqr(x); m = mean_reduce(p, axes = [2]); e = add(m, 0.00001); s = rsqrt(e); n = mul(x, s); "
        "y = mul(n, w0);", of(normal, (2, 5, 16)), {"w0": ((1, 1, 16), positive)}),
    "attention": Example(
        "q = mul(x, 0.35); t = transpose(z, axes = [0, 2, 1]); s = matmul(q, t); p = softmax(s, axes = [2]); "
        "y = matmul(p, v);", dict.fromkeys(("x", "z", "v"), ((2, 6, 8), normal))),
    "gru_cell": Example(
        "a = matmul(x, w0); b = matmul(h, w1); ab = add(a, b); u = sigmoid(ab); c = matmul(x, w2); k = mul(h, u); "
        "l = matmul(k, w3); cl = add(c, l); n = tanh(cl); w = sub(1.0, u); p = mul(w, n); q = mul(u, h); "
        "y = add(p, q);",
        {"x": ((4, 8), normal), "h": ((4, 8), unit)}, {f"w{i}": ((8, 8), unit) for i in range(4)}),
    "lstm_cell": Example(
        "[i, f, g, o] = split(x, axis = 1, ratios = [1, 1, 1, 1]); si = sigmoid(i); sf = sigmoid(f); tg = tanh(g); "
        "so = sigmoid(o); a = mul(sf, c); b = mul(si, tg); y = add(a, b); tc = tanh(y); h = mul(so, tc);",
        {"x": ((4, 32), normal), "c": ((4, 8), normal)}, results="y, h"),
}  # fmt: skip
CONSTANT = ("weight", "bias", "shift", "padding", "shape", "start", "size", "multiples", "scale", "offset", "border")


def operator(op: str, rng: np.random.Generator) -> tuple[Graph, list[dict[str, Array]]]:
    """The example that the op table has of an operator on fp32, its weights and zero points constant; four samples."""
    spec = TABLE[op]
    case = spec.example(max(spec.rows, key=lambda row: _preferred(list(row.types.values()))))
    for name, tensor in case.inputs.items():
        if isinstance(tensor, list) or tensor.data is not None or not name.endswith((*CONSTANT, "_zp", "pad_const")):
            continue
        values = rng.standard_normal(tensor.shape) if name in ("weight", "bias") else np.zeros(tensor.shape)
        tensor.data = values.astype(tensor.dtype.storage)
    graph = case.graph()
    infer(graph)
    samples = [{t.name: _drawn(op, t, rng) for t in graph.inputs} for _ in range(4)]
    return graph, samples


def _preferred(kinds: list[types.DType]) -> int:
    """Of an operator's rows that of fp32 only, with i32 or bool beside it at most."""
    usual = all(kind in (types.fp32, types.i32, types.bool_) for kind in kinds)
    return 2 * usual + 2 * (usual and types.fp32 in kinds) + (bool(kinds) and kinds[0] is types.fp32)


def _drawn(op: str, tensor: Tensor, rng: np.random.Generator) -> Array:
    assert tensor.shape is not None
    if tensor.dtype is types.bool_:
        return truths(rng, tensor.shape)
    if tensor.dtype is types.i32:  # of SCATTER unique in a row
        several = np.arange(tensor.shape[-1], dtype=np.int32) if op == "SCATTER" else np.int32(0)
        return np.broadcast_to(several, tensor.shape).copy()
    source = positive if op in ("LOG", "POW", "RECIPROCAL", "RSQRT") else normal
    return source(rng, tensor.shape).astype(tensor.dtype.storage)


TYPES = {"f": "scalar", "i": "integer", "b": "logical"}


def load(example: Example, folder: Path, rng: np.random.Generator) -> tuple[Graph, list[dict[str, Array]]]:
    """The float graph of an example, and four samples."""
    samples = [{name: stored(source(rng, shape)) for name, (shape, source) in example.inputs.items()} for _ in range(4)]
    tensors = {name: stored(source(rng, shape)) for name, (shape, source) in example.variables.items()}
    lines = [
        f"{name} = external<{TYPES[a.dtype.kind]}>(shape = {list(a.shape)});" for name, a in samples[0].items()
    ] + [f"{name} = variable(shape = {list(a.shape)}, label = '{name}');" for name, a in tensors.items()]
    if "label = 'w0'" in example.body:
        tensors["w0"] = np.float32(0.5) * np.ones((), np.float32)
    body = "\n    ".join([*lines, example.body])
    text = f"version 1.0;\ngraph g({', '.join(samples[0])}) -> ({example.results})\n{{\n    {body}\n}}\n"
    return nnef.load(write_nnef(folder, text, tensors)), samples


def stored(values: Array) -> Array:
    return values.astype({"f": np.float32, "i": np.int32, "b": np.bool_}[values.dtype.kind])


def on_a_grid(graph: Graph, samples: list[dict[str, Array]], bits: int) -> list[dict[str, Array]]:
    """Samples whose floats an input of so many bits holds exactly."""
    found: list[dict[str, Array]] = [{} for _ in samples]
    for tensor in graph.inputs:
        arrays = [sample[tensor.name] for sample in samples]
        if tensor.dtype is types.fp32:
            low, high = min(float(a.min()) for a in arrays), max(float(a.max()) for a in arrays)
            quant = activation_qparams(low, high, bits=bits, symmetric=bits == 16)
            arrays = [dequantize_array(quantize_array(a, quant), quant).astype(np.float32) for a in arrays]
        for sample, array in zip(found, arrays, strict=True):
            sample[tensor.name] = array
    return found


def statistics_of(graph: Graph, samples: list[dict[str, Array]]) -> Statistics:
    """What calibration counts, seen by the oracle."""
    statistics = Statistics(observe.digest(graph))
    ready, watched, endless = prepared(graph), {t.name for t in float_tensors(graph)}, unbounded(graph)
    for number, sample in enumerate(samples):
        statistics.mark(number, number + 1)
        seen = dict(sample)
        oracle.run(ready, sample, lambda _, name, array, seen=seen: seen.update({name: array}))
        for name in watched & set(seen):
            array = observe.finite(seen[name]) if name in endless else seen[name]
            statistics.tensors.setdefault(name, TensorStatistics()).see(array)
    return statistics


def quantized(graph: Graph, samples: list[dict[str, Array]], bits: int) -> Graph:
    """As `calibrate` and `quantize` do it, with the ranges that were seen."""
    scheme = calibrate.Scheme(Method("minmax", bits=bits, symmetric=bits == 16), symmetric=bits == 16)
    return quantize(calibrate.attach(graph, statistics_of(graph, samples), scheme))


def by_name(folder: Path, graph: Graph, samples: list[dict[str, Array]], bits: int) -> Graph:
    """As `calibrate -o graph.quant` and `quantize --quant` do it: tensors inside of operations have no entry."""
    scheme = calibrate.Scheme(Method("minmax", bits=bits, symmetric=bits == 16), symmetric=bits == 16)
    found = calibrate.from_statistics(graph, statistics_of(graph, samples), scheme=scheme)
    return quantize(nnef.load(folder, found.qparams))


def quality(graph: Graph, integer: Graph, samples: list[dict[str, Array]]) -> dict[str, float]:
    """Of each output the SQNR in dB over all samples, or for truths and indices the share of equal ones in %."""
    signal: dict[str, float] = {}
    noise: dict[str, float] = {}
    for sample in samples:
        feeds = {
            t.name: sample[t.name] if t.quant is None else quantize_array(sample[t.name], t.quant)
            for t in integer.inputs
        }
        got, wanted = oracle.run(integer, feeds), oracle.run(graph, sample)
        for tensor in integer.outputs:
            name = tensor.name
            if tensor.quant is None:
                signal[name] = signal.get(name, 0.0) + wanted[name].size
                noise[name] = noise.get(name, 0.0) + float((got[name] == wanted[name]).sum())
                continue
            exact = wanted[name].astype(np.float64)
            error = dequantize_array(got[name], tensor.quant) - exact
            signal[name] = signal.get(name, 0.0) + float((exact**2).sum())
            noise[name] = noise.get(name, 0.0) + float((error**2).sum())
    return {
        t.name: 100 * noise[t.name] / signal[t.name]
        if t.quant is None
        else float(10 * np.log10(signal[t.name] / noise[t.name]))
        if noise[t.name]
        else np.inf
        for t in integer.outputs
    }
