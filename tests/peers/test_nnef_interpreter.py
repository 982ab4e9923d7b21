"""The PyTorch interpreter of PyPI `nnef_tools` beside ours, in a subprocess: every operation that it has computes what
ours computes, or docs/errata.md says why not. TORCH_PYTHON names an interpreter that has it, where this one hasn't.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nnef_examples import EXAMPLES, Example
from nnef_variants import VARIANTS

from tosa_engine import oracle
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.language.library import standard_library

HERE = Path(__file__).parent
TOLERANCE = 1e-4
ABSENT = {
    "avg_roi_align", "avg_roi_pool", "max_roi_align", "max_roi_pool", "roi_resample", "sample",
    "external", "constant", "variable",  # not operators there
}  # fmt: skip
# what its operators compute that isn't in the standard: docs/errata.md, "The interpreter of nnef_tools"
DIFFERENT = {
    "argmax_pool": r"", "max_pool_with_index": r"", "desample": r"",
    "gelu": r"", "selu": r"alpha = 1\.0", "softmax": r"axes = \[1, 2\]",
    "round": r"floor\(x\), 0\.5", "zero_point_linear_quantize": r"floor\(x\), 0\.5", "cast": r"<integer>",
    "multilinear_upsample": r"'asymmetric', border = 'replicate'|\[3\] \* n.*metric', border = 'constant'",
}  # fmt: skip
# what it has, but not for these attributes
INCOMPLETE = {
    "pad": r"'reflect-even'|\(1, 0\), \(0, 2\)", "cast": r"<logical>", "prelu": r"x, a", "linear_quantize": r"",
    "multilinear_upsample": r"'symmetric', border = 'replicate'|'aligned'",  # with three axes
}  # fmt: skip


def python() -> str:
    if "TORCH_PYTHON" in os.environ:
        return os.environ["TORCH_PYTHON"]
    if importlib.util.find_spec("nnef_tools") is None or importlib.util.find_spec("torch") is None:
        pytest.skip("needs nnef_tools and torch, the extra `interpreter`, or TORCH_PYTHON")
    return sys.executable


def cases() -> dict[str, tuple[str, Example, int]]:
    """By the name of their folder: the operation, an example of it, the number of spatial axes."""
    pairs = [(name, e) for name, found in EXAMPLES.items() for e in (found if isinstance(found, tuple) else (found,))]
    every = [*pairs, *VARIANTS]
    return {f"{i}_{n}": (name, example, n) for i, (name, example) in enumerate(every) for n in example.axes}


def agrees(case: Path, example: Example, n: int) -> bool:
    theirs = np.load(case / "outputs.npz")
    ours = oracle.run(nnef.load(case / "m.nnef"), example.samples(n, 0))
    return set(theirs) == set(ours) and all(
        theirs[name].shape == ours[name].shape
        and np.allclose(theirs[name].astype(np.float64), ours[name], rtol=TOLERANCE, atol=TOLERANCE)
        for name in theirs
    )


@pytest.mark.interpreter
def test_every_operation_that_it_has(tmp_path: Path, report) -> None:
    command = [python(), str(HERE / "nnef_interpreter.py"), str(tmp_path)]
    for name, (_, example, n) in cases().items():
        document = nnef.load_document(example.write(tmp_path / "sources" / name, n))
        (tmp_path / name).mkdir()
        nnef.save(document, tmp_path / name / "m.nnef")
        np.savez(tmp_path / name / "inputs.npz", **example.samples(n, 0))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert set(standard_library()) - set(json.loads(done.stdout)) == ABSENT

    equal, different, refused = set(), {}, {}
    for name, (operation, example, n) in cases().items():
        problem = tmp_path / name / "problem.txt"
        if operation in ABSENT:
            continue
        if problem.exists():
            refused[operation, example.body, n] = problem.read_text()
        elif agrees(tmp_path / name, example, n):
            equal.add((operation, example.body, n))
        else:
            different[operation, example.body, n] = operation
    unexplained = [key for key in different if not re.search(DIFFERENT.get(key[0], r"(?!)"), key[1])]
    unexplained += [key for key in refused if not re.search(INCOMPLETE.get(key[0], r"(?!)"), key[1])]
    assert unexplained == []
    stale = [key for key in equal if re.search(DIFFERENT.get(key[0], r"(?!)"), key[1])]
    assert stale == []
    assert {key[0] for key in different} == set(DIFFERENT)
    assert {key[0] for key in refused} == set(INCOMPLETE)
    compared = len({key[0] for key in equal})
    report(f"nnef_tools: {compared} operations in {len(equal)} cases are equal, {len(different)} cases differ as "
           f"docs/errata.md says, {len(refused)} it can't run")  # fmt: skip
