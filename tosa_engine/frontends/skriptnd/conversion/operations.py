"""What an operation of NNEF 1 is in SkriptND: a rule each. Compounds without a rule are expanded before."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ....lower.borders import CLEAR
from ....lower.views import shape_of
from ...nnef.language.extensions import TRACT
from ...nnef.language.syntax import Name
from .words import TYPES, Unsayable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...nnef.build import NnefWriter
    from ...nnef.language.flat import Operation
    from .words import InSkriptnd

    Rule = Callable[[InSkriptnd, Operation], None]

METHODS: Final = {
    "constant": "CONSTANT", "ignore": "CONSTANT", "replicate": "REPLICATE", "reflect": "REFLECT",
    "reflect-even": "SYMMETRIC",
}  # fmt: skip


def results_of(f: InSkriptnd, op: Operation) -> list[str]:
    return [f.names(result.text) for result in op.results]


def say(f: InSkriptnd, op: Operation, name: str, *inputs: Any, **attributes: Any) -> None:
    """One invocation with the operation's results."""
    shown = [value if isinstance(value, Said) else f.tensor(value) for value in inputs]
    f.invoke(results_of(f, op), name, shown, **attributes)


class Said(str):
    """A text in SkriptND."""

    __slots__ = ()


NONE: Final = Said("~")

# element by element


def unary(name: str, f: InSkriptnd, op: Operation) -> None:
    say(f, op, name, op.arguments["x"])


def aligned(name: str, parameters: Mapping[str, str], f: InSkriptnd, op: Operation) -> None:
    """Shapes of a lower rank have trailing extents of 1. `parameters`: with the attributes that say so."""
    values = [op.arguments[name] for name in parameters]
    ranks = [len(f.shape(value)) for value in values]
    most = max(ranks)
    given = {key: n - most for key, n in zip(parameters.values(), ranks, strict=True) if 0 < n < most}
    say(f, op, name, *values, **given)


BINARY: Final = {"x": "lhs_align", "y": "rhs_align"}
SELECT: Final = {"condition": "cond_align", "true_value": "lhs_align", "false_value": "rhs_align"}
CLAMP: Final = {"x": "val_align", "a": "min_align", "b": "max_align"}


def relu(f: InSkriptnd, op: Operation) -> None:
    say(f, op, "nn.relu", op.arguments["x"], alpha=op.arguments.get("alpha"))


def prelu(f: InSkriptnd, op: Operation) -> None:
    x, alpha = op.arguments["x"], op.arguments["alpha"]
    if isinstance(alpha, Name):
        say(f, op, "nn.prelu", x, Said(f.vector(alpha, f.shape(x)[1])))
    else:
        relu(f, op)


def attributed(name: str, parameters: Mapping[str, str], f: InSkriptnd, op: Operation) -> None:
    """All other arguments are attributes, under other names."""
    first, *_ = op.arguments.values()
    say(f, op, name, first, **{new: op.arguments[old] for old, new in parameters.items()})


# windows


