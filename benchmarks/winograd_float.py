"""Are Winograd's transforms of float32 inside of TOSA's rules? python benchmarks/winograd_float.py

A CONV2D with 3 x 3 weights is computed by F(2 x 2) and F(4 x 4) in float32, in numpy, and judged by the dot-product
rule: over the six data sets of the specification's Appendix A, and for an input with one pixel a million times as large
as the others. With `local_bound` false every output has the bound of the largest. docs/winograd.md has the results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.compliance.accuracy import check_operator, data_set
from tosa_engine.spec import bind_operator

if TYPE_CHECKING:
    from tosa_engine.spec.table import Call

F32 = np.float32
Array = np.ndarray[Any, np.dtype[Any]]
# of inputs, weights and outputs: Lavin and Gray's, points 0, 1, -1 and for F(4 x 4) 2 and -2
TWO = (
    [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]],
    [[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]],
    [[1, 1, 1, 0], [0, 1, -1, -1]],
)
FOUR = (
    [
        [4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ],
    [
        [1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6], [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6], [0, 0, 1],
    ],
    [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
)  # fmt: skip


def winograd(x: Array, weight: Array, bias: Array, matrices: tuple[Any, ...]) -> Array:
    """A CONV2D with padding 1; the weights are transformed in float64, all else is float32."""
    before, of_weight, behind = np.array(matrices[0], F32), np.array(matrices[1]), np.array(matrices[2], F32)
    size, step = len(before), len(behind)
    _, height, width, depth = x.shape
    u = np.einsum("ai,oijc,bj->abco", of_weight, weight.astype(np.float64), of_weight).astype(F32)
    padded = np.pad(x, ((0, 0), (1, step + 1), (1, step + 1), (0, 0)))
    out = np.zeros((len(x), height + step, width + step, len(weight)), F32)
    for row in range(0, height, step):
        for column in range(0, width, step):
            tile = padded[:, row : row + size, column : column + size]
            v = np.einsum("bj,najc->nabc", before, np.einsum("ai,nijc->najc", before, tile))
            sums = np.zeros((len(x), size, size, len(weight)), F32)
            for k in range(depth):
                sums += v[..., k : k + 1] * u[None, :, :, k]
            found = np.einsum("xb,nybo->nyxo", behind, np.einsum("ya,nabo->nybo", behind, sums))
            out[:, row : row + step, column : column + step] = found + bias
    return out[:, :height, :width]


def operator(*, local_bound: bool) -> Call:
    b = Builder()
    x = b.input(types.fp32, (1, 16, 16, 32), "x")
    weight, bias = b.const(np.zeros((32, 3, 3, 32), F32)), b.const(np.zeros(32, F32))
    b.output(
        b.op("CONV2D", x, weight, bias, 0, 0, pad=(1,) * 4, stride=(1, 1), dilation=(1, 1), local_bound=local_bound)
    )
    graph = b.graph()
    return bind_operator(graph.main.operators[-1], graph.main)


def normal(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(F32)


def outlier(shape: tuple[int, ...]) -> Array:
    found = normal(shape)
    found[0, 5, 5] *= F32(1e6)
    return found


def main() -> None:
    for local in (False, True):
        call = operator(local_bound=local)
        for name, matrices in (("F(2 x 2)", TWO), ("F(4 x 4)", FOUR)):
            outside = []
            for number in range(6):
                inputs = data_set(call, number)
                with np.errstate(all="ignore"):
                    found = winograd(inputs["input"], inputs["weight"], inputs["bias"], matrices)
                    good = check_operator(call, inputs, [found], number)[0].good
                outside += [] if good else [f"S{number}"]
            inputs["input"], inputs["weight"] = outlier(inputs["input"].shape), normal(inputs["weight"].shape)
            found = winograd(inputs["input"], inputs["weight"], inputs["bias"], matrices)
            outside += [] if check_operator(call, inputs, [found])[0].good else ["one large pixel"]
            print(f"local_bound={local}, {name}: {', '.join(outside) + ' outside' if outside else 'all inside'}")


if __name__ == "__main__":
    main()
