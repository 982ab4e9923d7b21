"""Rules of processors: what is refused, by which label, and what isn't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.check import check
from tosa_engine.npu import NAMES, npu, violations
from tosa_engine.npu.conditions import parse
from tosa_engine.npu.ethos_u import ETHOS_U
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph

U55, U85 = npu("ethos-u55-256"), npu("ethos-u85-256")


def labels(graph: Graph, name: str = "ethos-u55-256") -> list[str]:
    assert not check(graph, npu(name).target)
    return [problem.label.removeprefix(f"{name}.") for problem in violations(graph, npu(name))]


def convolution(
    op: str = "CONV2D", *, dtype: Any = types.i8, fixed: bool = True, rescaled: bool = True, size: int = 8, **given: Any
) -> Graph:
    b = Builder()
    channels, kernel = given.pop("channels", 4), given.pop("kernel", (3, 3))
    attributes = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "local_bound": False} | given
    shape = (*kernel, channels, 1) if op == "DEPTHWISE_CONV2D" else (4, *kernel, channels)
    acc = types.i48 if dtype is types.i16 else types.i32
    if op == "TRANSPOSE_CONV2D":
        attributes["out_pad"] = attributes.pop("pad")
        del attributes["dilation"]
    height = given.get("stride", (1, 1))[0] * (size - 1) + kernel[0] if op != "TRANSPOSE_CONV2D" else size
    x = b.input(dtype, (1, height, height, channels), "x")
    weight = b.const(np.ones(shape, np.int8)) if fixed else b.input(types.i8, shape, "w")
    y = b.op(op, x, weight, b.const(np.zeros(4, acc.storage), acc), 0, 0, acc_type=acc, output="sums", **attributes)
    if rescaled:
        wide = dtype is not types.i16
        scales = np.array([1 << 30 if wide else 1 << 14], np.int32 if wide else np.int16), np.array([34], np.int8)
        zeros = b.const(np.zeros(1, acc.storage), acc), b.const(np.zeros(1, dtype.storage), dtype)
        y = b.op(
            "RESCALE", y, *scales, *zeros, dtype=dtype, scale32=wide, rounding_mode="SINGLE_ROUND", per_channel=False,
            input_unsigned=False, output_unsigned=False, output="y",
        )  # fmt: skip
    b.output(y)
    return b.graph()


def single(op: str, dtype: Any, shape: tuple[int, ...], *more: Any, out: Any = None, **attributes: Any) -> Graph:
    b = Builder()
    b.output(b.op(op, b.input(dtype, shape, "x"), *more, dtype=out, output="y", **attributes))
    return b.graph()


def resize(scale: list[int], offset: list[int], border: list[int], mode: str = "NEAREST") -> Graph:
    out = types.i8 if mode == "NEAREST" else types.i32
    sizes = (np.array(one) for one in (scale, offset, border))
    return single("RESIZE", types.i8, (1, 4, 4, 2), *sizes, out=out, mode=mode)


def pool(op: str, kernel: int, stride: int, pad: int) -> Graph:
    size = kernel + 2 * stride - 2 * pad
    given: dict[str, Any] = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (pad,) * 4}
    more = (0, 0) if op == "AVG_POOL2D" else ()
    given |= {"acc_type": types.i32} if op == "AVG_POOL2D" else {"nan_mode": "PROPAGATE"}
    return single(op, types.i8, (1, size, size, 2), *more, **given)


@pytest.mark.parametrize(
    ("make", "label"),
    [
        (lambda: convolution(fixed=False), "constants"),
        (lambda: convolution(dtype=types.i16, rescaled=False), "int48"),
        (lambda: convolution("DEPTHWISE_CONV2D", stride=(4, 1)), "stride"),
        (lambda: convolution("TRANSPOSE_CONV2D", stride=(3, 3)), "transposed.stride"),
        (lambda: convolution("TRANSPOSE_CONV2D", stride=(1, 2)), "transposed.strides"),
        (lambda: convolution("TRANSPOSE_CONV2D", dtype=types.i16, rescaled=False), "format"),
        (lambda: convolution(channels=65537, kernel=(1, 1), size=1), "channels"),
        (lambda: pool("MAX_POOL2D", 2, 4, 1), "pool.stride"),
        (lambda: pool("AVG_POOL2D", 9, 1, 1), "pool.kernel"),
        (lambda: resize([4, 2, 4, 2], [-1, -1], [1, 1], "BILINEAR"), "bilinear"),
        (lambda: resize([6, 2, 6, 2], [-2, -2], [2, 2]), "upscale"),
        (lambda: resize([4, 2, 4, 2], [0, 0], [2, 2]), "upscale"),
        (lambda: resize([4, 2, 2, 2], [-1, 0], [1, 0]), "upscale"),
        (lambda: single("REVERSE", types.i8, (2, 3), axis=1), "reverse"),
        (lambda: single("ARGMAX", types.i8, (2, 3), axis=0, nan_mode="PROPAGATE"), "argmax.axis"),
        (lambda: single("ARGMAX", types.i8, (2, 128), axis=1, nan_mode="PROPAGATE"), "argmax.extent"),
        (lambda: single("ARGMAX", types.i8, (2, 4, 4, 9), axis=3, nan_mode="PROPAGATE"), "argmax.samples"),
        (lambda: single("CAST", types.i8, (2, 3), out=types.bool_), "bool"),
        (lambda: single("REDUCE_MAX", types.i32, (2, 3), axis=1, nan_mode="PROPAGATE"), "format"),
        (lambda: single("BITWISE_NOT", types.i8, (2, 3)), "operator"),
        (lambda: single("REDUCE_SUM", types.i32, (65537, 2), axis=0), "sum.extent"),
    ],
)
def test_what_u55_does_not_have(make: Callable[[], Graph], label: str) -> None:
    graph = make()
    assert labels(graph) == [label]
    assert labels(graph, "ethos-u65-512") == [label]
    if label != "channels":
        assert labels(graph, "ethos-u85-256") == []


@pytest.mark.parametrize(
    "make",
    [
        convolution,
        lambda: convolution(dtype=types.i16),
        lambda: convolution("DEPTHWISE_CONV2D", stride=(3, 3)),
        lambda: convolution(stride=(8, 8)),
        lambda: convolution("TRANSPOSE_CONV2D", stride=(2, 2)),
        lambda: pool("MAX_POOL2D", 2, 4, 0),
        lambda: pool("AVG_POOL2D", 8, 3, 1),
        lambda: resize([4, 2, 4, 2], [-1, -1], [1, 1]),
        lambda: resize([8, 1, 8, 1], [0, 0], [0, 0]),
        lambda: single("REVERSE", types.i8, (2, 3), axis=0),
        lambda: single("ARGMAX", types.i8, (4, 4, 127), axis=2, nan_mode="PROPAGATE"),
    ],
)
def test_what_u55_has(make: Callable[[], Graph]) -> None:
    assert labels(make()) == []


def test_all_problems_come_at_once_with_value_reason_and_advice() -> None:
    graph = convolution("TRANSPOSE_CONV2D", fixed=False, stride=(3, 4))
    found = [str(problem) for problem in violations(graph, U55)]
    assert [text.split(":")[0] for text in found] == [
        f"ethos-u55-256.transposed.{label}" for label in ("constants", "stride", "strides")
    ]
    assert found[1] == (
        "ethos-u55-256.transposed.stride: TRANSPOSE_CONV2D: stride_y is 3, stride_x is 4, but strides are 1 or 2; "
        "do it in two steps, or PAD the input with zeros between pixels and convolve (node 'sums')"
    )


def test_tables_name_operators_and_formats_of_the_specification() -> None:
    assert len(NAMES) == 11
    for one in ETHOS_U.values():
        assert set(one.operators) <= set(TABLE)
        assert {f for formats in one.operators.values() for f in formats} <= set(types.BY_NAME)
        for rule in one.rules:
            assert set(rule.operators) <= set(TABLE)
            assert all(parse(text) for text in (*rule.needs, *rule.when))


OWN = """
name = "mine"
base = "ethos-u55-256"
level = "none"

