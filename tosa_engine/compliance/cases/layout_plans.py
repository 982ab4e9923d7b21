"""Plans (`plans`) of the operators that move elements, and of RESIZE."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ...types import i32
from . import choices
from .values import Plan, draw_channels, draw_shape, draw_values, integers, rarely

if TYPE_CHECKING:
    from ...spec import OpSpec, Row
    from .values import Draw


def concat(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    axis = draw(choices.integers(0, len(shape) - 1))
    sizes = [draw(choices.integers(1, 4)) for _ in range(draw(choices.integers(1, 4)))]
    return Plan({"input1": [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]}, {}, {"axis": axis})


def pad(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape, dtype = draw_shape(draw, least=1), row.types["in_out_t"]
    padding = [draw(choices.integers(0, 2 if len(shape) < 4 else 1)) for _ in range(2 * len(shape))]
    constants = {"padding": (types.shape, padding), "pad_const": (dtype, draw_values(draw, dtype, (1,)))}
    return Plan({"input1": shape}, constants)


def reshape(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    """Another order of the factors, with 1s in between, some neighbours multiplied."""
    shape = draw_shape(draw)
    sizes = draw(choices.permutations([n for n in shape if n > 1]))
    while len(sizes) > 1 and draw(choices.booleans()):
        at = draw(choices.integers(0, len(sizes) - 2))
        sizes = [*sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :]]
    while len(sizes) < 6 and draw(choices.booleans()):
        sizes = draw(choices.permutations([*sizes, 1]))
    return Plan({"input1": shape}, {"shape": (types.shape, np.array(sizes, np.int64))})


def slice_(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    start = [draw(choices.integers(0, n - 1)) for n in shape]
    size = [draw(choices.integers(1, n - a)) for n, a in zip(shape, start, strict=True)]
    return Plan({"input1": shape}, {"start": (types.shape, start), "size": (types.shape, size)})


def transpose(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    return Plan({"input1": shape}, {}, {"perms": tuple(draw(choices.permutations(range(len(shape)))))})


def tile(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    multiples = [draw(choices.integers(1, 3 if len(shape) < 4 else 2)) for _ in shape]
    return Plan({"input1": shape}, {"multiples": (types.shape, multiples)})


def gather(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    N, K, W, C = draw(choices.integers(1, 3)), *(draw_channels(draw) for _ in range(3))
    indices = integers(draw, 0, K - 1, (N, W)).astype(np.int32)
    if rarely(draw):
        indices.flat[-1] = draw(choices.sampled_from([-1, K, i32.minimum, i32.maximum]))
    return Plan({"values": (N, K, C), "indices": (N, W)}, values={"indices": indices})


def scatter(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    N, K, C = draw(choices.integers(1, 3)), draw_channels(draw), draw_channels(draw)
    W = draw(choices.integers(1, K))
    rng = np.random.default_rng(draw(choices.integers(0, (1 << 32) - 1)))
    indices = np.stack([rng.permutation(K)[:W] for _ in range(N)]).astype(np.int32)
    if rarely(draw):
        indices[-1, -1] = draw(choices.sampled_from([-1, K, i32.maximum, *[int(indices[-1, 0])] * 3]))
    return Plan({"values_in": (N, K, C), "indices": (N, W), "input": (N, W, C)}, values={"indices": indices})


def resize(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    (IH, *y), (IW, *x) = _sampling(draw), _sampling(draw)
    constants = {
        "scale": (types.shape, [y[0], y[1], x[0], x[1]]),
        "offset": (types.shape, [y[2], x[2]]),
        "border": (types.shape, [y[3], x[3]]),
    }
    mode = draw(choices.sampled_from(["NEAREST", "BILINEAR"]))
    if row.types["in_t"].is_int:
        mode = "NEAREST" if row.types["in_t"] is row.types["out_t"] else "BILINEAR"
    return Plan({"input": (draw(choices.integers(1, 2)), IH, IW, draw_channels(draw))}, constants, {"mode": mode})


def _sampling(draw: Draw) -> tuple[int, int, int, int, int]:
    """Input size, numerator, denominator, offset and border of an axis."""
    n = draw(choices.one_of(choices.integers(1, 8), choices.sampled_from([16, 255, 256, 2047, 2048])))
    d = draw(
        choices.one_of(choices.integers(max(1, n // 8), 4 * n), choices.sampled_from([-(-n // 256), n, 16 * n - 1]))
    )
    reach = draw(choices.integers(0, 5)) * d  # from the first output to the last
    shortest = max(1, 1 + -(-(reach - 2 * n + 1) // n))
    longest = 1 + (reach + 32 * n - 1) // n
    size = draw(choices.integers(shortest, min(longest, shortest + 4)))
    difference = reach - (size - 1) * n  # of border and offset
    offset = draw(choices.integers(max(-n, -16 * n - difference), min(16 * n - 1, n - 1 - difference)))
    return size, n, d, offset, offset + difference
