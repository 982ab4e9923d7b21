"""What an operator of SkriptND's standard library is in NNEF 1: a rule each. Those without are told in their parts."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .words import TYPES_OF_NNEF, Pairs, Unsayable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..tensors import Instance, TensorRef
    from .words import InNnef

    Rule = Callable[[InNnef, Instance], None]

BORDERS: Final = {
    "CONSTANT": "constant", "REPLICATE": "replicate", "REFLECT": "reflect", "SYMMETRIC": "reflect-even",
}  # fmt: skip


def need(i: Instance, dtype: str, *refs: TensorRef) -> None:
    """Raises Unsayable where tensors are of another type: arithmetic of NNEF 1 is that of real numbers."""
    for ref in refs or [r for r in (*i.inputs, *i.outputs) if r is not None]:
        if ref.dtype != dtype:
            raise Unsayable(f" of type {ref.dtype}")


def axes_of(i: Instance, name: str = "axes", rank: int | None = None) -> tuple[int, ...]:
    value = i.symbols[name]
    rank = len(i.inputs[0].shape) if rank is None else rank
    return tuple(a + rank if a < 0 else a for a in (value if isinstance(value, list) else [value]))


def said(f: InNnef, i: Instance, operation: str, *inputs: str, **arguments: Any) -> None:
    outputs = [ref for value in i.outputs for ref in (value if isinstance(value, list) else [value])]
    f.emit(outputs, operation, *inputs, **arguments)


# element by element


def unary(operation: str, dtype: str, f: InNnef, i: Instance, **arguments: Any) -> None:
    if dtype:
        need(i, dtype)
    said(f, i, operation, f.tensor(i.inputs[0]), **arguments)


def attributed(operation: str, names: Sequence[str], f: InNnef, i: Instance) -> None:
    unary(operation, "real", f, i, **{name: i.symbols[name] for name in names})


def aligned(f: InNnef, i: Instance, at: int) -> str:
    """An operand: NNEF 1 adds extents of 1 behind the axes; those before them are put there."""
    ref = i.inputs[at]
    lead = i.symbols[f"lead_{i.operator.inputs[at].name}"]
    text = f.operand(ref)
    if not lead or not ref.shape:
        return text
    found = f.fresh(i.outputs[0], "aligned")
    f.emit([found], "unsqueeze", f.tensor(ref), axes=tuple(range(lead)))
    return found


def operands(operation: str, dtypes: Sequence[str], f: InNnef, i: Instance) -> None:
    for ref, dtype in zip(i.inputs, dtypes, strict=True):
        if dtype:
            need(i, dtype, ref)
    said(f, i, operation, *(aligned(f, i, at) for at in range(len(i.inputs))))


def chain(operation: str, dtype: str, f: InNnef, i: Instance) -> None:
    first, *rest = i.inputs[0]
    need(i, dtype, first)
    total = f.tensor(first)
    if not rest:
        raise Unsayable(" of one tensor")
    for ref in rest[:-1]:
        total = f.emit([f.fresh(i.outputs[0], "part")], operation, total, f.tensor(ref))
    said(f, i, operation, total, f.tensor(rest[-1]))


def sum_of_many(f: InNnef, i: Instance) -> None:
    need(i, "real", *i.inputs[0])
    said(f, i, "add_n", packed(f, i.inputs[0]))


def packed(f: InNnef, refs: Sequence[TensorRef]) -> str:
    return f"[{', '.join(map(f.tensor, refs))}]"


def product_sum(f: InNnef, i: Instance) -> None:
    """a * x + b, and a * x + b * y"""
    parts = [aligned(f, i, at) for at in range(len(i.inputs))]
    left = f.emit([f.fresh(i.outputs[0], "product")], "mul", parts[0], parts[1])
    right = parts[2]
    if len(parts) == 4:
        right = f.emit([f.fresh(i.outputs[0], "product")], "mul", parts[2], parts[3])
    said(f, i, "add", left, right)


def relu(f: InNnef, i: Instance) -> None:
    alpha, most = i.symbols["alpha"], i.symbols["max"]
    if alpha is None and most is None:
        unary("relu", "real", f, i)
    elif most is None:
        unary("leaky_relu", "real", f, i, alpha=alpha)
    elif alpha is None:
        said(f, i, "clamp", f.tensor(i.inputs[0]), "0.0", repr(float(most)))
    else:
        raise Unsayable(" with both alpha and max")


def prelu(f: InNnef, i: Instance) -> None:
    if axes_of(i, "axis") != (1,):
        raise Unsayable(f" along axis {i.symbols['axis']}")
    said(f, i, "prelu", f.tensor(i.inputs[0]), f.vector(i.inputs[1]))


def gelu(f: InNnef, i: Instance) -> None:
    if i.symbols["approximate"] != "SIGMOID":
        raise Unsayable(": that of NNEF 1 is the approximation by a sigmoid")
    unary("gelu", "real", f, i)


# windows


def order_of(form: str, rank: int) -> tuple[int, ...]:
    """The axes of a tensor in the order batch, channels, others; of a filter outputs, inputs, others."""
    spatial = {"NCX": range(2, rank), "NXC": range(1, rank - 1), "XCN": range(rank - 2), "CXN": range(1, rank - 1)}
    first = {"NCX": (0, 1), "NXC": (0, rank - 1), "XCN": (rank - 1, rank - 2), "CXN": (rank - 1, 0)}
    return (*first[form], *spatial[form])


def channels_second(f: InNnef, i: Instance, ref: TensorRef, form: str) -> str:
    order = order_of(form, len(ref.shape))
    if order == tuple(range(len(order))):
        return f.tensor(ref)
    return f.emit([f.fresh(i.outputs[0], "turned")], "transpose", f.tensor(ref), axes=order)


def in_form(f: InNnef, i: Instance, operation: str, *inputs: str, **arguments: Any) -> None:
    """A result with channels second, as the operator's data_format has it."""
    order = order_of(i.symbols["data_format"], len(i.outputs[0].shape))
    if order == tuple(range(len(order))):
        said(f, i, operation, *inputs, **arguments)
        return
    found = f.emit([f.fresh(i.outputs[0], "second")], operation, *inputs, **arguments)
    said(f, i, "transpose", found, axes=tuple(order.index(a) for a in range(len(order))))


