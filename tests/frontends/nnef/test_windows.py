"""Sliding windows, borders, sampling and regions: documents against the standard's formulas, over random attributes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import nnef_formulas as formulas
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nnef_tools import Run, random

from tosa_engine.errors import ParseError

FEW = settings(max_examples=25)
BORDERS = ["constant", "replicate", "reflect", "reflect-even"]


def run(body: str, inputs: dict[str, Any], tensors: dict[str, Any] | None = None, results: str = "y") -> Run:
    with tempfile.TemporaryDirectory() as folder:
        return Run(Path(folder) / "m.nnef", body, inputs, tensors, results)


def text(values: Any) -> str:
    return str([tuple(v) if isinstance(v, (list, tuple)) else int(v) for v in values])


def arguments(window: dict[str, Any]) -> str:
    return (
        ", ".join(f"{k} = {text(v)}" for k, v in window.items() if k != "border") + f", border = '{window['border']}'"
    )


@st.composite
def window(
    draw: st.DrawFn, extents: tuple[int, ...], sizes: tuple[int, ...] | None = None, borders: Any = tuple(BORDERS)
) -> dict[str, Any]:
    """Attributes of a window that fits `extents`, and whose border has something to show."""
    rank = len(extents)
    border = draw(st.sampled_from(list(borders)))
    size = sizes or tuple(draw(st.integers(1, min(3, n))) for n in extents)
    stride = draw(st.sampled_from([[], [draw(st.integers(1, 3)) for _ in range(rank)]]))
    dilation = draw(st.sampled_from([[], [draw(st.integers(1, 2)) for _ in range(rank)]]))
    padding: list[tuple[int, int]] = []
    if draw(st.booleans()):
        padding = [(draw(st.integers(-1, 2)), draw(st.integers(-1, 2))) for _ in range(rank)]
    p, s, d = formulas.parameters(extents, size, padding, stride, dilation)
    for n, f, (before, after), step, gap in zip(extents, size, p, s, d, strict=True):
        room = before + n + after - ((f - 1) * gap + 1)
        assume(room >= 0)
        assume(n + min(before, 0) + min(after - room % step, 0) >= 1)  # windows that see only the border are refused
        most = n - 1 if border == "reflect" else n
        assume(border in ("constant", "ignore", "replicate") or max(before, after) <= most)
    return {"size": size, "border": border, "padding": padding, "stride": stride, "dilation": dilation}


SHAPES = st.sampled_from([(2, 3, 5), (1, 2, 4, 5), (2, 1, 6, 3), (1, 2, 3, 4, 2)])


@FEW
@given(st.data(), SHAPES, st.booleans())
def test_box_and_pools(data: st.DataObject, shape: tuple[int, ...], everywhere: bool) -> None:
    x = random(shape, 1)
    how = data.draw(window(shape, borders=(*BORDERS, "ignore")))
    if not everywhere:  # batch and channels are left alone
        none = {"size": [1, 1], "padding": [(0, 0), (0, 0)], "stride": [1, 1], "dilation": [1, 1]}
        how = {k: [*none[k], *v[2:]] if k in none and v else v for k, v in how.items()}
    body = f"""y = box(x, {arguments(how)}); n = box(x, {arguments(how)}, normalize = true);
    a = avg_pool(x, {arguments(how)}); m = max_pool(x, {arguments(how)}); r = rms_pool(x, {arguments(how)});"""
    found = run(body, {"x": x}, results="y, n, a, m, r")
    found.agrees("y", formulas.box(x, **how))
    for name in ("n", "a"):
        found.agrees(name, formulas.box(x, **how, normalize=True))
    found.agrees("m", formulas.max_pool(x, **how))
    found.agrees("r", np.sqrt(formulas.box(x.astype(np.float64) ** 2, **how, normalize=True)), 1e-4)


@FEW
@given(st.data(), st.sampled_from([(2, 3, 5), (1, 2, 4, 5)]))
def test_positions_of_maxima_and_what_they_pick(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x = np.round(random(shape, 2) * 2).astype(np.float32)  # with ties
    how = data.draw(window(shape))
    body = f"i = argmax_pool(x, {arguments(how)}); y = sample(x, i, {arguments(how)});"
    body += f"(m, j) = max_pool_with_index(x, {arguments(how)});"
    found = run(body, {"x": x}, results="i, y, m, j")
    index = formulas.argmax_pool(x, **how)
    for name in ("i", "j"):
        found.agrees(name, index)
    found.agrees("y", formulas.sample(x, index, **how))
    found.agrees("m", formulas.max_pool(x, **how))


@st.composite
def reverse_window(draw: st.DrawFn, extents: tuple[int, ...], first: int = 0) -> dict[str, Any]:
    """Attributes of a reverse window over the axes from `first` on."""
    rank = len(extents) - first
    size = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    stride = draw(st.sampled_from([[], [draw(st.integers(1, 3)) for _ in range(rank)]]))
    dilation = draw(st.sampled_from([[], [draw(st.integers(1, 2)) for _ in range(rank)]]))
    s, d = stride or [1] * rank, dilation or [1] * rank
    padding: list[tuple[int, int]] = []
    output: list[int] = []
    if draw(st.booleans()):
        padding = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(rank)]
        output = [formulas.up(*n) for n in zip(extents[first:], size, padding, s, d, strict=True)]
        assume(min(output) >= 1)
        if draw(st.booleans()):
            output = [n + draw(st.integers(0, step - 1)) for n, step in zip(output, s, strict=True)]
        else:
            output = []
    return {"size": size, "padding": padding, "stride": stride, "dilation": dilation, "output_shape": output}


@FEW
@given(st.data(), st.sampled_from([(2, 3, 4), (1, 2, 3, 4)]), st.sampled_from([*BORDERS, "ignore"]), st.booleans())
def test_debox(data: st.DataObject, shape: tuple[int, ...], border: str, normalize: bool) -> None:
    x = random(shape, 3)
    how = {**data.draw(reverse_window(shape)), "border": border}
    assume(border in ("constant", "ignore", "replicate") or min(shape) >= 4)
    body = f"y = debox(x, {arguments(how)}, normalize = {str(normalize).lower()});"
    run(body, {"x": x}).agrees("y", formulas.debox(x, **how, normalize=normalize))


@FEW
@given(st.data(), st.sampled_from([(2, 3, 4), (1, 2, 3, 3)]))
def test_desample(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x = random(shape, 4)
    how = data.draw(reverse_window(shape))
    index = np.random.default_rng(5).integers(0, np.prod(how["size"]), shape).astype(np.int32)
    body = f"y = desample(x, i, {arguments({**how, 'border': 'constant'})});"
    run(body, {"x": x}, {"i": index}).agrees("y", formulas.desample(x, index, **how))


@FEW
@given(
    st.data(), st.sampled_from([(5,), (4, 5), (3, 4, 3)]), st.sampled_from([(1, 2, 3), (2, 2, 2), (0, 3, 2), (3, 1, 1)])
)
def test_conv(data: st.DataObject, extents: tuple[int, ...], channels: tuple[int, int, int]) -> None:
    groups, inputs, multiple = channels
    c = inputs * (groups or 1) if groups else inputs
    outputs = (groups or c) * multiple
    x = random((2, c, *extents), 6)
    sizes = tuple(data.draw(st.integers(1, min(3, n))) for n in extents)
    w = random((outputs, c // (groups or c), *sizes), 7)
    bias = random((1, outputs), 8) if data.draw(st.booleans()) else np.array([0.5], np.float32)
    how = data.draw(window(extents, sizes))
    del how["size"]
    body = f"y = conv(x, w, v, {arguments(how)}, groups = {groups});"
    found = run(body, {"x": x}, {"w": w, "v": bias})
    found.agrees("y", formulas.conv(x, w, bias, **how, groups=groups), 1e-4)


@FEW
@given(
    st.data(), st.sampled_from([(4,), (3, 4), (2, 3, 2)]),
    st.sampled_from([(1, 2, 3), (2, 2, 2), (0, 1, 1), (3, 1, 2)]),
    st.sampled_from(["constant", "constant", "replicate"]),
)  # fmt: skip
def test_deconv(data: st.DataObject, extents: tuple[int, ...], channels: tuple[int, int, int], border: str) -> None:
    groups, inputs, outputs = channels
    c = inputs * groups if groups else 3
    x = random((2, c, *extents), 9)
    how = data.draw(reverse_window((2, c, *extents), 2))
    w = random((c, outputs, *how.pop("size")), 10)
    total = (groups or c) * outputs
    if how["output_shape"]:
        how["output_shape"] = [2, total, *how["output_shape"]]
    bias = random((1, total), 11)
    body = f"y = deconv(x, w, v, {arguments({**how, 'border': border})}, groups = {groups});"
    found = run(body, {"x": x}, {"w": w, "v": bias})
    found.agrees("y", formulas.deconv(x, w, bias, border, **how, groups=groups), 1e-4)


@pytest.mark.parametrize("border", ["constant", "replicate", "reflect", "reflect-even"])
@pytest.mark.parametrize("padding", [[(0, 0), (1, 2), (3, 0)], [(1, 1), (-1, 2), (0, -2)], [(0, 0), (0, 0), (-1, -1)]])
def test_pad(border: str, padding: list[tuple[int, int]]) -> None:
    x = random((2, 4, 5), 12)
    found = run(f"y = pad(x, padding = {padding}, border = '{border}', value = 2.5);", {"x": x})
    found.agrees("y", formulas.pad(x, padding, border, 2.5))


def test_padding_beyond_what_a_border_shows_is_an_error() -> None:
    with pytest.raises(ParseError, match=r"padding \(0, 4\) is more than 'reflect' has to show of an extent of 4"):
        run("y = pad(x, padding = [(0, 4)], border = 'reflect');", {"x": random((4,))})


@pytest.mark.parametrize("method", ["symmetric", "asymmetric", "aligned"])
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize(("shape", "factor"), [((1, 2, 3, 4), (2, 3)), ((2, 2, 5), (4,)), ((1, 1, 2, 3, 2), (2, 1, 2))])
def test_multilinear_upsample(method: str, border: str, shape: tuple[int, ...], factor: tuple[int, ...]) -> None:
    x = random(shape, 13)
    wanted: np.ndarray = x
    for axis, f in enumerate(factor, 2):
        wanted = formulas.upsample_axis(wanted, axis, f, method, border)
    body = f"y = multilinear_upsample(x, factor = {list(factor)}, method = '{method}', border = '{border}');"
    run(body, {"x": x}).agrees("y", wanted)


def test_up_and_down() -> None:
    x = random((1, 2, 4, 6), 14)
    body = "u = nearest_upsample(x, factor = [2, 3]); d = nearest_downsample(x, factor = [2, 3]);"
    found = run(body + " a = area_downsample(x, factor = [2, 3]);", {"x": x}, results="u, d, a")
    found.agrees("u", x.repeat(2, 2).repeat(3, 3))
    found.agrees("d", x[:, :, ::2, ::3])
    found.agrees("a", x.reshape(1, 2, 2, 2, 2, 3).mean((3, 5)))
    assert "TILE" in found.operators
    assert "AVG_POOL2D" in found.operators


ROIS = np.array([[0, 0, 4, 6], [1.4, 0.6, 4.6, 5.2], [2, 3, 5, 8], [0, 0, 1, 1]], np.float32)
ITEMS = np.array([[0], [1], [1], [0]], np.int32)


@pytest.mark.parametrize("size", [(2, 2), (3, 2), (1, 4)])
def test_roi_pool(size: tuple[int, int]) -> None:
    x = random((2, 3, 5, 8), 15)
    body = (
        f"a = avg_roi_pool(x, r, i, output_size = {list(size)}); m = max_roi_pool(x, r, i, output_size = {list(size)});"
    )
    found = run(body, {"x": x, "r": ROIS}, {"i": ITEMS}, results="a, m")
    found.agrees("a", formulas.roi_pool(x, ROIS, ITEMS, size, average=True))
    found.agrees("m", formulas.roi_pool(x, ROIS, ITEMS, size, average=False))


@pytest.mark.parametrize("method", ["symmetric", "asymmetric", "aligned"])
def test_roi_resample_and_align(method: str) -> None:
    x = random((2, 3, 5, 8), 16)
    body = f"y = roi_resample(x, r, i, output_size = [4, 3], method = '{method}');"
    for kind in ("avg", "max"):
        body += f"{kind} = {kind}_roi_align(x, r, i, output_size = [2, 3], sampling_rate = [2, 1], "
        body += f"resize_method = '{method}');"
    found = run(body, {"x": x, "r": ROIS}, {"i": ITEMS}, results="y, avg, max")
    fine = formulas.roi_resample(x, ROIS, ITEMS, (4, 3), method)
    found.agrees("y", fine, 1e-4)
    pairs = fine.reshape(4, 3, 2, 2, 3, 1)
    found.agrees("avg", pairs.mean((3, 5)), 1e-4)
    found.agrees("max", pairs.max((3, 5)), 1e-4)


def test_regions_of_one_and_three_axes() -> None:
    x, rois = random((2, 2, 9), 17), np.array([[1, 8], [0, 5]], np.float32)
    items = np.array([[1], [0]], np.int32)
    found = run("y = avg_roi_pool(x, r, i, output_size = [3]);", {"x": x, "r": rois}, {"i": items})
    found.agrees("y", formulas.roi_pool(x, rois, items, (3,), average=True))
    x, rois = random((1, 2, 4, 4, 4), 18), np.array([[0, 0, 1, 4, 3, 4]], np.float32)
    items = np.array([[0]], np.int32)
    found = run("y = max_roi_pool(x, r, i, output_size = [2, 1, 2]);", {"x": x, "r": rois}, {"i": items})
    found.agrees("y", formulas.roi_pool(x, rois, items, (2, 1, 2), average=False))
