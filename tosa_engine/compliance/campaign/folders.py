"""Tests as folders that Arm's runner reads: `desc.json`, a graph, inputs, and for an error what is expected."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

from ... import arrays, serialize
from ...errors import GraphError
from ...types import bool_
from ..doors import Ending
from ..judge import expected
from ..suite import fits, make, schedule

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...graph import Tensor
    from ...target import Target
    from ..suite import Selection, Test
    from .settings import Settings


def write_folders(settings: Settings, count: int, folder: Path) -> tuple[int, int]:
    """Write the first tests of the schedule; how many were written, and how many can't be: unpredictable ones, for
    which the runner has no word, errors that no file can hold, and floats, whose bounds need Arm's own data.
    """
    written = 0
    names = list(islice(schedule(settings.selection), count))
    for name in names:
        test = make(name, settings.seed, settings.selection.target)
        if not fits(test, settings.selection.target):
            continue
        written += _write(test, settings.selection, folder / test.operator.lower() / name.replace("/", "_"))
    return written, len(names) - written


def _write(test: Test, selection: Selection, folder: Path) -> bool:
    wanted = expected(test.graph, test.feeds, selection.target)
    floats = any(tensor.dtype.is_float for tensor in test.graph.main.tensors.values())
    if wanted.ending is Ending.UNPREDICTABLE or floats:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    try:
        serialize.write(test.graph, folder / "test.json")
    except GraphError:
        folder.rmdir()
        return False
    for name, array in test.feeds.items():
        arrays.write(folder / f"{name}.npy", {name: array})
    description = described(test, selection.target, error=wanted.ending is Ending.ERROR)
    (folder / "desc.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    return True


def described(test: Test, target: Target, *, error: bool) -> dict[str, object]:
    """The description in the form of Arm's schema; the runner compares outputs with those of the reference model."""
    main = test.graph.main
    attributes = main.operators[-1].attributes
    inexact = attributes.get("rounding_mode") == "INEXACT_ROUND"
    found: dict[str, object] = {
        "tosa_file": "test.json", "ifm_name": main.inputs, "ifm_file": [f"{name}.npy" for name in main.inputs],
        "ofm_name": main.outputs, "ofm_file": [f"{name}.npy" for name in main.outputs], "expected_failure": error,
        "version": "1.2",
        "test_requirements": {
            "profiles_supported": [f"tosa-{name.lower()}" for name in sorted(target.profiles)],
            "bounds_file_required": inexact and not error,
        },
    }  # fmt: skip
    if not error:
        tensors = {name: _compared(main.tensors[name], attributes) for name in main.outputs}
        found["meta"] = {"compliance": {"version": "1.2", "tensors": tensors}}
    return found


def _compared(tensor: Tensor, attributes: Mapping[str, object]) -> dict[str, object]:
    """How the runner compares an output."""
    name = "BOOL" if tensor.dtype is bool_ else f"INT{tensor.dtype.bits}"
    found: dict[str, object] = {"mode": "EXACT", "data_type": name, "shape": list(tensor.shape or ())}
    if attributes.get("rounding_mode") == "INEXACT_ROUND":
        found["mode"] = "RESCALE_INEXACT"
        found["rescale_inexact_info"] = {"unsigned_data": attributes["output_unsigned"]}
    return found
