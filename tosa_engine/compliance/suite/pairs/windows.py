"""Uses of operators with windows, of products and of transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .use import Use

KERNEL: Final = 3  # where it is more than 1: larger than any padding here
MOST: Final = 40  # outputs that are tried
PADS: Final = {"d": ("pad_d0", "pad_d1"), "y": ("pad_top", "pad_bottom"), "x": ("pad_left", "pad_right")}


def _input_size(use: Use, axis: str, kernel: int, dilation: int, pads: tuple[int, int]) -> int:
    """An input size for which outputs are as many as was chosen."""
    stride = use.number(f"stride_{axis}")
    letter = {"d": "OD", "y": "OH", "x": "OW"}[axis]
    for outputs in (1,) if use.chosen[letter] == "1" else range(2, MOST):
        size = stride * (outputs - 1) + (kernel - 1) * dilation + 1 - sum(pads)
        if size >= 1:
            return size
    raise AssertionError(f"{use.spec.name}: no input size for {dict(use.chosen)}")


def convolution(use: Use) -> None:
    axes = "dyx" if use.spec.name == "CONV3D" else "yx"
    kernel = tuple(use.number({"d": "KD", "y": "KH", "x": "KW"}[axis], KERNEL) for axis in axes)
    dilation = tuple(use.number(f"dilation_{axis}", 2) for axis in axes)
    pads = [tuple(use.number(side, 1) for side in PADS[axis]) for axis in axes]
    sizes = [
        _input_size(use, axis, k, d, (p[0], p[1])) for axis, k, d, p in zip(axes, kernel, dilation, pads, strict=True)
    ]
    use.case.set(pad=tuple(side for pair in pads for side in pair), dilation=dilation, stride=_strides(use, axes))
    if use.spec.name == "DEPTHWISE_CONV2D":
        channels, more = use.number("C"), use.number("M", 2)
        _products(use, (use.number("N", 2), *sizes, channels), (*kernel, channels, more), channels * more)
        return
    inputs, outputs = use.number("IC"), use.number("OC")
    _products(use, (use.number("N", 2), *sizes, inputs), (outputs, *kernel, inputs), outputs)


def _strides(use: Use, axes: str) -> tuple[int, ...]:
    return tuple(use.number(f"stride_{axis}") for axis in axes)


def _products(use: Use, input: tuple[int, ...], weight: tuple[int, ...], channels: int) -> None:
    bias = 1 if use.chosen["elements of bias"] == "1" else channels
    use.operand("input", input).operand("weight", weight).operand("bias", (bias,))
    use.zero_point("input_zp").zero_point("weight_zp").outputs()


def transpose_convolution(use: Use) -> None:
    sizes: list[int] = []
    kernel: list[int] = []
    pads: list[int] = []
    for axis in "yx":
        k = use.number({"y": "KH", "x": "KW"}[axis], KERNEL)
        pair = tuple(use.number(f"out_{side}", 1) for side in PADS[axis])
        single = use.chosen["OH" if axis == "y" else "OW"] == "1"
        if single and k > 1:  # all but one of the kernel's places fall off
            first, last = (use.chosen[f"out_{side}"] for side in PADS[axis])
            pair = (0, 1 - k) if first == "0" else (1 - k, 0) if last == "0" else (-1, 2 - k)
        stride = use.number(f"stride_{axis}")
        size = next(n for n in range(1, MOST) if single or (n - 1) * stride + k + sum(pair) > 1)
        sizes.append(size)
        kernel.append(k)
        pads += pair
    use.case.set(out_pad=tuple(pads), stride=_strides(use, "yx"))
    inputs, outputs = use.number("IC"), use.number("OC")
    _products(use, (use.number("N", 2), *sizes, inputs), (outputs, *kernel, inputs), outputs)


def pool(use: Use) -> None:
    sizes: list[int] = []
    kernel: list[int] = []
    pads: list[int] = []
    for axis in "yx":
        k = use.number(f"kernel_{axis}", KERNEL)
        pair = tuple(use.number(side, 1) for side in PADS[axis])
        sizes.append(_input_size(use, axis, k, 1, (pair[0], pair[1])))
        kernel.append(k)
        pads += pair
    use.case.set(kernel=tuple(kernel), stride=_strides(use, "yx"), pad=tuple(pads))
    use.operand("input", (use.number("N", 2), *sizes, use.number("C")))
    for argument in use.spec.inputs[1:]:
        use.zero_point(argument.name)
    use.outputs()


def matmul(use: Use) -> None:
    n, h, c, w = use.number("N", 2), use.number("H"), use.number("C"), use.number("W")
    use.operand("A", (n, h, c)).operand("B", (n, c, w)).zero_point("A_zp").zero_point("B_zp").outputs()


def transform(use: Use) -> None:
    shape = (use.number("N", 2), use.number("H", 4), use.number("W", 8))
    for argument in use.spec.inputs:
        use.operand(argument.name, shape)
    use.outputs()
