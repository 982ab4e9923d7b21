"""Random invocations of each operator of the standard library that has a formula: (invocation, inputs, low, high)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Draw = Callable[[st.SearchStrategy[Any]], Any]
    Case = tuple[str, str, float, float]

FREE: Final = -2.0, 2.0
POSITIVE: Final = 0.2, 3.0
UNIT: Final = -0.9, 0.9

UNARY: Final = {
    **dict.fromkeys(
        ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "atan", "floor", "ceil", "round"), FREE
    ),
    **dict.fromkeys(("rcp", "sqrt", "rsqr", "rsqrt", "log", "log2"), POSITIVE),
    **dict.fromkeys(("asin", "acos", "atanh"), UNIT),
    "tan": UNIT,
    "acosh": (1.1, 4.0),
}
TYPED: Final = ("iden", "neg", "sqr", "abs", "sign")
ACTIVATIONS: Final = {
    "relu": ("{{alpha={a}}}", "{{max={a}}}", "{{alpha={a}, max=1.5}}", ""),
    "thresholded_relu": ("{{theta={a}}}", ""),
    "elu": ("{{alpha={a}}}", ""),
    "selu": ("{{alpha={a}}}", "{{lambda={a}}}", ""),
    "gelu": ("", "{{approximate='TANH'}}", "{{approximate='SIGMOID'}}"),
    "silu": ("",), "sigmoid": ("",), "softplus": ("",), "erf": ("",),
}  # fmt: skip


def shape(draw: Draw, least: int = 1, most: int = 3, extent: int = 4) -> list[int]:
    found: list[int] = draw(st.lists(st.integers(1, extent), min_size=least, max_size=most))
    return found


def of(name: str, kind: str, extents: Sequence[int]) -> str:
    return f"{name}: {kind}[{','.join(map(str, extents))}];"


def signed(draw: Draw, axis: int, rank: int) -> int:
    """The axis, counted from either end."""
    return axis - rank if draw(st.booleans()) else axis


def some_axes(draw: Draw, rank: int, least: int = 1) -> list[int]:
    found: list[int] = draw(st.lists(st.integers(0, rank - 1), min_size=least, max_size=rank, unique=True))
    return found


def word(value: bool) -> str:
    return str(value).lower()


def unary(draw: Draw, name: str) -> Case:
    return f"math.{name}(x)", of("x", "real", shape(draw)), *UNARY[name]


def typed(draw: Draw, name: str) -> Case:
    return f"math.{name}(x)", of("x", draw(st.sampled_from(("int", "real"))), shape(draw)), *FREE


def negation(draw: Draw, name: str) -> Case:
    return "math.not(x)", of("x", "bool", shape(draw)), *FREE


def aligned(draw: Draw, kinds: Sequence[str]) -> tuple[list[str], str]:
    """Operands of one result, each with a part of its dimensions and some extents of 1; and how they align."""
    whole = shape(draw, 1, 3, 3)
    texts, aligns = [of("x", kinds[0], whole)], list[str]()
    for name, kind in zip("yz", kinds[1:], strict=False):
        start = draw(st.integers(0, len(whole) - 1))
        part = [1 if draw(st.booleans()) else n for n in whole[start : draw(st.integers(start + 1, len(whole)))]]
        texts.append(of(name, kind, part))
        aligns.append(str(start))
    return texts, ", ".join(aligns)


def binary(draw: Draw, name: str) -> Case:
    kind, low, high = draw(st.sampled_from(("int", "real"))), *FREE
    if name in ("and", "or", "xor"):
        kind = "bool"
    if name in ("div", "mod"):
        low, high = 1.0, 9.0
    if name == "pow":
        low, high = (0.0, 3.0) if kind == "int" else POSITIVE
    other = draw(st.sampled_from(("int", "real"))) if name in ("lt", "gt", "le", "ge", "eq", "ne") else kind
    texts, align = aligned(draw, (kind, other))
    return f"math.{name}{{lhs_align=0, rhs_align={align}}}(x, y)", "".join(texts), low, high


def select(draw: Draw, name: str) -> Case:
    kind = draw(st.sampled_from(("int", "real", "bool")))
    texts, align = aligned(draw, ("bool", kind, kind))
    left, right = align.split(", ")
    aligns = f"cond_align=0, lhs_align={left}, rhs_align={right}"
    return f"math.select{{{aligns}}}(x, y, z)", "".join(texts), *FREE


def clamp(draw: Draw, name: str) -> Case:
    texts, align = aligned(draw, ("real",) * 3)
    left, right = align.split(", ")
    return f"math.clamp{{val_align=0, min_align={left}, max_align={right}}}(x, y, z)", "".join(texts), *FREE


def scaled(draw: Draw, name: str) -> Case:
    whole = shape(draw, 1, 3, 3)
    axis = draw(st.integers(0, len(whole) - 1))
    texts = of("x", "real", whole) + of("a", "real", [whole[axis]]) + of("b", "real", [1])
    if name == "axpb":
        return f"math.axpb{{x_align=0, a_align={axis}, b_align=0}}(a, x, b)", texts, *FREE
    attributes = f"x_align=0, y_align=0, a_align={axis}, b_align={axis}"
    return f"math.axpby{{{attributes}}}(a, x, b, x)", texts, *FREE


def packed(draw: Draw, name: str) -> Case:
    kind = "bool" if name in ("any_n", "all_n") else draw(st.sampled_from(("int", "real")))
    names, extents = "abcd"[: draw(st.integers(1, 4))], shape(draw)
    return f"math.{name}([{', '.join(names)}])", "".join(of(n, kind, extents) for n in names), *FREE


def reduce(draw: Draw, name: str) -> Case:
    kind = "bool" if name[:3] in ("any", "all") else "real" if name.startswith("arg") else None
    kind = kind or draw(st.sampled_from(("int", "real")))
    extents = shape(draw)
    axes = [signed(draw, a, len(extents)) for a in some_axes(draw, len(extents))]
    which = f"axis={axes[0]}" if name in ("argmin", "argmax") else f"axes={axes}"
    squeeze = word(draw(st.booleans()))
    return f"math.{name}{{{which}, squeeze={squeeze}}}(x)", of("x", kind, extents), *FREE


def activation(draw: Draw, name: str) -> Case:
    attributes = draw(st.sampled_from(ACTIVATIONS[name])).format(a=draw(st.sampled_from((0.25, 0.5, 1.0))))
    return f"nn.{name}{attributes}(x)", of("x", "real", shape(draw)), *FREE


def prelu(draw: Draw, name: str) -> Case:
    extents = shape(draw, 2)
    axis = draw(st.integers(0, len(extents) - 1))
    return f"nn.prelu{{axis={axis}}}(x, a)", of("x", "real", extents) + of("a", "real", [extents[axis]]), *FREE


def linear(draw: Draw, name: str) -> Case:
    batch, inputs, outputs = shape(draw, 3, 3)
    bias = draw(st.booleans())
    texts = of("x", "real", (batch, inputs)) + of("w", "real", (outputs, inputs))
    return f"nn.linear(x, w{', b' * bias})", texts + of("b", "real", [outputs]) * bias, *FREE


def matmul(draw: Draw, name: str) -> Case:
    rows, inner, columns = shape(draw, 3, 3)
    batch = shape(draw, 0, 2, 3)
    left, right, bias = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    whole = draw(st.booleans())
    texts = of("x", "real", [*batch, *((inner, rows) if left else (rows, inner))])
    texts += of("w", "real", [*(batch if whole else []), *((columns, inner) if right else (inner, columns))])
    texts += of("c", "real", (rows, columns)) * bias
    attributes = f"transA={word(left)}, transB={word(right)}"
    return f"linalg.matmul{{{attributes}}}(x, w{', c' * bias})", texts, *FREE


def matvec(draw: Draw, name: str) -> Case:
    rows, columns = shape(draw, 2, 2)
    turned, bias = draw(st.booleans()), draw(st.booleans())
    texts = of("w", "real", (rows, columns)) + of("x", "real", [rows if turned else columns])
    texts += of("b", "real", [columns if turned else rows]) * bias
    return f"linalg.matvec{{transA={word(turned)}}}(w, x{', b' * bias})", texts, *FREE


def vectors(draw: Draw, name: str) -> Case:
    if name == "outer":
        return "linalg.outer(x, y)", of("x", "real", shape(draw, 1, 2)) + of("y", "real", shape(draw, 1, 2)), *FREE
    length, bias = shape(draw, 1, 1), draw(st.booleans())
    texts = of("x", "real", length) + of("y", "real", length) + of("b", "real", []) * bias
    return f"linalg.dot(x, y{', b' * bias})", texts, *FREE


MATH: Final = {
    **dict.fromkeys(UNARY, unary), **dict.fromkeys(TYPED, typed), "not": negation,
    **dict.fromkeys(("add", "sub", "mul", "div", "mod", "pow", "min", "max"), binary),
    **dict.fromkeys(("lt", "gt", "le", "ge", "eq", "ne", "and", "or", "xor"), binary),
    "select": select, "clamp": clamp, "axpb": scaled, "axpby": scaled,
    **dict.fromkeys(("sum_n", "prod_n", "min_n", "max_n", "argmin_n", "argmax_n", "any_n", "all_n"), packed),
    **dict.fromkeys([f"{n}_reduce" for n in ("min", "max", "sum", "prod", "any", "all")], reduce),
    **dict.fromkeys(("argmin", "argmax", "argmin_nd", "argmax_nd"), reduce),
}  # fmt: skip
CASES: Final = {
    **{f"math.{name}": make for name, make in MATH.items()},
    **{f"nn.{name}": activation for name in ACTIVATIONS},
    "nn.prelu": prelu, "nn.linear": linear, "linalg.matmul": matmul, "linalg.matvec": matvec,
    "linalg.outer": vectors, "linalg.dot": vectors,
}  # fmt: skip
BOOLS: Final = ("lt", "gt", "le", "ge", "eq", "ne", "and", "or", "xor", "not", "any_", "all_")


def result(name: str, invocation: str, inputs: str) -> str:
    """The type of what the operator gives."""
    operator = name.split(".")[1]
    if operator.startswith("arg"):
        return "int"
    if name == "layout.shape":
        return "int"
    if name == "layout.cast":
        return invocation.split("<")[1].split(">")[0]
    if name.startswith("math.") and (operator in BOOLS or operator[:4] in BOOLS):
        return "bool"
    return inputs.split(";")[operator == "select"].split(": ")[1].split("[")[0]
