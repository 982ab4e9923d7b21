"""Machine code in this process: linked by LLVM, called by its address."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

import llvmlite.binding as llvm

if TYPE_CHECKING:
    from collections.abc import Callable

INTEGERS: Final = "_of_integers"  # ends the name of the function that Python calls
FASTCALL: Final = 0x80  # METH_FASTCALL
NO_OWNER: Final = "NRT_MemInfo_call_dtor"  # is called when nobody refers to the owner of an array: there are no owners
FAILED: Final = -(1 << 62)  # what an entry returns where compiled code raised an error
PYTHON: Final = (
    "PyEval_RestoreThread", "PyEval_SaveThread", "PyLong_AsLongLong", "PyLong_FromLongLong",
)  # fmt: skip


class _Method(ctypes.Structure):
    """PyMethodDef"""

    _fields_ = (
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("text", ctypes.c_char_p),
    )  # fmt: skip


@dataclass(frozen=True)
class Code:
    """Code of a function for some kinds of arguments."""

    name: str
    address: int

    @cached_property
    def _as_c(self) -> Callable[..., int]:
        return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.address)

    def __call__(self, *words: int) -> int:
        memory = (ctypes.c_int64 * len(words))(*words)
        found = self._as_c(ctypes.byref(memory))
        if found == FAILED:
            raise ValueError(f"the compiled function {self.name} raised an error")
        return found

    @cached_property
    def of_integers(self) -> Callable[..., Any]:
        """A function of Python's own kind. Only functions of integers have it."""
        address = _engine().get_function_address(f"{self.name}{INTEGERS}")
        method = _Method(self.name.encode(), address, FASTCALL, None)
        _METHODS.append(method)  # Python keeps its address
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.c_void_p)
        make_function = make(("PyCFunction_NewEx", ctypes.pythonapi))
        made: Callable[..., Any] = make_function(ctypes.byref(method), None, None)
        return made


_METHODS: Final[list[_Method]] = []


@lru_cache(maxsize=1)
def _engine() -> Any:
    for name in PYTHON:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvm.add_symbol(name, address)
    llvm.add_symbol(NO_OWNER, ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    empty = llvm.parse_assembly("")
    return llvm.create_mcjit_compiler(empty, llvm.Target.from_default_triple().create_target_machine())


def load(code: bytes, name: str) -> Code:
    """Link an object file in which `name` is defined."""
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address(name)
    assert address, f"{name} isn't in its code"
    return Code(name, address)
