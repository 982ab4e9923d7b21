"""Small words of LLVM IR that the emitted kernels share. Only imported when the JIT is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from llvmlite import binding, ir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .typed import Branch, Builder, Context, Kind, Phi, Type, Value

    Body = Callable[[Value, list[Value]], list[Value]]  # of a loop: from its number and the values carried on

LLVM: Final[int] = binding.llvm_version_info[0]
I8: Type
I16: Type
I32: Type
I64: Type
I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
FLOAT: Type = ir.FloatType()


def vector(element: Type, lanes: int) -> Type:
    made: Type = ir.VectorType(element, lanes)
    return made


def pointer(context: Context, builder: Builder, kind: Kind, value: Value, pointee: Type) -> Value:
    """The data of an array as a pointer to `pointee`."""
    data = context.make_array(kind)(context, builder, value).data
    return builder.bitcast(data, pointee.as_pointer())


def constant(lanes: int, element: Type, value: int) -> Value:
    made: Value = ir.Constant(ir.VectorType(element, lanes), [value] * lanes)
    return made


def indices(picked: Iterable[int]) -> Value:
    """The mask of a shuffle."""
    numbers = list(picked)
    made: Value = ir.Constant(ir.VectorType(I32, len(numbers)), numbers)
    return made


def load(builder: Builder, data: Value, index: Value, kind: Type, align: int) -> Value:
    """A value of type `kind` from the element `index` of `data` on."""
    found = builder.load(builder.bitcast(builder.gep(data, [index]), kind.as_pointer()))
    found.align = align
    return found


def store(builder: Builder, value: Value, data: Value, index: Value, align: int) -> None:
    target = builder.bitcast(builder.gep(data, [index]), value.type.as_pointer())
    builder.store(value, target).align = align


def spread(builder: Builder, scalar: Value, lanes: int) -> Value:
    """A vector whose lanes are all `scalar`."""
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    return builder.shuffle_vector(
        builder.insert_element(undefined, scalar, ir.Constant(I32, 0)), undefined, indices([0] * lanes)
    )


def first_lanes(builder: Builder, count: Value, lanes: int) -> Value:
    """The mask of the lanes before `count`, which may be more than there are."""
    numbers = ir.Constant(ir.VectorType(I32, lanes), list(range(lanes)))
    return builder.icmp_signed("<", numbers, spread(builder, builder.trunc(count, I32), lanes))


def declare(builder: Builder, kind: Type, name: str) -> Value:
    """The function `name` of the module, an LLVM intrinsic as a rule."""
    found = builder.module.globals.get(name)
    return found if found is not None else ir.Function(builder.module, kind, name)


def loop(
    builder: Builder, start: Value, end: Value, step: int, carried: Sequence[Value],
    body: Body,
) -> tuple[Value, list[Value]]:  # fmt: skip
    """while i + step <= end: carried = body(i, carried); i += step. The last i and the values carried on."""
    entry = builder.block
    head, inside, done = (builder.append_basic_block(name) for name in ("head", "inside", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    i: Phi = builder.phi(I64)
    values: list[Phi] = [builder.phi(v.type) for v in carried]
    following = builder.add(i, I64(step))
    builder.cbranch(builder.icmp_signed("<=", following, end), inside, done)
    builder.position_at_end(inside)
    new = body(i, list(values))
    for phi, first, again in zip([i, *values], [start, *carried], [following, *new], strict=True):
        phi.add_incoming(first, entry)
        phi.add_incoming(again, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    return i, list(values)


def repeat(builder: Builder, count: Value, first: Sequence[Value], body: Callable[..., list[Value]]) -> list[Value]:
    """values = body(*values), `count` times, at least once; the values that the last turn returns."""
    entry, loop, done = builder.block, builder.append_basic_block("turn"), builder.append_basic_block("turned")
    builder.branch(loop)
    builder.position_at_end(loop)
    phis = [builder.phi(kind) for kind in (I64, *(value.type for value in first))]
    new = body(*phis[1:])
    following = builder.add(phis[0], I64(1))
    end = builder.block
    builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
    for phi, start, again in zip(phis, [I64(0), *first], [following, *new], strict=True):
        phi.add_incoming(start, entry)
        phi.add_incoming(again, end)
    builder.position_at_end(done)
    return new


def interleave(builder: Builder, branch: Branch, count: int) -> None:
    """Have LLVM compute `count` vectors side by side in the loop that a branch closes."""
    module = builder.module
    hint = module.add_metadata(["llvm.loop.interleave.count", ir.Constant(I32, count)])
    loop = ir.MDValue(module, [hint], name=str(len(module.metadata)))
    loop.operands = (loop, hint)  # a loop's own description names itself first
    branch.set_metadata("llvm.loop", loop)


def opaque(builder: Builder, value: Value) -> Value:
    """The vector itself, hidden from the optimiser (which turns some vectors of constants to and fro without end)."""
    return builder.call(ir.InlineAsm(ir.FunctionType(value.type, [value.type]), "", "=v,0"), [value])


def opaque_in_loop(builder: Builder, value: Value) -> Value:
    """The vector itself, for which the optimiser can't compute anything ahead of a loop."""
    return builder.call(ir.InlineAsm(ir.FunctionType(value.type, [value.type]), "", "=v,0", side_effect=True), [value])