[operators]
TABLE = ["i8"]

[[rule]]
label = "kernel"
operators = ["CONV2D"]
when = ["type input is i8"]
needs = ["KH <= 2", "KW == KH"]
why = "kernels are at most 2 x 2"
"""


def test_a_target_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OWN)
    mine = npu(str(tmp_path / "mine.toml"))
    assert (mine.name, mine.target.level.name, mine.target.names) == ("mine", "none", U55.target.names)
    (problem,) = violations(convolution(), mine)
    assert str(problem) == "mine.kernel: CONV2D: KH is 3, but kernels are at most 2 x 2 (node 'sums')"
    table = single("TABLE", types.i16, (3,), np.zeros(513, np.int16))
    assert [p.label for p in violations(table, mine)] == ["mine.format"]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "name = 3\nbas = 'x'",
            ["'name' of the file is of another type", "the file has 'bas'", "it needs [operators]"],
        ),
        ("base = 'u55'\nlevel = '9K'", ["base 'u55' is none of", "unknown level '9K'"]),
        ("[operators]\nCONV = ['i8']\nADD = ['int8']", ["no operator CONV", "ADD: a list of formats"]),
        ("[operators]\nADD = 3", ["ADD: a list of formats"]),
        (
            "[operators]\n[[rule]]\nlabel = 'a'\noperators = ['FOO']\nneeds = ['KH less 3', 'type input is int8']",
            ["rule 1 has no why", "no operator FOO", "'KH less 3' is no condition", "no number format int8"],
        ),
        ("name = ", ["Invalid value"]),
        ("rule = [3]\n[operators]", ["rule 1 is no table"]),
    ],
)
def test_wrong_descriptions_are_told_whole(command, tmp_path: Path, text: str, messages: list[str]) -> None:
    serialize.write(convolution(), tmp_path / "m.tosa")
    (tmp_path / "mine.toml").write_text(text)
    outcome = command("check", tmp_path / "m.tosa", "--target", tmp_path / "mine.toml")
    assert outcome.code == 6
    assert f"{tmp_path / 'mine.toml'}: " in outcome.err
    assert all(message in outcome.err for message in messages), outcome.err


def test_check_lists_rules_of_the_target(command, tmp_path: Path) -> None:
    serialize.write(convolution(fixed=False), tmp_path / "m.tosa")
    outcome = command("check", tmp_path / "m.tosa", "--target", "ethos-u55-64")
    assert outcome.code == 3
    assert "ethos-u55-64.constants: CONV2D: weight isn't constant, but weights and bias are constants" in outcome.err
    assert command("check", tmp_path / "m.tosa", "--target", "ethos-u85-512").out.endswith("target: ethos-u85-512\n")
    wrong = command("check", tmp_path / "m.tosa", "--target", "u55")
    assert (wrong.code, wrong.err.startswith("error: no target 'u55'; there are ethos-u55-32, ")) == (2, True)
    wrong = command("check", tmp_path / "m.tosa", "--target", "ethos-u55-64", "--profile", "PRO-FP")
    assert (wrong.code, wrong.err) == (2, "error: --profile: a --target has its own\n")
