"""How many positions windows have, with given and with automatic padding."""

from __future__ import annotations

import pytest

from tosa_engine.lower.problems import Misfit, Unlowered
from tosa_engine.lower.windows import Window, transposed_windows, windows


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        ((7, 3, 1, 1, (1, 1)), Window(3, 1, 1, 1, 1, 7)),
        ((7, 3, 2, 1, (0, 1)), Window(3, 2, 1, 0, 0, 3)),  # the last position leaves 1 over
        ((7, 3, 2, 2, (0, 0)), Window(3, 2, 2, 0, 0, 2)),
        ((6, 3, 2, 1, None), Window(3, 2, 1, 0, 1, 3)),
        ((7, 1, 3, 1, None), Window(1, 3, 1, 0, 0, 3)),
        ((7, 3, 1, 1, (-2, 0)), Window(3, 1, 1, -2, 0, 3)),
    ],
)
def test_windows(numbers: tuple[int, int, int, int, tuple[int, int] | None], wanted: Window) -> None:
    assert windows(*([n] for n in numbers)) == [wanted]


@pytest.mark.parametrize(
    ("numbers", "outputs", "wanted"),
    [
        ((4, 3, 2, 1, (0, 0)), (), Window(3, 2, 1, 0, 0, 9)),
        ((4, 3, 2, 1, None), (), Window(3, 2, 1, 0, 1, 8)),
        ((4, 3, 2, 1, None), (7,), Window(3, 2, 1, 1, 1, 7)),
        ((4, 3, 2, 1, (1, 0)), (9,), Window(3, 2, 1, 1, 0, 9)),
    ],
)
def test_transposed_windows(
    numbers: tuple[int, int, int, int, tuple[int, int] | None], outputs: tuple[int, ...], wanted: Window
) -> None:
    assert transposed_windows(*([n] for n in numbers), outputs) == [wanted]


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(Misfit, match=r"a window of 5 doesn't fit into 0 \+ 4 \+ 0"):
        windows([4], [3], [1], [2], [(0, 0)])
    with pytest.raises(Misfit, match="size 3, stride 0 and dilation 1 must be positive"):
        windows([4], [3], [0], [1], [(0, 0)])
    with pytest.raises(Unlowered, match=r"padding \[-3, 4\] leaves nothing of the extent 3"):
        windows([3], [1], [1], [1], [(-3, 4)])
    with pytest.raises(Misfit, match=r"an extent of 4 can't come from 20 with padding \(0, 0\)"):
        transposed_windows([4], [3], [2], [1], [(0, 0)], [20])
