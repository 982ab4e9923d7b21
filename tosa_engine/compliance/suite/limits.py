"""Graphs at the limits of a level, and one beyond: each limit of each operator alone, where that is possible."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

import numpy as np

from ...errors import TosaEngineError
from ...graph import Operator, Tensor
from ...infer import infer
from ...spec import TABLE
from ...target import LEVEL_8K, Target
from ...types import bool_, i8, shape
from ...versions import V1_0
from ..cases.values import values
from .pairs import built, covering

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...graph import Graph
    from ...spec import OpSpec, Row
    from ...spec.case import Case
    from ...types import Array

MOST: Final = LEVEL_8K.max_kernel
FACTOR: Final = 3  # of 8193
SIDES: Final = {
    "pad_d0": 0, "pad_d1": 1, "pad_top": -4, "pad_bottom": -3, "pad_left": -2, "pad_right": -1,
    "out_pad_top": 0, "out_pad_bottom": 1, "out_pad_left": 2, "out_pad_right": 3,
}  # fmt: skip


def limited(label: str, row: Row, *, beyond: bool) -> tuple[Graph, dict[str, Array]]:
    """A graph at the limit of this label (`CONV2D.L1`), or beyond it."""
    operator, _, name = label.partition(".")
    spec = TABLE[operator]
    limit = spec.limits[int(name[1:]) - 1]
    case = MAKERS[spec.schema](spec, row, limit.value, MOST + beyond)
    graph = case.graph()
    for tensor in case.outputs.values():
        if tensor.data is None and operator not in ("COND_IF", "WHILE_LOOP", "CUSTOM"):
            tensor.shape = None
    try:
        infer(graph)
    except TosaEngineError:  # beyond a limit it may be one
        if not beyond:
            raise
    numbers = np.random.default_rng(1)
    return graph, {t.name: values(numbers, "small", t.dtype, t.shape or ()) for t in graph.inputs}


def of_rank(label: str, seed: int, target: Target | None, *, beyond: bool) -> tuple[Graph, dict[str, Array]]:
    """A use of an operator whose argument (`RESHAPE.rank.output`) has the greatest rank, or one more."""
    operator, _, argument = label.split(".")
    rank = LEVEL_8K.max_rank + beyond
    own = "rank of output" if (operator, argument) == ("RESHAPE", "output") else "rank"
    if (operator, argument) == ("ARGMAX", "output"):
        rank += 1  # it drops an axis
    array = covering(operator, target or Target(version=V1_0))
    chosen = next(one for one in array if one[own] == "6" and one.get("length of axis") != "1")
    return built(operator, {**chosen, own: str(rank)}, seed)


def _blank(spec: OpSpec, row: Row) -> Case:
    """The example, to be given other shapes."""
    return deepcopy(spec.example(row))


def _axis(value: str) -> int:
    """Which spatial axis, from the last one, a name belongs to."""
    last = value.rsplit("_", maxsplit=1)[-1]
    return {"x": -1, "left": -1, "right": -1, "KW": -1, "W": -1, "y": -2, "top": -2, "bottom": -2, "KH": -2}.get(
        last, -3
    )


def _window(spec: OpSpec, row: Row, value: str, most: int) -> Case:
    """Convolutions and pools with all sizes 1 but those that the limit is about."""
    case = _blank(spec, row)
    axes = 3 if spec.name == "CONV3D" else 2
    kernel, stride, dilation, size = [1] * axes, [1] * axes, [1] * axes, [1] * axes
    pads = [0] * (2 * axes)
    at, factor = _axis(value.split(" * ", maxsplit=1)[0]), FACTOR if most % FACTOR == 0 else 1
    if value.startswith("dilation"):
        kernel[at], dilation[at] = (factor, most // factor) if factor > 1 else (2, most // 2)
        size[at] = (kernel[at] - 1) * dilation[at] + 1
    elif value in ("KH", "KW") or value.startswith("kernel"):
        kernel[at] = most
        size[at] = 1 if spec.name.startswith("TRANSPOSE") else most
    elif value.startswith("stride"):
        stride[at] = most
    else:
        pads[SIDES[value]] = most
        stride[at] = most // factor if spec.name != "TRANSPOSE_CONV2D" else 1
        if "kernel" in case.attributes:
            kernel[at] = most + 1
            size[at], stride[at] = 1, 1
    if "kernel" in case.attributes:
        case.set(kernel=tuple(kernel))
    if "dilation" in case.attributes:
        case.set(dilation=tuple(dilation))
    case.set(stride=tuple(stride), **{"out_pad" if "out_pad" in case.attributes else "pad": tuple(pads)})
    case.reshape("input", 1, *size, 1)
    if "weight" in case.inputs:
        case.reshape("weight", *(kernel + [1, 1] if spec.name.startswith("DEPTHWISE") else [1, *kernel, 1]))
        case.reshape("bias", 1)
    return case


def _transform(spec: OpSpec, row: Row, value: str, most: int) -> Case:
    """The next size beyond is the next power of two."""
    case, size = _blank(spec, row), most if most == MOST else 2 * MOST
    for argument in spec.inputs:
        case.reshape(argument.name, 1, *((size, 1) if value == "H" else (1, size)))
    return case


def _resize(spec: OpSpec, row: Row, value: str, most: int) -> Case:
    case, ratio = _blank(spec, row), LEVEL_8K.max_scale + (most > MOST)
    scale = [ratio, 1, 1, 1] if value.startswith("scale_y") else [1, 1, ratio, 1]
    case.const("scale", shape, scale).const("offset", shape, [0, 0]).const("border", shape, [0, 0])
    return case.reshape("input", 1, 1, 1, 1)


def _list(spec: OpSpec, row: Row, value: str, most: int) -> Case:
    """Lists of as many tensors as the level allows. CUSTOM and WHILE_LOOP give as many as they get."""
    count = LEVEL_8K.max_tensor_list_size + (most > MOST)
    if spec.name == "CONCAT":
        return _blank(spec, row).list_input("input1", row.types["in_out_t"], *[(2, 1)] * count)
    case = _blank(spec, row)
    given = 1 if "output_list" in value and spec.name == "COND_IF" else count
    gives = 1 if "input_list" in value and spec.name == "COND_IF" else count
    case.list_input("input_list", i8, *[(2, 3)] * given)
    case.outputs = {}
    for i in range(gives):
        case.output(f"output_{i}", i8, (2, 3))
    for block in case.regions.values():
        condition = any(block.tensors[name].dtype is bool_ for name in block.outputs)
        for i in range(1, given):
            block.add(Tensor(f"more_{i}", i8, (2, 3)))
            block.inputs.append(f"more_{i}")
        for i in range(1, 1 if condition else gives):
            block.add(Tensor(f"gives_{i}", i8, (2, 3)))
            block.operators.append(Operator("IDENTITY", ["a"], [f"gives_{i}"]))
            block.outputs.append(f"gives_{i}")
    return case


MAKERS: Final[Mapping[str, Callable[[OpSpec, Row, str, int], Case]]] = {
    **dict.fromkeys(
        ("Conv2d", "Conv3d", "DepthwiseConv2d", "TransposeConv2d", "AvgPool2d", "MaxPool2d"), _window
    ),
    **dict.fromkeys(("FFT2d", "RFFT2d"), _transform),
    **dict.fromkeys(("Concat", "CondIf", "WhileLoop", "Custom"), _list),
    "Resize": _resize,
}  # fmt: skip