def clip(builder: Builder, value: Value, low: Value, high: Value) -> Value:
    value = builder.select(builder.icmp_signed("<", value, low), low, value)
    return builder.select(builder.icmp_signed(">", value, high), high, value)


def multiply_pairs(
    builder: Builder, total: Value, first: Value, second: Value, *, vnni: bool, x86: bool = True
) -> Value:
    """total + the sums of neighbouring products of two vectors of int16, which wrap like int32."""
    lanes = total.type.count
    pairs = ir.VectorType(I16, 2 * lanes)
    first, second = builder.bitcast(first, pairs), builder.bitcast(second, pairs)
    if not x86:
        wide = ir.VectorType(I32, 2 * lanes)
        products = builder.mul(builder.sext(first, wide), builder.sext(second, wide))
        even, odd = (builder.shuffle_vector(products, products, indices(range(i, 2 * lanes, 2))) for i in (0, 1))
        return builder.add(total, builder.add(even, odd))
    bits = 32 * lanes
    if vnni:
        kind = pairs if LLVM >= 22 else total.type
        name = f"llvm.x86.avx512.vpdpwssd.{bits}"
        function = declare(builder, ir.FunctionType(total.type, [total.type, kind, kind]), name)
        return builder.call(function, [total, builder.bitcast(first, kind), builder.bitcast(second, kind)])
    name = "llvm.x86.avx512.pmaddw.d.512" if bits == 512 else "llvm.x86.avx2.pmadd.wd"
    function = declare(builder, ir.FunctionType(total.type, [pairs, pairs]), name)
    return builder.add(total, builder.call(function, [first, second]))


def multiply_signed_quads(builder: Builder, total: Value, first: Value, second: Value) -> Value:
    """total + the sums of four neighbouring products of signed bytes, which wrap like int32."""
    kind = ir.VectorType(I8, 4 * total.type.count)
    function = declare(
        builder, ir.FunctionType(total.type, [total.type, kind, kind]), "llvm.aarch64.neon.sdot.v4i32.v16i8"
    )
    return builder.call(function, [total, builder.bitcast(first, kind), builder.bitcast(second, kind)])


def multiply_quads(builder: Builder, total: Value, unsigned: Value, signed: Value) -> Value:
    """total + the sums of four neighbouring products of unsigned with signed bytes, which wrap like int32."""
    lanes = total.type.count
    quads = ir.VectorType(I8, 4 * lanes)
    kind = quads if LLVM >= 22 else total.type
    function = declare(
        builder, ir.FunctionType(total.type, [total.type, kind, kind]), f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    )
    return builder.call(function, [total, builder.bitcast(unsigned, kind), builder.bitcast(signed, kind)])
