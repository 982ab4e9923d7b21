"""Compiles functions that become a part of their callers, or of an entry (`compile`). Only imported to compile.

numba makes machine code of every function, and code around it for calls from Python and from C. What LLVM has put into
its callers needs neither. (It is optimised on its own before: left to its callers alone, networks ran 1 - 2 % slower.)
"""

from __future__ import annotations

import ctypes
from typing import Any

from numba.core import codegen, compiler, compiler_machinery, typed_passes

_Library: Any = codegen.JITCodeLibrary
_Compiler: Any = compiler.Compiler
_Pass: Any = compiler_machinery.FunctionPass
_register: Any = compiler_machinery.register_pass


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


@_register(mutates_CFG=False, analysis_only=True)
class _NothingIsCounted(_Pass):  # type: ignore[misc]
    """From here on numba counts no references: arrays belong to callers, and compiled code makes none."""

    _name = "nothing_is_counted"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


class InlinedCompiler(_Compiler):  # type: ignore[misc]
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.library = _Inlined(self.state.targetctx.codegen(), "inlined")

    def define_pipelines(self) -> list[Any]:
        (passes,) = super().define_pipelines()
        passes.add_pass_after(_NothingIsCounted, typed_passes.NopythonTypeInference)
        passes.finalize()
        return [passes]


def linked(library: Any) -> Any:
    """The module of a function that was compiled so, with all that it calls. What isn't a part of another function yet
    isn't optimised.
    """
    module = library._final_module.clone()
    if not library._finalized:
        for each in dict.fromkeys(library._linking_libraries):
            module.link_in(each._get_module_for_linking(), preserve=True)
    return module
