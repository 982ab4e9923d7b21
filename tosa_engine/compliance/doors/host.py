"""The process in which a Python function or a module of Arm's runner is run: the other end of a `Pipe`.

    python -m tosa_engine.compliance.doors.host MODULE:FUNCTION npy

The function gets the path of the graph and the inputs by name, and returns the outputs by name. A `TosaEngineError`
that it raises is its verdict; `NotImplementedError` says that it lacks an operator.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ... import arrays, serialize, types
from ...errors import TosaEngineError, Unsupported, UsageError, verdict_of
from .answer import Ending

if TYPE_CHECKING:
    from collections.abc import Callable

    Answering = Callable[[dict[str, Any]], tuple[str, str]]

# What the reference model of Arm's package needs to be known of; a runner may look at it.
ARM: Final = {"binary": False, "verbose": False, "no_color": True, "tosa_level": "EIGHTK", "test_type": "both"}


def of_function(name: str, files: str) -> Answering:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())
    function = getattr(importlib.import_module(module), attribute)

    def answer(line: dict[str, Any]) -> tuple[str, str]:
        graph = serialize.read(line["graph"])
        formats = {t.name: t for t in (*graph.inputs, *graph.outputs)}
        feeds = {}
        for tensor, path in line["inputs"].items():
            form = formats[tensor]
            if files == "npy":
                feeds[tensor] = types.of_bits(arrays.read(path), form.dtype)
            else:
                feeds[tensor] = np.frombuffer(Path(path).read_bytes(), form.dtype.storage).reshape(form.shape or ())
        try:
            outputs = function(line["graph"], feeds)
        except (Unsupported, NotImplementedError) as problem:
            return Ending.UNSUPPORTED.value, str(problem)
        except TosaEngineError as problem:
            verdict = verdict_of(problem)
            return verdict.value if verdict is not None else Ending.CRASH.value, str(problem)
        for tensor, path in line["outputs"].items():
            if tensor in outputs and files == "npy":
                arrays.write(path, {tensor: np.asarray(outputs[tensor])})
            elif tensor in outputs:
                Path(path).write_bytes(np.ascontiguousarray(outputs[tensor]).tobytes())
        return Ending.VALID.value, ""

    return answer


def of_arm(name: str) -> Answering:
    """A module with a class `TosaSUTRunner`, as `tosa_verif_run_tests --sut-module` takes them."""
    module, *arguments = name.removeprefix("arm:").split()
    runner = importlib.import_module(module).TosaSUTRunner
    result = importlib.import_module("runner.tosa_test_runner").TosaTestRunner.TosaGraphResult
    words = {
        result.TOSA_VALID: Ending.VALID.value,
        result.TOSA_ERROR: Ending.ERROR.value,
        result.TOSA_UNPREDICTABLE: Ending.UNPREDICTABLE.value,
    }
    files = importlib.import_module("conformance.model_files")
    kinds, found = files.TosaFileType, files.find_tosa_file
    paths = {
        "ref_model_path": found(kinds.REF_MODEL, None, False), "schema_path": found(kinds.SCHEMA, None, False),
        "verify_path": None, "generate_lib_path": None, "flatc_path": None, "ref_debug": None,
        "ref_intermediates": 0, "precise_mode": False,
    }  # fmt: skip
    options = argparse.Namespace(**ARM, **paths)

    def answer(line: dict[str, Any]) -> tuple[str, str]:
        verdict, message = runner(options, arguments, Path(line["desc"]).parent).runTestGraph()
        return words.get(verdict, Ending.CRASH.value), str(message or "")

    return answer


def main(words: list[str]) -> None:
    """Answer one line after the other; what the engine prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    engine, files = words
    answer = of_arm(engine) if engine.startswith("arm:") else of_function(engine, files)
    for line in sys.stdin:
        try:
            verdict, message = answer(json.loads(line))
        except MemoryError:
            verdict, message = Ending.MEMORY.value, "MemoryError"
        except UsageError:
            raise
        except Exception as problem:  # noqa: BLE001  # whatever the engine under test raises
            verdict, message = Ending.CRASH.value, f"{type(problem).__name__}: {problem}"
        answers.write(json.dumps({"verdict": verdict, "message": message}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
