"""Compiling: what numba and LLVM make of a function. Only imported when something is compiled, or emits code.

numba types a function and writes LLVM IR. The functions that it calls become a part of it. What Python and C would call
isn't made: the one entry takes the address of words of 64 bits (see `functions.entry`), and all else in the object file
is internal.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils as untyped
from numba.core import extending
from numba.core.registry import cpu_target

from . import variant_type
from .described import described
from .inlined import InlinedCompiler, linked
from .machine import FAILED, INTEGERS, NO_OWNER
from .variants import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

cgutils: Any = untyped
TUPLE: Any = numba.types.BaseTuple
OWN: Final = "__of_"  # begins what tells functions apart that differ in what they enclose
NO_WRAPPERS: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # no calls from Python or C
I64 = ir.IntType(64)
COUNTING: Final = {b"NRT_incref", b"NRT_decref", NO_OWNER.encode()}  # in numba's own functions: of owners, if any
ARRAY: Final = 5  # words of an array in front of its shape, see `functions.words`
OBJECT = ir.IntType(8).as_pointer()


def outlined(function: Callable[..., Any]) -> Any:
    """numba's dispatcher of a function that may stay a function in compiled code."""
    return _njit(function)


def inlined(function: Callable[..., Any]) -> Any:
    return _njit(function, forceinline=True)


def intrinsic(define: Callable[..., Any]) -> Any:
    make: Any = extending.intrinsic
    return make(define)


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    make: Any = numba.njit
    return make(error_model="numpy", pipeline_class=InlinedCompiler, **NO_WRAPPERS, **options)(_named(function))


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that encloses something, with a name of its own: numba's symbols are made of it."""
    if function.__closure__:
        function.__qualname__ = function.__qualname__.partition(OWN)[0]  # it may be compiled more than once
        function.__qualname__ += f"{OWN}{hashlib.sha256(described(function).encode()).hexdigest()[:12]}"
    return function


def type_of(made: Any) -> Any:
    """The type of a dispatcher or an intrinsic as a value of compiled code."""
    if isinstance(made, extending._Intrinsic):
        context: Any = cpu_target.typing_context
        context.refresh()
        return context.resolve_value_type(made)
    return made._numba_type_


def _type_of_argument(argument: Any) -> Any:
    types: Any = numba.types
    if isinstance(argument, Variant):
        return variant_type.type_of(argument)
    if isinstance(argument, np.ndarray):
        make: Any = numba.from_dtype
        return types.Array(make(argument.dtype), argument.ndim, "C")
    if isinstance(argument, tuple):
        return types.Tuple([_type_of_argument(part) for part in argument])
    return types.int64


def compiled(dispatcher: Any, arguments: Sequence[Any], name: str) -> bytes:
    """The object file of a function for arguments of these types, whose entry has this name."""
    kinds = tuple(_type_of_argument(argument) for argument in arguments)
    dispatcher.compile(kinds)
    result = dispatcher.overloads[kinds]
    library, context = result.library, cpu_target.target_context
    module = linked(library)
    parse: Any = llvm.parse_assembly
    module.link_in(parse(str(_entry(context, result.fndesc, name))))
    for each in module.functions:
        if not each.is_declaration and not each.name.startswith(name):
            each.linkage = "internal"
    manager, builder = library._codegen._module_pass_manager()
    manager.run(module, builder)
    found: bytes = library._codegen._tm.emit_object(module)
    needed = set(re.findall(rb"\0((?:NRT|numba)_\w+)", found)) - COUNTING  # names in it are strings of C
    if needed:
        names = ", ".join(sorted(name.decode() for name in needed))
        raise TypeError(f"{dispatcher.py_func.__name__} calls {names}, which a process without numba doesn't have")
    return found


def _entry(context: Any, description: Any, name: str) -> Any:
    """A module with the entry of a function; of a function of integers, with the one that Python calls, too."""
    module, types, calls = ir.Module(name), numba.types, context.call_conv
    kinds, returns = description.argtypes, description.restype
    sizes = [_size(kind) for kind in kinds]
    entry = ir.Function(module, ir.FunctionType(I64, [I64.as_pointer()]), name)
    builder = ir.IRBuilder(entry.append_basic_block())
    words = [builder.load(builder.gep(entry.args[0], [I64(i)])) for i in range(sum(sizes))]
    callee = ir.Function(module, calls.get_function_type(returns, kinds), description.llvm_func_name)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    arguments = [
        _argument(context, builder, kind, words[at : at + size])
        for kind, at, size in zip(kinds, starts, sizes, strict=True)
    ]
    status, value = calls.call_function(builder, callee, returns, kinds, arguments)
    value = I64(0) if returns == types.none else value
    value = value if value.type.width == 64 else builder.zext(value, I64)
    builder.ret(builder.select(status.is_error, I64(FAILED), value))
    if all(kind == types.int64 for kind in kinds):
        _of_integers(module, entry, len(kinds))
    return module


def _size(kind: Any) -> int:
    """The words of an argument."""
    if isinstance(kind, TUPLE):
        return sum(map(_size, kind))
    return ARRAY + 2 * kind.ndim if isinstance(kind, numba.types.Array) else 1


def _argument(context: Any, builder: Any, kind: Any, words: Sequence[Any]) -> Any:
    """An argument as numba's code takes it."""
    if isinstance(kind, variant_type.VariantType):
        return context.get_dummy_value()
    if kind == numba.types.int64:
        return words[0]
    if isinstance(kind, TUPLE):
        parts, at = [], 0
        for part in kind:
            parts.append(_argument(context, builder, part, words[at : at + _size(part)]))
            at += _size(part)
        return context.make_tuple(builder, kind, parts)
    array = context.make_array(kind)(context, builder)
    array.meminfo = builder.inttoptr(words[0], array.meminfo.type)
    array.parent = builder.inttoptr(words[1], array.parent.type)
    array.nitems, array.itemsize = words[2], words[3]
    array.data = builder.inttoptr(words[4], array.data.type)
    shape, strides = words[ARRAY : ARRAY + kind.ndim], words[ARRAY + kind.ndim :]
    array.shape, array.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
    return array._getvalue()


def _of_integers(module: Any, entry: Any, count: int) -> None:
    """What Python calls with integers: PyObject *(PyObject *self, PyObject **arguments, Py_ssize_t count)."""
    kind = ir.FunctionType(OBJECT, [OBJECT, OBJECT.as_pointer(), I64])
    made = ir.Function(module, kind, entry.name + INTEGERS)
    builder = ir.IRBuilder(made.append_basic_block())

    def call(name: str, returns: Any, *arguments: Any) -> Any:
        kind = ir.FunctionType(returns, [argument.type for argument in arguments])
        return builder.call(cgutils.get_or_insert_function(module, kind, name), arguments)

    words = builder.alloca(I64, count)
    for i in range(count):
        integer = call("PyLong_AsLongLong", I64, builder.load(builder.gep(made.args[1], [I64(i)])))
        builder.store(integer, builder.gep(words, [I64(i)]))
    thread = call("PyEval_SaveThread", OBJECT)
    found = builder.call(entry, [words])
    call("PyEval_RestoreThread", ir.VoidType(), thread)
    builder.ret(call("PyLong_FromLongLong", OBJECT, found))