def numbers(f: InSkriptnd, op: Operation, extents: Sequence[int], size: Sequence[int]) -> list[tuple[int, ...]]:
    """Of each axis: size, stride, dilation, before, after."""
    del f
    a, rank = op.arguments, len(extents)
    strides, dilations = a["stride"] or (1,) * rank, a["dilation"] or (1,) * rank
    found: list[tuple[int, ...]] = []
    for i, (n, k, s, d) in enumerate(zip(extents, size, strides, dilations, strict=True)):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        before, after = a["padding"][i] if a["padding"] else (total // 2, total - total // 2)
        found.append((k, s, d, before, after))
    return found


def window(f: InSkriptnd, op: Operation, extents: Sequence[int], size: Sequence[int]) -> dict[str, Any]:
    """Stride, dilation and padding; automatic padding stays automatic where both languages mean the same by it."""
    found = numbers(f, op, extents, size)
    plain = all((-(-n // s) - 1) * s + (k - 1) * d + 1 >= n for n, (k, s, d, _, _) in zip(extents, found, strict=True))
    return steps(found) | (
        {"ceil_mode": True} if not op.arguments["padding"] and plain else {"padding": padding_of(found)}
    )


def steps(found: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    strides, dilations = [w[1] for w in found], [w[2] for w in found]
    return {
        "stride": None if set(strides) <= {1} else strides,
        "dilation": None if set(dilations) <= {1} else dilations,
    }


def padding_of(found: Sequence[tuple[int, ...]]) -> list[int]:
    return [*(w[3] for w in found), *(w[4] for w in found)]


def conv(f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    shape, filter_shape = f.shape(a["input"]), f.shape(a["filter"])
    given, x = window(f, op, shape[2:], filter_shape[2:]), f.tensor(a["input"])
    if a["border"] != "constant":
        found = [(1, 1, 1, 0, 0)] * 2 + numbers(f, op, shape[2:], filter_shape[2:])
        x = padded(f, op, x, found, a["border"])
        given = steps(found[2:]) | {"padding": [0] * (2 * (len(found) - 2))}
    groups = None if a["groups"] == 1 else a["groups"]
    say(f, op, "nn.conv", Said(x), a["filter"], bias(f, a["bias"], filter_shape[0]), groups=groups, **given)


def bias(f: InSkriptnd, value: Any, size: int) -> Said:
    return NONE if value == 0.0 and not isinstance(value, Name) else Said(f.vector(value, size))


def deconv(f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    if a["border"] != "constant" or TRACT in f.document.extensions:
        raise Unsayable(f": border '{a['border']}'" if a["border"] != "constant" else ": filters of tract_core")
    shape, filter_shape, wanted = f.shape(a["input"]), f.shape(a["filter"]), a["output_shape"]
    rank, reaches = len(shape) - 2, []
    strides, dilations = a["stride"] or (1,) * rank, a["dilation"] or (1,) * rank
    outputs = wanted[2:] or [n * s for n, s in zip(shape[2:], strides, strict=True)]
    found = []
    for i, (n, k, s, d, size) in enumerate(zip(shape[2:], filter_shape[2:], strides, dilations, outputs, strict=True)):
        reaches.append((k - 1) * d + 1)
        total = max((n - 1) * s + reaches[-1] - size, 0)
        before, after = a["padding"][i] if a["padding"] else (total // 2, total - total // 2)
        found.append((k, s, d, before, after))
    groups = a["groups"] or (wanted[1] if wanted else 0)
    automatic = not a["padding"] and not wanted and all(r >= s for r, s in zip(reaches, strides, strict=True))
    given = {} if automatic else {"padding": padding_of(found)}
    if wanted or (not automatic and not a["padding"]):
        given["output_size"] = list(outputs)
    channels = filter_shape[1] * (groups or shape[1])
    inputs = (a["input"], a["filter"], bias(f, a["bias"], channels))
    say(f, op, "nn.deconv", *inputs, groups=None if groups == 1 else groups, **steps(found), **given)


def padded(f: InSkriptnd, op: Operation, x: str, found: Sequence[tuple[int, ...]], border: str) -> str:
    """The input with its border, axis by axis, by operators of their own."""
    for axis, (*_, before, after) in enumerate(found):
        if min(before, after) < 0:
            raise Unsayable(f": negative padding with border '{border}'")
        if before or after:
            given = {"axes": [axis], "padding": [before, after], "method": METHODS[border]}
            x = f.invoke(f.fresh(op, "padded"), "layout.pad", [x, "~"], **given)
    return x


def pool(name: str, f: InSkriptnd, op: Operation) -> None:
    """Axes with nothing but themselves in their windows are left out."""
    a = op.arguments
    shape, border, x = f.shape(a["input"]), a["border"], f.tensor(a["input"])
    found = numbers(f, op, shape, a["size"])
    given = window(f, op, shape, a["size"])
    filled = any(w[3] > 0 or w[4] > 0 for w in found)
    average = name in {"nn.avg_pool", "nn.rms_pool"}
    if filled and (border not in CLEAR or (border == "constant" and name == "nn.max_pool")):
        x = padded(f, op, x, found, border)
        found = [(*w[:3], 0, 0) for w in found]
        given = steps(found) | {"padding": [0] * (2 * len(found))}
    axes = [i for i, w in enumerate(found) if w != (1, 1, 1, 0, 0)] or list(range(2, len(found))) or [0]
    kept = {
        key: [value[i] for i in (*axes, *(i + len(found) for i in axes if key == "padding"))]
        if isinstance(value, list) else value
        for key, value in given.items()
    }  # fmt: skip
    if average:
        kept["ignore_border"] = None if border == "ignore" else False
    every = None if axes == list(range(2, len(found))) else axes
    say(f, op, name, Said(x), axes=every, size=[found[i][0] for i in axes], **kept)


def box(f: InSkriptnd, op: Operation) -> None:
    pool("nn.avg_pool" if op.arguments["normalize"] else "nn.sum_pool", f, op)


def sampling(name: str, f: InSkriptnd, op: Operation) -> None:
    rank = len(f.shape(op.arguments["input"]))
    say(f, op, name, op.arguments["input"], axes=list(range(2, rank)), factor=op.arguments["factor"])


def multilinear(f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    axes = list(range(2, len(f.shape(a["input"]))))
    if a["method"] == "aligned":
        size = list(f.shape(op.results[0])[2:])
        say(f, op, "image.linear_resize", a["input"], axes=axes, size=size, coordinate_transform="ALIGNED")
        return
    if a["border"] not in ("constant", "replicate") or a["method"] not in ("symmetric", "asymmetric"):
        raise Unsayable(f": border '{a['border']}', method '{a['method']}'")
    symmetric, replicated = a["method"] == "symmetric", a["border"] == "replicate"
    given = {"axes": axes, "factor": a["factor"], "symmetric": symmetric, "replicate_border": replicated}
    say(f, op, "image.linear_upsample", a["input"], **given)


def roi_pool(name: str, f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    index = f.tensor(a["batch_index"])
    if len(f.shape(a["batch_index"])) != 1:
        index = f.reshaped(index, f.shape(a["rois"])[:1])
    say(f, op, name, a["input"], a["rois"], Said(index), output_size=a["output_size"])


# reductions and shapes


def reduce(name: str, f: InSkriptnd, op: Operation) -> None:
    mean = op.arguments.get("normalize")
    say(f, op, "math.mean_reduce" if mean else name, op.arguments["input"], axes=op.arguments["axes"])


def position(name: str, f: InSkriptnd, op: Operation) -> None:
    if len(op.arguments["axes"]) != 1:
        raise Unsayable(f": axes {list(op.arguments['axes'])} together")
    say(f, op, name, op.arguments["input"], axis=op.arguments["axes"][0])


def reshape(f: InSkriptnd, op: Operation) -> None:
    """An extent of 0 stands for the input's."""
    a, start = op.arguments, op.arguments["axis_start"]
    shape = list(f.shape(op.results[0])[start : start + len(a["shape"])]) if 0 in a["shape"] else list(a["shape"])
    rank = None if a["axis_count"] == -1 else a["axis_count"]
    say(f, op, "layout.reshape", a["input"], axis=start or None, rank=rank, shape=shape)


def transpose(f: InSkriptnd, op: Operation) -> None:
    axes = op.arguments["axes"]
    rank = len(f.shape(op.arguments["input"]))
    say(f, op, "layout.transpose", op.arguments["input"], perm=[*axes, *range(len(axes), rank)])


def packed(f: InSkriptnd, op: Operation) -> str:
    return f"[{', '.join(results_of(f, op))}]"


def split(f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    part = f.shape(a["value"])[a["axis"]] // sum(a["ratios"])
    sizes = [ratio * part for ratio in a["ratios"]]
    f.invoke(packed(f, op), "layout.split", [f.tensor(a["value"])], axis=a["axis"], sizes=sizes)


def unstack(f: InSkriptnd, op: Operation) -> None:
    f.invoke(packed(f, op), "layout.unstack", [f.tensor(op.arguments["value"])], axis=op.arguments["axis"])


def of_pack(name: str, parameter: str, f: InSkriptnd, op: Operation) -> None:
    inputs = Said(f"[{', '.join(f.tensor(value) for value in op.arguments[parameter])}]")
    say(f, op, name, inputs, axis=op.arguments.get("axis"))


def slice_(f: InSkriptnd, op: Operation) -> None:
    """Ends that count from behind, or lie beyond, are counted from the front."""
    a = op.arguments
    stride, begins, ends = a["stride"] or (1,) * len(a["axes"]), [], []
    for axis, first, last, step in zip(a["axes"], a["begin"], a["end"], stride, strict=True):
        n = f.shape(a["input"])[axis]
        open_ended = last == 0 and all(s == 1 for s in stride)
        begins.append(min(max(first + n if first < 0 else first, 0), n))
        ends.append(n if open_ended else min(max(last + n if last < 0 else last, -1), n))
        if step > 0:
            ends[-1] = max(ends[-1], 0)
        elif begins[-1] == n:  # nothing lies there to begin with
            raise Unsayable(f": begin {first} of an extent of {n}, backwards")
    given = {"axes": a["axes"], "begin": begins, "end": ends}
    say(f, op, "layout.slice", a["input"], **given, stride=None if set(stride) <= {1} else stride)


def pad(f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    amounts, clear = [*(p[0] for p in a["padding"]), *(p[1] for p in a["padding"])], a["border"] in CLEAR
    if min(amounts, default=0) < 0:
        raise Unsayable(": negative padding")
    value = NONE if not clear or a["value"] == 0.0 else a["value"]
    say(f, op, "layout.pad", a["input"], value, padding=amounts, method=METHODS[a["border"]])


def cast(f: InSkriptnd, op: Operation) -> None:
    say(f, op, f"layout.cast<{TYPES[op.type]}>", op.arguments["input"])


def gather(f: InSkriptnd, op: Operation) -> None:
    say(f, op, "layout.gather", op.arguments["input"], op.arguments["indices"], axis=op.arguments["axis"])


# linear algebra, normalization, quantization


def matmul(f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    given = {"transA": a["transposeA"] or None, "transB": a["transposeB"] or None}
    say(f, op, "linalg.matmul", a["A"], a["B"], NONE, **given)


def linear(f: InSkriptnd, op: Operation) -> None:
    """Of matrices; other axes are put together before, and taken apart behind."""
    a = op.arguments
    shape, (outputs, inputs) = f.shape(a["input"]), f.shape(a["filter"])[-2:]
    given = [f.matrix(a["filter"]), bias(f, a["bias"], outputs)]
    if len(shape) == 2:
        say(f, op, "nn.linear", a["input"], *map(Said, given))
        return
    rows = f.reshaped(f.tensor(a["input"]), [math.prod(shape[:-1]), inputs])
    found = f.invoke(f.fresh(op, "rows"), "nn.linear", [rows, *given])
    say(f, op, "layout.reshape", Said(found), shape=[*shape[:-1], outputs])


def batch_norm(f: InSkriptnd, op: Operation) -> None:
    a, size = op.arguments, f.shape(op.arguments["input"])[1]
    given = [Said(f.vector(a[name], size)) for name in ("mean", "variance", "offset", "scale")]
    say(f, op, "nn.batch_norm", a["input"], *given, epsilon=a["epsilon"])


def response_norm(f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    axes = [i for i, n in enumerate(a["size"]) if n != 1] or [1]
    given = {name: a[name] for name in ("alpha", "beta", "bias")}
    say(f, op, "nn.local_response_norm", a["input"], axes=axes, size=[a["size"][i] for i in axes], **given)


def moments(f: InSkriptnd, op: Operation) -> None:
    say(f, op, "math.moments", op.arguments["input"], axes=op.arguments["axes"])


def quantize(name: str, parameters: Sequence[str], f: InSkriptnd, op: Operation) -> None:
    a = op.arguments
    axis = None if len(f.shape(a["x"])) > 1 else 0
    given = {key: a[key] for key in (*parameters, "bits", "signed", "symmetric")}
    say(f, op, name, a["x"], channel_axis=axis, **given)


def copies(f: InSkriptnd, op: Operation) -> None:
    for name in results_of(f, op):
        f.invoke(name, "math.iden", [f.tensor(op.arguments["x"])])


def update(f: InSkriptnd, op: Operation) -> None:
    value = f.tensor(op.arguments["value"])
    f.updates.append(f"{f.names(op.arguments['variable'].text)} = {value};")
    f.invoke(results_of(f, op), "math.iden", [value])


# compounds that are said in their parts


def in_parts(op: Operation, builder: NnefWriter) -> bool:
    """Whether what a rule says holds for special arguments only, and these are others."""
    test = _SPECIAL.get(op.name)
    return test is not None and not test(op.arguments, lambda value: _tensor(builder, value))


def _tensor(builder: NnefWriter, value: Any) -> tuple[tuple[int, ...], bool]:
    """The shape of an argument, and whether it is known before the graph runs."""
    if not isinstance(value, Name):
        return (), True
    updated = {o.arguments["variable"].text for o in builder.document.operations if o.name == "update"}
    tensor = builder.values[value.text]
    return shape_of(tensor), tensor.data is not None and value.text not in updated


def _share(a: Mapping[str, Any], of: Any) -> bool:
    del of
    return bool(0.0 <= a["alpha"] <= 1.0)


def _slope(a: Mapping[str, Any], of: Any) -> bool:
    shape, _ = of(a["alpha"])
    return _on_channels(shape, of(a["x"])[0]) and bool(shape) if isinstance(a["alpha"], Name) else _share(a, of)


def _on_channels(shape: Sequence[int], whole: Sequence[int]) -> bool:
    return len(whole) > 1 and all(n == 1 or (i == 1 and n == whole[1]) for i, n in enumerate(shape))


def _constants(a: Mapping[str, Any], of: Any) -> bool:
    given = [of(a[name]) for name in ("mean", "variance", "offset", "scale")]
    channels = (*of(a["input"])[0], 1, 1)[1]
    wide = [[n for n in shape if n != 1] for shape, _ in given]
    return all(known for _, known in given) and all(extents in ([], [channels]) for extents in wide)


def _fully(a: Mapping[str, Any], of: Any) -> bool:
    shape, known = of(a["filter"])
    return len(shape) > 1 and math.prod(shape[:-2]) == 1 and known


def _divides(a: Mapping[str, Any], of: Any) -> bool:
    return all(n % k == 0 for n, k in zip(of(a["input"])[0][2:], a["factor"], strict=True))


def _positive(a: Mapping[str, Any], of: Any) -> bool:
    del of
    return all(a[name] >= 0.0 for name in ("alpha", "beta", "bias", "epsilon") if name in a)


def _static(a: Mapping[str, Any], of: Any) -> bool:
    numbers = not any(isinstance(a.get(name), Name) for name in ("min", "max"))
    return numbers and len(of(a["x"])[0]) > 0


_SPECIAL: Final[Mapping[str, Callable[[Mapping[str, Any], Any], bool]]] = {
    "leaky_relu": _share, "prelu": _slope, "batch_normalization": _constants, "linear": _fully,
    "nearest_downsample": _divides, "area_downsample": _divides, "l1_normalization": _positive,
    "l2_normalization": _positive, "local_response_normalization": _positive, "min_max_linear_quantize": _static,
    "zero_point_linear_quantize": _static,
}  # fmt: skip
_UNARY: Final = (
    "neg", "rcp", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh",
    "atanh", "abs", "sign", "not", "floor", "ceil", "round", "sqr", "sqrt", "rsqr", "rsqrt", "log2",
)  # fmt: skip
_BINARY: Final = (
    "add", "sub", "mul", "div", "pow", "lt", "gt", "le", "ge", "eq", "ne", "and", "or", "min", "max",
)  # fmt: skip
RULES: Final[Mapping[str, Rule]] = {
    **{name: partial(unary, f"math.{name}") for name in _UNARY},
    **{name: partial(unary, f"nn.{name}") for name in ("sigmoid", "silu", "softplus")},
    **{name: partial(aligned, f"math.{name}", BINARY) for name in _BINARY},
    "copy": partial(unary, "math.iden"),
    "select": partial(aligned, "math.select", SELECT),
    "clamp": partial(aligned, "math.clamp", CLAMP),
    "relu": relu,
    "leaky_relu": relu,
    "prelu": prelu,
    "elu": partial(attributed, "nn.elu", {"alpha": "alpha"}),
    "selu": partial(attributed, "nn.selu", {"alpha": "alpha", "lambda": "lambda"}),
    "gelu": lambda f, op: say(f, op, "nn.gelu", op.arguments["x"], approximate="SIGMOID"),
    "softmax": partial(attributed, "nn.softmax", {"axes": "axes"}),
    "conv": conv,
    "deconv": deconv,
    "box": box,
    "max_pool": partial(pool, "nn.max_pool"),
    "avg_pool": partial(pool, "nn.avg_pool"),
    "rms_pool": partial(pool, "nn.rms_pool"),
    "nearest_downsample": partial(sampling, "image.nearest_downsample"),
    "area_downsample": partial(sampling, "image.area_downsample"),
    "nearest_upsample": partial(sampling, "image.nearest_upsample"),
    "multilinear_upsample": multilinear,
    "avg_roi_pool": partial(roi_pool, "image.avg_roi_pool"),
    "max_roi_pool": partial(roi_pool, "image.max_roi_pool"),
    **{
        name: partial(reduce, f"math.{name}")
        for name in ("sum_reduce", "max_reduce", "min_reduce", "all_reduce", "any_reduce", "mean_reduce")
    },
    "argmax_reduce": partial(position, "math.argmax"),
    "argmin_reduce": partial(position, "math.argmin"),
    "reshape": reshape,
    "squeeze": partial(attributed, "layout.squeeze", {"axes": "axes"}),
    "unsqueeze": partial(attributed, "layout.unsqueeze", {"axes": "axes"}),
    "transpose": transpose,
    "split": split,
    "unstack": unstack,
    "concat": partial(of_pack, "layout.concat", "values"),
    "stack": partial(of_pack, "layout.stack", "values"),
    "add_n": partial(of_pack, "math.sum_n", "x"),
    "slice": slice_,
    "pad": pad,
    "tile": partial(attributed, "layout.tile", {"repeats": "repeats"}),
    "gather": gather,
    "cast": cast,
    "matmul": matmul,
    "linear": linear,
    "batch_normalization": batch_norm,
    "local_response_normalization": response_norm,
    "l1_normalization": partial(attributed, "nn.l1_norm", {"axes": "axes", "bias": "bias", "epsilon": "epsilon"}),
    "l2_normalization": partial(attributed, "nn.l2_norm", {"axes": "axes", "bias": "bias", "epsilon": "epsilon"}),
    "moments": moments,
    "min_max_linear_quantize": partial(quantize, "quant.min_max_linear_quantize", ("min", "max")),
    "zero_point_linear_quantize": partial(quantize, "quant.zero_point_linear_quantize", ("zero_point", "scale")),
    "copy_n": copies,
    "update": update,
    "erf": partial(unary, "nn.erf"),
}
