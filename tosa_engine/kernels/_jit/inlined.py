"""Compiles functions that only ever become a part of their callers. Only imported when the JIT is on.

numba makes machine code of every function, and code around it for calls from Python and from C. What LLVM has put into
its callers needs neither. (It is optimised on its own before: left to its callers alone, networks ran 1 - 2 % slower.)
"""

from __future__ import annotations

import ctypes
from typing import Any

from numba.core import codegen, compiler

_Library: Any = codegen.JITCodeLibrary
_Compiler: Any = compiler.Compiler


class _Inlined(_Library):  # type: ignore[misc]
    """Code for linking alone."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Of what Python would call, and must not: it raises a TypeError."""
        refuse = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value
        assert refuse
        return refuse

    @property
    def codegen(self) -> Any:
        """numba asks it to `set_env`."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """What a call from Python would need."""


class InlinedCompiler(_Compiler):  # type: ignore[misc]
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.library = _Inlined(self.state.targetctx.codegen(), "inlined")
