"""Branches and loops. What is decided ahead disappears: static conditions, and loops whose count is known.

A loop over packs that may end early runs over all items; what comes behind its end changes nothing, and gives zeros.
Only a loop without a bound becomes a loop of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .binding import Instantiation
from .language.evaluation import is_tensor
from .language.scalars import kind_of
from .library import standard
from .shapes import Binder
from .tensors import Body, BranchNode, ChooseNode, LoopNode, TensorRef, constant_of

if TYPE_CHECKING:
    from .frames import Composing, Frame
    from .language.syntax import Branch, Expression, Loop, Place, Step

MOST_TURNS: Final = 10_000


def as_tensor(value: Any, name: str = "constant") -> TensorRef:
    return value if is_tensor(value) else constant_of(value, kind_of(value), name)


def _scope(frame: Frame, step: Step, name: str) -> Frame:
    """The frame of a body; without a label of its own it has the name of its turn, or of its branch."""
    return frame.inner(frame.scope if getattr(step, "label", "") or not name else f"{frame.scope}{name}.")


def _condition(composer: Composing, step: Step, frame: Frame) -> Any:
    """A bool, or a tensor."""
    (value, *_) = composer.step(step, frame.inner())
    if isinstance(value, bool):
        return value
    if is_tensor(value) and value.dtype == "bool" and all(n == 1 for n in value.shape):
        return bool(value.data.reshape(-1)[0]) if value.data is not None else value
    found = f"{value.dtype}{list(value.shape)}" if is_tensor(value) else kind_of(value)
    raise frame.text.error(f"a condition is one bool, not {found}", step.place, "SKND.C7")


# branches


def branch(composer: Composing, step: Branch, frame: Frame, target: str) -> list[Any]:
    return _branch(composer, step, 0, frame, target)


def _branch(composer: Composing, step: Branch, at: int, frame: Frame, target: str) -> list[Any]:
    if at == len(step.conditions):
        return composer.step(step.branches[-1], frame.inner(), target)
    condition = _condition(composer, step.conditions[at], frame)
    if isinstance(condition, bool):
        if condition:
            return composer.step(step.branches[at], frame.inner(), target)
        return _branch(composer, step, at + 1, frame, target)
    yes, no = Body(), Body()
    with composer.body() as yes.nodes:
        yes.results = composer.step(step.branches[at], frame.inner(), target)
    with composer.body() as no.nodes:
        no.results = _branch(composer, step, at + 1, frame, target)
    outputs = _merged(frame, step, yes, no)
    composer.nodes.append(BranchNode(step.place, frame.text, condition, yes, no, outputs))
    return list(outputs)


def _merged(frame: Frame, step: Branch, yes: Body, no: Body) -> list[TensorRef]:
    for body in (yes, no):
        if any(isinstance(v, list) or v is None for v in body.results):
            raise frame.text.error("a branch gives a pack or null", step.place, "SKND.C8")
        body.results = [as_tensor(v) for v in body.results]
    if len(yes.results) != len(no.results):
        counts = f"{len(yes.results)} and {len(no.results)}"
        raise frame.text.error(f"branches give {counts} results", step.place, "SKND.C8")
    for i, (a, b) in enumerate(zip(yes.results, no.results, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape:
            shown = f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
            raise frame.text.error(f"result {i} of the branches is {shown}", step.place, "SKND.C8")
    return [TensorRef("branch", t.dtype, t.shape) for t in yes.results]


# loops


def loop(composer: Composing, step: Loop, frame: Frame, target: str) -> list[Any]:
    evaluator = composer.evaluator(frame)
    scanned = {name: evaluator.value(e) for name, e in step.scanned}
    carried = [_initial(composer, name, spec, e, frame) for name, spec, e in step.carried]
    for name, pack in scanned.items():
        if not isinstance(pack, list):
            raise frame.text.error(f"'{name}' runs over what isn't a pack", step.place, "SKND.C9")
    lengths = {len(pack) for pack in scanned.values()}
    if len(lengths) > 1:
        raise frame.text.error(f"a loop over packs of {sorted(lengths)} items", step.place, "SKND.C9")
    count = None if step.count is None else evaluator.value(step.count)
    if step.count is not None and is_tensor(count) and count.data is not None:
        count = int(count.data.reshape(-1)[0])
    if not scanned and count is None and step.condition is None:
        raise frame.text.error("a loop without 'for', 'while' and count", step.place, "SKND.C10")
    turns = next(iter(lengths)) if scanned else count if isinstance(count, int) else None
    if isinstance(count, int) and turns is not None:
        if scanned and count > turns:
            raise frame.text.error(f"{count} turns over {turns} items", step.place, "SKND.C9")
        turns = count
    if step.unroll and (step.condition is not None or turns is None):
        raise frame.text.error("only a loop whose count is known is unrolled", step.place, "SKND.C10")
    if turns is None:
        return _while(composer, step, frame, carried, count)
    if turns > MOST_TURNS:
        raise frame.text.error(f"a loop of {turns} turns; {MOST_TURNS} at most are unrolled", step.place, "SKND.E5")
    return _unrolled(composer, step, frame, target, carried, scanned, turns, count if is_tensor(count) else None)


def _initial(composer: Composing, name: str, spec: Any, e: Expression, frame: Frame) -> tuple[str, Any]:
    value = composer.expression(e, frame)
    if spec is not None and spec.shape is not None and not is_tensor(value):
        binder = Binder(composer.evaluator(frame), lambda m, label: frame.text.error(m, spec.place, label))
        shape = tuple(binder.evaluated(spec.shape, 0))
        dtype = frame.types.get(spec.name, spec.name)
        return name, constant_of(value, dtype, name, shape)
    if not is_tensor(value) and not isinstance(value, list):
        value = as_tensor(value, name)
    return name, value


def _unrolled(
    composer: Composing,
    step: Loop,
    frame: Frame,
    target: str,
    carried: list[tuple[str, Any]],
    scanned: dict[str, list[Any]],
    turns: int,
    count: TensorRef | None,
) -> list[Any]:
    values, packs = [v for _, v in carried], list[list[Any]]()
    active: TensorRef | None = None
    for turn in range(turns):
        inner = _scope(frame, step.body, target and f"{target}.{turn}")
        inner.symbols.update({name: pack[turn] for name, pack in scanned.items()})
        inner.symbols.update({name: value for (name, _), value in zip(carried, values, strict=True)})
        if step.index:
            inner.symbols[step.index] = turn
        active = _active(composer, step, inner, active, turn, count, before=True)
        results = composer.step(step.body, inner, "")
        if len(results) < len(carried):
            message = f"the body gives {len(results)} results for {len(carried)} carried tensors"
            raise frame.text.error(message, step.place, "SKND.C11")
        fresh = [_chosen(composer, active, new, old) for new, old in zip(results, values, strict=False)]
        for i, result in enumerate(results[len(carried) :]):
            if turn == 0:
                packs.append([])
            packs[i].append(_chosen(composer, active, result, None))
        values = fresh
        if step.after:
            later = _scope(frame, step.body, "")
            later.symbols.update({name: value for (name, _), value in zip(carried, values, strict=True)})
            active = _active(composer, step, later, active, turn, None, before=False)
    return [*values, *packs]


def _active(
    composer: Composing,
    step: Loop,
    frame: Frame,
    active: TensorRef | None,
    turn: int,
    count: TensorRef | None,
    *,
    before: bool,
) -> TensorRef | None:
    """Whether a turn still counts; None: it does."""
    found = active
    if count is not None:
        found = _both(composer, found, _operator(composer, frame, "math.lt", [turn, count], step.place))
    if step.condition is not None and step.after != before:
        condition = _condition(composer, step.condition, frame)
        found = _both(composer, found, as_tensor(condition))
    return found


def _both(composer: Composing, a: TensorRef | None, b: TensorRef) -> TensorRef:
    if a is None:
        return b
    output = TensorRef("active", "bool", a.shape)
    no = constant_of(False, "bool", "never", a.shape)
    composer.nodes.append(ChooseNode(a, b, no, output))
    return output


def _operator(composer: Composing, frame: Frame, name: str, arguments: list[Any], place: Place) -> TensorRef:
    module, _, last = name.partition(".")
    operator = standard(module).operator(last)
    assert operator is not None
    found = composer.instantiate(Instantiation(operator, place, frame.text, frame.scope), {}, arguments, [], frame)
    return found[0]  # type: ignore[no-any-return]


def _chosen(composer: Composing, active: TensorRef | None, new: Any, old: Any) -> Any:
    """The new value where the turn counts, else the old one, or zeros."""
    if active is None:
        return new
    if isinstance(new, list):
        return [_chosen(composer, active, n, None if old is None else o) for n, o in zip(new, old or new, strict=True)]
    new = as_tensor(new)
    other = constant_of(0, new.dtype, "zeros", new.shape) if old is None else as_tensor(old)
    output = TensorRef("turn", new.dtype, new.shape)
    composer.nodes.append(ChooseNode(active, new, other, output))
    return output


def _while(composer: Composing, step: Loop, frame: Frame, carried: list[tuple[str, Any]], count: Any) -> list[Any]:
    """A loop of the graph. A count is one more carried tensor; a condition behind the body is asked after one turn."""
    place, text = step.place, frame.text
    values = [value for _, value in carried]
    if any(isinstance(v, list) for v in values):
        raise text.unsupported("a loop without a bound carries a pack", place)
    if step.after:
        first = _scope(frame, step.body, "")
        first.symbols.update({name: as_tensor(value) for name, value in carried})
        if step.index:
            first.symbols[step.index] = 0
        values = composer.step(step.body, first, "")[: len(carried)]
    initial = [as_tensor(v) for v in values]
    inside = [TensorRef(name, t.dtype, t.shape) for (name, _), t in zip(carried, initial, strict=True)]
    counts = is_tensor(count) or bool(step.index)
    turn = TensorRef("turn", "int", ())
    if counts:
        initial.append(constant_of(1 if step.after else 0, "int"))
        inside.append(turn)
    inner = _scope(frame, step.body, "")
    inner.symbols.update({name: t for (name, _), t in zip(carried, inside, strict=False)})
    if step.index:
        inner.symbols[step.index] = turn
    condition, body = Body(), Body()
    with composer.body() as condition.nodes:
        found = None if step.condition is None else as_tensor(_condition(composer, step.condition, inner))
        if is_tensor(count):
            limited = _operator(composer, frame, "math.lt", [turn, count], place)
            found = limited if found is None else _both(composer, found, limited)
        condition.results = [found]
    with composer.body() as body.nodes:
        results = composer.step(step.body, inner, "")
        if len(results) > len(carried):
            raise text.unsupported("a loop without a bound has scan outputs, whose number isn't known", place)
        body.results = [as_tensor(v) for v in results]
        if counts:
            body.results.append(_operator(composer, frame, "math.add", [turn, 1], place))
    for t, new in zip(inside, body.results, strict=False):
        if (t.dtype, t.shape) != (new.dtype, new.shape):
            shown = f"{t.dtype}{list(t.shape)} becomes {new.dtype}{list(new.shape)}"
            raise text.error(f"'{t.name}' changes in a turn: {shown}", place, "SKND.C11")
    if len(body.results) != len(inside):
        raise text.error(f"the body gives {len(body.results)} of {len(inside)} carried tensors", place, "SKND.C11")
    outputs = [TensorRef("loop", t.dtype, t.shape) for t in inside]
    composer.nodes.append(LoopNode(place, text, initial, inside, condition, body, outputs))
    return list(outputs[: len(carried)])