def steps(strides: Sequence[int], dilations: Sequence[int]) -> dict[str, Any]:
    return {
        "stride": None if set(strides) <= {1} else tuple(strides),
        "dilation": None if set(dilations) <= {1} else tuple(dilations),
    }


def padding_of(i: Instance, outputs: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Before and after each axis; what the last window needs, where that is more."""
    s, found = i.symbols, []
    numbers = zip(s["extents"], s["stride"], s["reach"], s["lead"], s["total"], outputs, strict=True)
    for extent, stride, reach, lead, total, output in numbers:
        floored = (extent + total - reach) // stride + 1
        found.append((lead, total - lead if floored == output else (output - 1) * stride + reach - extent - lead))
    return tuple(found)


def automatic(i: Instance, outputs: Sequence[int]) -> bool:
    """Whether the padding is the one of NNEF 1 without padding."""
    s = i.symbols
    covered = all(-(-n // k) == m for n, k, m in zip(s["extents"], s["stride"], outputs, strict=True))
    return s["padding"] is None and s["padding_align"] == "UPPER" and covered and min(s["total"], default=0) >= 0


def conv(f: InNnef, i: Instance) -> None:
    s = i.symbols
    padding = None if automatic(i, s["results"]) else Pairs(padding_of(i, s["results"]))
    forms = zip(i.inputs[:2], (s["data_format"], s["filter_format"]), strict=True)
    x, weight = (channels_second(f, i, ref, form) for ref, form in forms)
    given = {
        "padding": padding,
        **steps(s["stride"], s["dilation"]),
        "groups": None if s["groups"] == 1 else s["groups"],
    }
    bias = () if i.inputs[2] is None else (f.vector(i.inputs[2]),)
    in_form(f, i, "conv", x, weight, *bias, **given)


def deconv(f: InNnef, i: Instance) -> None:
    s = i.symbols
    forms = zip(i.inputs[:2], (s["data_format"], s["filter_format"]), strict=True)
    x, weight = (channels_second(f, i, ref, form) for ref, form in forms)
    plain = s["padding"] is None and s["padding_align"] == "UPPER" and min(s["total"]) >= 0 and s["output_size"] is None
    given = {**steps(s["stride"], s["dilation"]), "groups": None if s["groups"] == 1 else s["groups"]}
    if not plain:
        given["padding"] = Pairs(tuple((lead, n - lead) for lead, n in zip(s["lead"], s["total"], strict=True)))
    if s["output_size"] is not None:
        given["output_shape"] = (s["batch"], s["outputs"], *s["results"])
        given["groups"] = s["number"]
    bias = () if i.inputs[2] is None else (f.vector(i.inputs[2]),)
    in_form(f, i, "deconv", x, weight, *bias, **given)


def pool(operation: str, f: InNnef, i: Instance) -> None:
    """Over all axes; those that aren't named have windows of one element."""
    s, rank = i.symbols, len(i.inputs[0].shape)
    axes = axes_of(i)
    outputs = [s["new"][a] for a in axes]
    found = dict(zip(axes, padding_of(i, outputs), strict=True))
    filled = any(max(p) > 0 for p in found.values())

    def spread(values: Sequence[int]) -> list[int]:
        given = dict(zip(axes, values, strict=True))
        return [given.get(a, 1) for a in range(rank)]

    arguments: dict[str, Any] = steps(spread(s["stride"]), spread(s["dilation"]))
    if not automatic(i, outputs):
        arguments["padding"] = Pairs([found.get(a, (0, 0)) for a in range(rank)])
    ignored = operation == "max_pool" or s.get("ignore_border", False)
    border = "ignore" if filled and ignored else None
    said(f, i, operation, f.tensor(i.inputs[0]), size=tuple(spread(s["size"])), border=border, **arguments)


def sampling(operation: str, f: InNnef, i: Instance) -> None:
    given, rank = dict(zip(axes_of(i), i.symbols["factor"], strict=True)), len(i.inputs[0].shape)
    if rank < 2 or any(given.get(a, 1) != 1 for a in (0, 1)):
        raise Unsayable(" of the batch or of channels")
    said(f, i, operation, f.tensor(i.inputs[0]), factor=tuple(given.get(a, 1) for a in range(2, rank)))


def linear_upsample(f: InNnef, i: Instance) -> None:
    given, rank = dict(zip(axes_of(i), i.symbols["factor"], strict=True)), len(i.inputs[0].shape)
    if rank < 3 or any(given.get(a, 1) != 1 for a in (0, 1)):
        raise Unsayable(" of the batch or of channels")
    method = "symmetric" if i.symbols["symmetric"] else "asymmetric"
    border = "replicate" if i.symbols["replicate_border"] else "constant"
    factor = tuple(given.get(a, 1) for a in range(2, rank))
    said(f, i, "multilinear_upsample", f.tensor(i.inputs[0]), factor=factor, method=method, border=border)


def linear_resize(f: InNnef, i: Instance) -> None:
    old, new = i.inputs[0].shape, i.outputs[0].shape
    if len(old) < 3 or old[:2] != new[:2] or any(m % n for n, m in zip(old, new, strict=True)):
        raise Unsayable(": NNEF 1 resizes by whole factors")
    factor = tuple(m // n for n, m in zip(old[2:], new[2:], strict=True))
    method = i.symbols["coordinate_transform"].lower()
    said(f, i, "multilinear_upsample", f.tensor(i.inputs[0]), factor=factor, method=method, border="replicate")


def roi_pool(operation: str, f: InNnef, i: Instance) -> None:
    said(f, i, operation, *map(f.tensor, i.inputs), output_size=tuple(i.symbols["output_size"]))


# reductions and shapes


def reduce(operation: str, dtype: str, f: InNnef, i: Instance) -> None:
    need(i, dtype)
    squeezed(f, i, operation, axes_of(i))


def squeezed(f: InNnef, i: Instance, operation: str, axes: tuple[int, ...]) -> None:
    x = f.tensor(i.inputs[0])
    if not i.symbols["squeeze"]:
        said(f, i, operation, x, axes=axes)
        return
    whole = f.emit([f.fresh(i.outputs[0], "whole")], operation, x, axes=axes)
    said(f, i, "squeeze", whole, axes=axes)


def position(operation: str, f: InNnef, i: Instance) -> None:
    squeezed(f, i, operation, axes_of(i, "axis"))


def moments(f: InNnef, i: Instance) -> None:
    if i.symbols["squeeze"]:
        raise Unsayable(" without the axes")
    said(f, i, "moments", f.tensor(i.inputs[0]), axes=axes_of(i))


def constant(f: InNnef, i: Instance) -> None:
    output, value = i.outputs[0], i.symbols["value"]
    values = tuple(value if isinstance(value, list) else [value])
    kind = TYPES_OF_NNEF[output.dtype]
    if len(values) > 1 and all(v == values[0] for v in values):
        values = values[:1]
    shown = tuple(float(v) for v in values) if kind == "scalar" else values
    said(f, i, f"constant<{kind}>", shape=output.shape, value=shown)


def reshape(f: InNnef, i: Instance) -> None:
    said(f, i, "reshape", f.tensor(i.inputs[0]), shape=i.outputs[0].shape)


def squeeze(f: InNnef, i: Instance) -> None:
    said(f, i, "squeeze", f.tensor(i.inputs[0]), axes=axes_of(i))


def unsqueeze(f: InNnef, i: Instance) -> None:
    said(f, i, "unsqueeze", f.tensor(i.inputs[0]), axes=axes_of(i, rank=len(i.outputs[0].shape)))


def concat(f: InNnef, i: Instance) -> None:
    said(f, i, "concat", packed(f, i.inputs[0]), axis=axes_of(i, "axis", len(i.outputs[0].shape))[0])


def stack(f: InNnef, i: Instance) -> None:
    axis = axes_of(i, "axis", len(i.outputs[0].shape))[0]
    said(f, i, "concat" if i.symbols["squeeze"] else "stack", packed(f, i.inputs[0]), axis=axis)


def split(f: InNnef, i: Instance) -> None:
    sizes = i.symbols["sizes"]
    part = math.gcd(*sizes)
    if not all(sizes):
        raise Unsayable(" with an empty part")
    ratios = tuple(n // part for n in sizes)
    said(f, i, "split", f.tensor(i.inputs[0]), axis=axes_of(i, "axis")[0], ratios=ratios)


def unstack(f: InNnef, i: Instance) -> None:
    axis, x = axes_of(i, "axis")[0], f.tensor(i.inputs[0])
    if i.symbols["squeeze"]:
        said(f, i, "unstack", x, axis=axis)
    else:
        said(f, i, "split", x, axis=axis, ratios=(1,) * i.inputs[0].shape[axis])


def tile(f: InNnef, i: Instance) -> None:
    repeats = tuple(m // n for n, m in zip(i.inputs[0].shape, i.outputs[0].shape, strict=True))
    said(f, i, "tile", f.tensor(i.inputs[0]), repeats=repeats)


def slice_(f: InNnef, i: Instance) -> None:
    """Backwards, -1 is before the first element; NNEF 1 counts it from behind."""
    s, axes = i.symbols, axes_of(i)
    shape, stride = i.inputs[0].shape, tuple(s["stride"])
    ends = tuple(-shape[a] - 1 if end < 0 else end for a, end in zip(axes, s["end"], strict=True))
    given = {"axes": axes, "begin": tuple(s["begin"]), "end": ends}
    said(f, i, "slice", f.tensor(i.inputs[0]), **given, stride=None if set(stride) <= {1} else stride)


def pad(f: InNnef, i: Instance) -> None:
    need(i, "real", i.inputs[0])
    s, value = i.symbols, i.inputs[1]
    if value is not None and (value.data is None or value.data.size != 1):
        raise Unsayable(" with a value that isn't known")
    number = 0.0 if value is None or value.data is None else float(value.data.reshape(-1)[0])
    padding = Pairs(tuple(zip(s["before"], s["after"], strict=True)))
    border = None if s["method"] == "CONSTANT" else BORDERS[s["method"]]
    said(f, i, "pad", f.tensor(i.inputs[0]), padding=padding, border=border, value=number or None)


def transpose(f: InNnef, i: Instance) -> None:
    first = i.symbols["first"]
    said(f, i, "transpose", f.tensor(i.inputs[0]), axes=(*range(first), *(first + p for p in i.symbols["order"])))


def gather(f: InNnef, i: Instance) -> None:
    said(f, i, "gather", f.tensor(i.inputs[0]), f.tensor(i.inputs[1]), axis=axes_of(i, "axis")[0] or None)


def cast(f: InNnef, i: Instance) -> None:
    kind = TYPES_OF_NNEF[i.outputs[0].dtype]
    said(f, i, f"cast<{kind}>", f.tensor(i.inputs[0]))


# linear algebra, normalization, quantization


def matmul(f: InNnef, i: Instance) -> None:
    s, sides = i.symbols, []
    for at, name in enumerate("AB"):
        lead = s["rank"] - s[f"rank_{name}"]
        x = f.tensor(i.inputs[at])
        if lead:
            x = f.emit([f.fresh(i.outputs[0], name)], "unsqueeze", x, axes=tuple(range(lead)))
        sides.append(x)
    given = {"transposeA": s["transA"] or None, "transposeB": s["transB"] or None}
    if i.inputs[2] is None:
        said(f, i, "matmul", *sides, **given)
        return
    product, more = f.emit([f.fresh(i.outputs[0], "product")], "matmul", *sides, **given), f.tensor(i.inputs[2])
    if lead := s["rank"] - s["rank_C"]:
        more = f.emit([f.fresh(i.outputs[0], "C")], "unsqueeze", more, axes=tuple(range(lead)))
    said(f, i, "add", product, more)


def linear(f: InNnef, i: Instance) -> None:
    x, weight = f.tensor(i.inputs[0]), f.tensor(i.inputs[1])
    if f.known(i.inputs[1]):
        bias = () if i.inputs[2] is None else (f.vector(i.inputs[2]),)
        said(f, i, "linear", x, weight, *bias)
    elif i.inputs[2] is None:
        said(f, i, "matmul", x, weight, transposeB=True)
    else:
        product = f.emit([f.fresh(i.outputs[0], "product")], "matmul", x, weight, transposeB=True)
        said(f, i, "add", product, f.vector(i.inputs[2]))


def batch_norm(f: InNnef, i: Instance) -> None:
    if i.symbols["axis"] != 1 or not all(map(f.known, i.inputs[1:])):
        raise Unsayable(" of computed parameters, or along another axis")
    given = [f.vector(ref, missing) for ref, missing in zip(i.inputs[1:], (0.0, 0.0, 0.0, 1.0), strict=True)]
    said(f, i, "batch_normalization", f.tensor(i.inputs[0]), *given, epsilon=float(i.symbols["epsilon"]))


def response_norm(f: InNnef, i: Instance) -> None:
    given = dict(zip(axes_of(i), i.symbols["size"], strict=True))
    size = tuple(given.get(a, 1) for a in range(len(i.inputs[0].shape)))
    numbers = {name: float(i.symbols[name]) for name in ("alpha", "beta", "bias")}
    said(f, i, "local_response_normalization", f.tensor(i.inputs[0]), size=size, **numbers)


def length_norm(operation: str, f: InNnef, i: Instance) -> None:
    bias, epsilon = i.symbols["bias"], i.symbols["epsilon"]
    if bias is None or epsilon is None:
        raise Unsayable("")
    given = {"bias": float(bias), "epsilon": float(epsilon)}
    said(f, i, operation, f.tensor(i.inputs[0]), axes=axes_of(i), **given)


def softmax(f: InNnef, i: Instance) -> None:
    said(f, i, "softmax", f.tensor(i.inputs[0]), axes=axes_of(i))


def quantize(operation: str, names: Sequence[str], f: InNnef, i: Instance) -> None:
    s = i.symbols
    if any(len(set(s[name])) != 1 for name in names):
        raise Unsayable(" with a range for each channel")
    given = {name: s[name][0] for name in names}
    more = {name: s[name] for name in ("bits", "signed", "symmetric")}
    if operation == "min_max_linear_quantize":
        bounds = (repr(float(value)) for value in given.values())
        said(f, i, operation, f.tensor(i.inputs[0]), *bounds, **more)
    else:
        said(f, i, operation, f.tensor(i.inputs[0]), **given, **more)


_UNARY: Final = (
    "rcp", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh",
    "atanh", "floor", "ceil", "round", "sqrt", "rsqr", "rsqrt", "log2", "neg", "abs", "sign", "sqr",
)  # fmt: skip
_REAL: Final = ("real", "real")
RULES: Final[Mapping[str, Rule]] = {
    **{f"math.{name}": partial(unary, name, "real") for name in _UNARY},
    "math.not": partial(unary, "not", "bool"),
    "math.iden": partial(unary, "copy", ""),
    **{f"nn.{name}": partial(unary, name, "real") for name in ("sigmoid", "silu", "softplus")},
    **{
        f"math.{name}": partial(operands, name, _REAL)
        for name in ("add", "sub", "mul", "div", "pow", "lt", "gt", "le", "ge", "eq", "ne", "min", "max")
    },
    **{f"math.{name}": partial(operands, name, ("bool", "bool")) for name in ("and", "or")},
    "math.select": partial(operands, "select", ("bool", "", "")),
    "math.clamp": partial(operands, "clamp", ("real", "real", "real")),
    "math.sum_n": sum_of_many,
    "math.prod_n": partial(chain, "mul", "real"),
    "math.min_n": partial(chain, "min", "real"),
    "math.max_n": partial(chain, "max", "real"),
    "math.any_n": partial(chain, "or", "bool"),
    "math.all_n": partial(chain, "and", "bool"),
    "math.axpb": product_sum,
    "math.axpby": product_sum,
    "nn.relu": relu,
    "nn.prelu": prelu,
    "nn.elu": partial(attributed, "elu", ("alpha",)),
    "nn.selu": partial(attributed, "selu", ("alpha", "lambda")),
    "nn.gelu": gelu,
    "nn.softmax": softmax,
    "nn.conv": conv,
    "nn.deconv": deconv,
    "nn.sum_pool": partial(pool, "box"),
    "nn.max_pool": partial(pool, "max_pool"),
    "nn.avg_pool": partial(pool, "avg_pool"),
    "nn.rms_pool": partial(pool, "rms_pool"),
    "image.nearest_downsample": partial(sampling, "nearest_downsample"),
    "image.area_downsample": partial(sampling, "area_downsample"),
    "image.nearest_upsample": partial(sampling, "nearest_upsample"),
    "image.linear_upsample": linear_upsample,
    "image.linear_resize": linear_resize,
    "image.avg_roi_pool": partial(roi_pool, "avg_roi_pool"),
    "image.max_roi_pool": partial(roi_pool, "max_roi_pool"),
    **{f"math.{name}_reduce": partial(reduce, f"{name}_reduce", "real") for name in ("sum", "min", "max", "mean")},
    **{f"math.{name}_reduce": partial(reduce, f"{name}_reduce", "bool") for name in ("any", "all")},
    "math.argmin": partial(position, "argmin_reduce"),
    "math.argmax": partial(position, "argmax_reduce"),
    "math.moments": moments,
    "layout.tensor": constant,
    "layout.constant": constant,
    "layout.reshape": reshape,
    "layout.flatten": reshape,
    "layout.unflatten": reshape,
    "layout.squeeze": squeeze,
    "layout.unsqueeze": unsqueeze,
    "layout.concat": concat,
    "layout.stack": stack,
    "layout.split": split,
    "layout.unstack": unstack,
    "layout.tile": tile,
    "layout.broadcast": tile,
    "layout.slice": slice_,
    "layout.pad": pad,
    "layout.transpose": transpose,
    "layout.gather": gather,
    "layout.cast": cast,
    "linalg.matmul": matmul,
    "nn.linear": linear,
    "nn.batch_norm": batch_norm,
    "nn.local_response_norm": response_norm,
    "nn.l1_norm": partial(length_norm, "l1_normalization"),
    "nn.l2_norm": partial(length_norm, "l2_normalization"),
    "quant.min_max_linear_quantize": partial(quantize, "min_max_linear_quantize", ("min", "max")),
    "quant.zero_point_linear_quantize": partial(quantize, "zero_point_linear_quantize", ("zero_point", "scale")),
}
