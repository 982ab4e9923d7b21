"""Formulas as code: numbers that emit what is done to them, and a formula's loop. Only imported when the JIT is on."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .._jit import has, intrinsic, ir, numba_types
from .._jit import llvm as e

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Type, Typing
    from .._jit.typed import Value as Emitted
    from .formula import Formula

FLOATS: Final[dict[int, Type]] = {2: ir.HalfType(), 4: ir.FloatType(), 8: ir.DoubleType()}
BIT: Final[Type] = ir.IntType(1)
LONG: Final = 40  # instructions for an element, most of which wait for another one


def ir_type(kind: np.dtype[Any]) -> Type:
    if kind.kind == "f":
        return FLOATS[kind.itemsize]
    whole: Type = ir.IntType(8 * kind.itemsize)
    return BIT if kind.kind == "b" else whole


def _binary(of_floats: str, of_signed: str, of_unsigned: str) -> Callable[[Value, object], Value]:
    names = {"f": of_floats, "i": of_signed, "u": of_unsigned, "b": of_signed}

    def emit(first: Value, second: object) -> Value:
        value = getattr(first.builder, names[first.dtype.kind])(first.value, first.same(second))
        return Value(first.builder, value, first.dtype)

    return emit


def _comparison(sign: str) -> Callable[[Value, object], Value]:
    def emit(first: Value, second: object) -> Value:
        builder, other = first.builder, first.same(second)
        if first.dtype.kind == "f":
            compare = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered
        else:
            compare = builder.icmp_unsigned if first.dtype.kind == "u" else builder.icmp_signed
        return Value(builder, compare(sign, first.value, other), np.dtype(np.bool_))

    return emit


class Value:
    """A number in emitted code, with the operators and the kinds of numpy (see `formula`)."""

    __slots__ = ("builder", "dtype", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: Builder, value: Emitted, kind: np.dtype[Any]) -> None:
        self.builder, self.value, self.dtype = builder, value, kind

    __add__, __sub__ = _binary("fadd", "add", "add"), _binary("fsub", "sub", "sub")
    __mul__, __truediv__ = _binary("fmul", "mul", "mul"), _binary("fdiv", "", "")
    __and__, __or__, __xor__ = _binary("", "and_", "and_"), _binary("", "or_", "or_"), _binary("", "xor", "xor")
    __lshift__, __rshift__ = _binary("", "shl", "shl"), _binary("", "ashr", "lshr")
    __lt__, __le__, __gt__, __ge__ = (_comparison(sign) for sign in ("<", "<=", ">", ">="))
    __eq__, __ne__ = _comparison("=="), _comparison("!=")  # type: ignore[assignment]
    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: object) -> Value:
        found: Value = Value(self.builder, self.same(other), self.dtype) - self
        return found

    def __rtruediv__(self, other: object) -> Value:
        found: Value = Value(self.builder, self.same(other), self.dtype) / self
        return found

    def __neg__(self) -> Value:
        emit = self.builder.fneg if self.dtype.kind == "f" else self.builder.neg
        return Value(self.builder, emit(self.value), self.dtype)

    def __invert__(self) -> Value:
        return Value(self.builder, self.builder.not_(self.value), self.dtype)

    def same(self, other: object) -> Emitted:
        """The IR value of another number of the same kind, or of a Python number."""
        if isinstance(other, Value):
            assert other.dtype == self.dtype, f"{self.dtype} and {other.dtype} in one operation"
            return other.value
        assert isinstance(other, (int, float)), f"{other!r} in a formula of {self.dtype}"
        made: Emitted = ir.Constant(ir_type(self.dtype), float(other) if self.dtype.kind == "f" else int(other))
        return made

    def constant(self, number: float) -> Value:
        return Value(self.builder, self.same(number), self.dtype)

    def choose(self, first: object, second: object) -> Value:
        known = first if isinstance(first, Value) else second
        assert isinstance(known, Value)
        value = self.builder.select(self.value, known.same(first), known.same(second))
        return Value(self.builder, value, known.dtype)

    def cast(self, kind: np.dtype[Any]) -> Value:
        target, wider = ir_type(kind), kind.itemsize > self.dtype.itemsize
        if kind == self.dtype:
            return self
        if self.dtype.kind == "f":
            if kind.kind == "f":
                name = "fpext" if wider else "fptrunc"
            else:
                name = "fptoui" if kind.kind == "u" else "fptosi"
        elif kind.kind == "f":
            name = "sitofp" if self.dtype.kind == "i" else "uitofp"
        elif self.dtype.kind == "b":
            name = "zext"
        elif wider:
            name = "sext" if self.dtype.kind == "i" else "zext"
        else:
            name = "trunc" if kind.itemsize < self.dtype.itemsize else "bitcast"
        return Value(self.builder, getattr(self.builder, name)(self.value, target), kind)

    def view(self, kind: np.dtype[Any]) -> Value:
        assert kind.itemsize == self.dtype.itemsize, f"{self.dtype} has not the size of {kind}"
        return Value(self.builder, self.builder.bitcast(self.value, ir_type(kind)), kind)

    def call(self, name: str, *others: Value | bool) -> Value:
        """An intrinsic of LLVM, with other numbers of this kind, or flags."""
        own = ir_type(self.dtype)
        rest = [ir.Constant(BIT, int(x)) if isinstance(x, bool) else self.same(x) for x in others]
        suffix = f"i{8 * self.dtype.itemsize}" if self.dtype.kind != "f" else f"f{8 * self.dtype.itemsize}"
        kind = ir.FunctionType(own, [own, *(x.type for x in rest)])
        function = e.declare(self.builder, kind, f"llvm.{name}.{suffix}")
        return Value(self.builder, self.builder.call(function, [self.value, *rest]), self.dtype)


Place = tuple["Emitted", "Emitted", "np.dtype[Any]"]  # data, the index of the first element, kind


class Line:
    """Emits the loop over a line: `inputs` are (data, index of the first element, step of 0 or 1, kind)."""

    def __init__(self, formula: Formula, builder: Builder, parameters: list[Value], out: Place) -> None:
        self.formula, self.builder, self.parameters = formula, builder, parameters
        self.data, self.at, self.kind = out
        module = builder.module
        scope = module.add_metadata(["out", module.add_metadata(["elementwise"])])
        self.alone = module.add_metadata([scope])  # no input lies where the output does, or each element on its own

    def load(self, data: Emitted, index: Emitted, kind: np.dtype[Any]) -> Value:
        found = self.builder.load(self.builder.gep(data, [index], inbounds=True))
        found.set_metadata("noalias", self.alone)
        return Value(self.builder, found, kind)

    def element(self, numbers: list[Value], i: Emitted) -> Emitted | None:
        """Compute and store element i; whether it violates a REQUIRE, or None where nothing is tested."""
        computed: object = self.formula.compute(*numbers, *self.parameters)
        found, bad = computed if isinstance(computed, tuple) else (computed, None)
        assert isinstance(found, Value)
        assert bad is None or isinstance(bad, Value)
        if found.dtype.kind == "b":
            found = found.cast(np.dtype(np.uint8))
        assert found.dtype == self.kind, f"{self.formula.name} computes {found.dtype}, which is stored as {self.kind}"
        target = self.builder.gep(self.data, [self.builder.add(self.at, i)], inbounds=True)
        self.builder.store(found.value, target).set_metadata("alias.scope", self.alone)
        return None if bad is None else bad.value

    def emit(self, inputs: list[Place], steps: tuple[int, ...], count: Emitted) -> Emitted:
        """The loop for inputs with these steps; whether an element violates a REQUIRE."""
        builder = self.builder
        once = [None if step else self.load(*x) for x, step in zip(inputs, steps, strict=True)]
        before, head, done = builder.block, builder.append_basic_block("line"), builder.append_basic_block("done")
        builder.branch(head)
        builder.position_at_end(head)
        i, bad = builder.phi(e.I64), builder.phi(BIT)
        numbers = [
            self.load(data, builder.add(at, i), kind) if known is None else known
            for (data, at, kind), known in zip(inputs, once, strict=True)
        ]
        found = self.element(numbers, i)
        found = bad if found is None else builder.or_(bad, found)
        following = builder.add(i, e.I64(1), flags=["nuw", "nsw"])
        i.add_incoming(e.I64(0), before)
        i.add_incoming(following, builder.block)
        bad.add_incoming(BIT(0), before)
        bad.add_incoming(found, builder.block)
        again = builder.cbranch(builder.icmp_signed("<", following, count), head, done)
        if len(builder.block.instructions) > LONG and self.kind.itemsize == 4 and has("avx2"):
            e.interleave(builder, again, 4 if has("avx512f") else 2)
        builder.position_at_end(done)
        return found


def line_of(formula: Formula) -> Compiled:
    """The compiled loop of a formula over a line of at least one element; see `loops.plain_line`."""

    @intrinsic
    def line(
        typingctx: Context, a: Kind, ia: Kind, sa: Kind, b: Kind, ib: Kind, sb: Kind, c: Kind, ic: Kind, sc: Kind,
        p: Kind, out: Kind, at: Kind, count: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.boolean(a, index, index, b, index, index, c, index, index, p, out, index, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Emitted]) -> Emitted:
            def array(i: int) -> tuple[Emitted, np.dtype[Any]]:
                kind = np.dtype(str(signature.args[i].dtype))
                return e.pointer(context, builder, signature.args[i], args[i], ir_type(kind)), kind

            (data, kind), (p_data, p_kind) = array(10), array(9)
            parameters = [
                Value(builder, builder.load(builder.gep(p_data, [e.I64(i)])), p_kind) for i in range(formula.parameters)
            ]
            loop = Line(formula, builder, parameters, (data, args[11], kind))
            inputs = [(array(3 * i)[0], args[3 * i + 1], array(3 * i)[1]) for i in range(formula.inputs)]
            return _emit_cases(loop, inputs, [args[3 * i + 2] for i in range(formula.inputs)], args[12])

        return sig, codegen

    return line


def _emit_cases(loop: Line, inputs: list[Place], steps: list[Emitted], count: Emitted) -> Emitted:
    """A loop for each set of steps: not all are 0."""
    builder = loop.builder
    number = e.I64(0)
    for i, step in enumerate(steps):
        number = builder.add(number, builder.shl(step, e.I64(i)))
    end, unknown = builder.append_basic_block("end"), builder.append_basic_block("unknown")
    switch, found = builder.switch(number, unknown), []
    for case in product((1, 0), repeat=len(steps)):
        if any(case):
            block = builder.append_basic_block("case")
            switch.add_case(e.I64(sum(step << i for i, step in enumerate(case))), block)
            builder.position_at_end(block)
            found.append((loop.emit(inputs, case, count), builder.block))
            builder.branch(end)
    builder.position_at_end(unknown)
    builder.unreachable()
    builder.position_at_end(end)
    bad = builder.phi(BIT)
    for value, block in found:
        bad.add_incoming(value, block)
    return bad


def chain_line_of(formula: Formula, steps: tuple[int, ...], alone: bool) -> Compiled:
    """The compiled line of a chain (see `chain_loops`) for inputs with these steps; `alone`: of one element."""

    @intrinsic
    def line(
        typingctx: Context, a: Kind, ia: Kind, b: Kind, ib: Kind, c: Kind, ic: Kind, d: Kind, e_: Kind, f: Kind,
        h: Kind, i: Kind, j: Kind, p: Kind, out: Kind, at: Kind, count: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.void(a, index, b, index, c, index, d, e_, f, h, i, j, p, out, index, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Emitted]) -> Emitted:
            def array(number: int) -> tuple[Emitted, np.dtype[Any]]:
                kind = np.dtype(str(signature.args[number].dtype))
                return e.pointer(context, builder, signature.args[number], args[number], ir_type(kind)), kind

            (data, kind), (p_data, p_kind) = array(13), array(12)
            parameters = [
                Value(builder, builder.load(builder.gep(p_data, [e.I64(n)])), p_kind) for n in range(formula.parameters)
            ]
            made = Line(formula, builder, parameters, (data, args[14], kind))
            places: list[Place] = []
            for number in range(len(steps)):
                source, its = array(2 * number)
                places.append((source, args[2 * number + 1], its))
            for number in range(6, 6 + formula.inputs - len(steps)):
                source, its = array(number)
                places.append((source, e.I64(0), its))
            if alone:
                made.element([made.load(*place) for place in places], e.I64(0))
            else:
                made.emit(places, steps + (0,) * (len(places) - len(steps)), args[15])
            return context.get_dummy_value()

        return sig, codegen

    return line
