"""Plans: order, fusion, memory. What they compute is tested in test_session.py."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nets import Net, residual_net

from tosa_engine import Session, types
from tosa_engine.kernels.scale.behind import epilogue_of
from tosa_engine.plan import expand, make_plan
from tosa_engine.plan.describe import describe
from tosa_engine.plan.memory.arena import ALIGNMENT, Lifetime, place
from tosa_engine.spec import bind_operator

if TYPE_CHECKING:
    from tosa_engine.plan import Plan

NONE: frozenset[str] = frozenset()
MODELS = Path(__file__).parents[3] / "shared" / "models" / "tosa"


def operators(plan: Plan) -> list[str]:
    return [step.operators for step in plan.steps]


def small_net(*, shift: int = 38, bias: int = 100, keep_rescale: bool = False) -> Plan:
    """CONV2D, RESCALE, CLAMP."""
    net = Net()
    x = net.input("x", types.i8, 1, 4, 4, 2)
    weight = net.const(types.i8, np.ones((3, 1, 1, 2)))
    zero = net.const(types.i8, [0]), net.const(types.i8, [0])
    net.op(
        "CONV2D", "acc", types.i32, x, weight, net.const(types.i32, [bias] * 3), *zero, pad=(0, 0, 0, 0), stride=(1, 1),
        dilation=(1, 1), acc_type=types.i32, local_bound=False,
    )  # fmt: skip
    net.rescale("scaled", "acc", types.i32, types.i8, shift)
    net.op("CLAMP", "y", types.i8, "scaled", min_val=0, max_val=9, nan_mode="PROPAGATE")
    outputs = ["y", "scaled"] if keep_rescale else ["y"]
    return make_plan(expand(net.done(*outputs)))


def test_a_convolution_takes_what_follows_as_its_epilogue() -> None:
    assert operators(small_net()) == ["CONV2D+RESCALE+CLAMP"]


def test_a_graph_output_is_not_fused_away() -> None:
    assert operators(small_net(keep_rescale=True)) == ["CONV2D+RESCALE", "CLAMP"]


def test_what_bounds_cannot_prove_is_not_fused() -> None:
    """|acc| <= 356 may leave -2^8 .. 2^8 - 1, which RESCALE with shift 9 requires; 255 can't."""
    assert operators(small_net(shift=9)) == ["CONV2D", "RESCALE", "CLAMP"]
    assert operators(small_net(shift=10, bias=0)) == ["CONV2D+RESCALE+CLAMP"]


def test_an_accumulator_that_may_overflow_is_not_fused() -> None:
    assert operators(small_net(bias=(1 << 31) - 1)) == ["CONV2D", "RESCALE+CLAMP"]


def test_the_residual_net_fuses_everything_it_can() -> None:
    assert operators(make_plan(expand(residual_net()))) == [
        "CONV2D+RESCALE+CLAMP", "DEPTHWISE_CONV2D+RESCALE", "CONV2D+RESCALE", "RESCALE+RESCALE+ADD+RESCALE+TABLE",
        "MAX_POOL2D", "RESHAPE", "TRANSPOSE", "MATMUL+RESCALE", "IDENTITY",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kept", "split"),
    [
        ("stem", ["CONV2D", "RESCALE", "CLAMP"]),
        ("stem_i8", ["CONV2D+RESCALE", "CLAMP"]),
        ("left", ["RESCALE", "RESCALE", "ADD", "RESCALE+TABLE"]),
        ("sum", ["RESCALE", "RESCALE", "ADD", "RESCALE+TABLE"]),
    ],
)
def test_kept_tensors_are_written(kept: str, split: list[str]) -> None:
    plan = make_plan(expand(residual_net()), frozenset([kept]))
    found = operators(plan)
    assert all(found.count(name) >= split.count(name) for name in split)
    (written,) = (i for i, step in enumerate(plan.steps) if kept in step.outputs)
    root = plan.roots[kept]  # another tensor's where an elementwise step overwrites its input
    assert root in plan.arena.offsets
    readers = [i for i, step in enumerate(plan.steps) if kept in step.inputs]
    after = plan.steps[written + 1 : max(readers) + 1]
    assert all(plan.roots[name] != root for step in after for name in step.outputs), "overwritten while it is looked at"


def test_without_optimising_each_operator_is_a_step() -> None:
    graph = expand(residual_net())
    plan = make_plan(graph, optimise=False)
    assert operators(plan) == [op.op for op in graph.main.operators if op.op not in ("CONST", "CONST_SHAPE")]


def test_reshape_and_identity_share_bytes() -> None:
    plan = make_plan(expand(residual_net()))
    assert plan.roots["rows"] == "pooled"
    assert plan.roots["out"] == "gram_i8"
    assert all(step.work is None for step in plan.steps if step.operators in ("RESHAPE", "IDENTITY"))


def test_dead_operators_are_dropped_unless_they_have_a_require() -> None:
    net = Net()
    x = net.input("x", types.i32, 3)
    net.op("MAXIMUM", "dead", types.i32, x, x, nan_mode="PROPAGATE")
    net.op("ADD", "verdict", types.i32, x, x)
    net.op("IDENTITY", "y", types.i32, x)
    assert operators(make_plan(expand(net.done("y")))) == ["ADD", "IDENTITY"]


def test_what_depends_on_constants_only_is_computed_once() -> None:
    net = Net()
    x = net.input("x", types.i32, 2, 2)
    net.op("RESHAPE", "folded", types.i32, net.const(types.i32, [1, 2, 3, 4]), net.const(types.shape, [2, 2]))
    net.op("ADD", "y", types.i32, x, "folded")
    plan = make_plan(expand(net.done("y")))
    assert operators(plan) == ["ADD"]
    np.testing.assert_array_equal(plan.constants["folded"], [[1, 2], [3, 4]])


def test_a_constant_that_violates_a_require_stays_to_be_told() -> None:
    net = Net()
    most = net.const(types.i32, [(1 << 31) - 1])
    net.op("ADD", "y", types.i32, most, most)
    assert operators(make_plan(expand(net.done("y")))) == ["ADD"]


def test_a_plan_describes_itself() -> None:
    text = describe(make_plan(expand(residual_net())))
    assert "CONV2D+RESCALE+CLAMP -> stem_relu" in text
    assert text.splitlines()[-1].startswith("arena: ")


def test_the_arena_of_the_residual_net_is_small() -> None:
    arena = make_plan(expand(residual_net())).arena
    assert arena.lower_bound <= arena.size < arena.total


def test_buffers_that_largest_first_wastes_memory_on_are_placed_again() -> None:
    """Of the larger ones a and c come to lie at 0 and b at 4, which leaves d no place below 8."""
    drawn = {"a": (4, 1, 1), "b": (4, 1, 3), "c": (4, 4, 4), "d": (2, 3, 5)}
    arena = place({name: Lifetime(size * ALIGNMENT, first, last) for name, (size, first, last) in drawn.items()})
    assert arena.size == arena.lower_bound == 8 * ALIGNMENT


@pytest.mark.skipif(not MODELS.is_dir(), reason="needs the folder ../shared/models")
@pytest.mark.parametrize("name", sorted(p.name for p in MODELS.glob("*.int*")) if MODELS.is_dir() else [])
def test_arenas_of_models_are_hardly_larger_than_what_lives_at_one_step(name: str) -> None:
    arena = Session(MODELS / name / "model.tosa", 1).plan().arena
    assert arena.size <= 1.15 * arena.lower_bound


@given(st.lists(st.tuples(st.integers(1, 5000), st.integers(-1, 9), st.integers(0, 5)), max_size=25))
def test_living_buffers_never_overlap(drawn: list[tuple[int, int, int]]) -> None:
    lives = {f"t{i}": Lifetime(size, first, first + length) for i, (size, first, length) in enumerate(drawn)}
    arena = place(lives)
    assert set(arena.offsets) == set(lives)
    assert arena.lower_bound <= arena.size <= arena.total
    for name, life in lives.items():
        start = arena.offsets[name]
        assert start % ALIGNMENT == 0
        assert start + life.size <= arena.size
        for other, life2 in lives.items():
            if other != name and life.meets(life2):
                start2 = arena.offsets[other]
                assert start + life.size <= start2 or start2 + life2.size <= start


def test_buffers_of_a_plan_live_until_they_are_read() -> None:
    """Buffers that are needed at one step, because it reads or writes them, lie apart."""
    for keep in (NONE, frozenset(["stem", "dw_i8", "sum", "pooled"])):
        plan = make_plan(expand(residual_net()), keep)
        last = {plan.roots[n]: i for i, step in enumerate(plan.steps) for n in step.inputs}
        for i, step in enumerate(plan.steps):
            if step.work is None:
                continue
            written = place_of(plan, step.output)
            for root, until in last.items():
                before = any(plan.roots[s.output] == root for s in plan.steps[:i]) or root in plan.block.inputs
                if root in plan.arena.offsets and until >= i and before and root != plan.roots[step.output]:
                    assert apart(written, place_of(plan, root)), (step.output, root)


def place_of(plan: Plan, name: str) -> tuple[int, int]:
    tensor = plan.block.tensors[name]
    start = plan.arena.offsets[plan.roots[name]]
    return start, start + tensor.size * tensor.dtype.storage.itemsize


def apart(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[1] <= second[0] or second[1] <= first[0]


def test_numerics_of_fused_bounds_follow_the_epilogue() -> None:
    """A CLAMP behind the RESCALE narrows the clip."""
    graph = expand(residual_net())
    calls = [bind_operator(op, graph.main) for op in graph.main.operators]
    chain = [c for c in calls if c.operator.outputs in (["stem_i8"], ["stem_relu"])]
    assert [c.spec.name for c in chain] == ["RESCALE", "CLAMP"]
    after, alone = epilogue_of(chain), epilogue_of(chain[:1])
    assert after is not None
    assert alone is not None
    assert (after.low, after.high, after.output_zp) == (-5, 120, -5)
    assert (alone.low, alone.high, alone.output_zp) == (-128, 127, -5)


def test_kept_tensors_outlive_the_step_that_others_may_have_begun() -> None:
    """While the first worker looks at a kept tensor, the next step that does something may run already."""
    graph = expand(residual_net())
    plan = make_plan(graph, frozenset(["dw_i8", "rows"]))
    for kept in ("dw_i8", "rows"):
        written = next(i for i, step in enumerate(plan.steps) if step.output == kept)
        following = next(step for step in plan.steps[written + 1 :] if step.work is not None)
        assert apart(place_of(plan, kept), place_of(plan, following.output))
