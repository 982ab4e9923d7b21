"""Hostile StableHLO and HLO for FUZZ_MINUTES, in four forms: only typed errors of one line, at most 70 s each.

    FUZZ_MINUTES=10 python -m pytest -q tests/fuzz/fuzz_stablehlo.py

The ten networks of tests/data/stablehlo, mutated. A failure prints the seed; FUZZ_SEED starts there. The suite tries
300 inputs (tests/frontends/stablehlo/test_hostile.py).
"""

from __future__ import annotations

import os
import random
import resource
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stablehlo_modules import DATA, mutated, needs_jaxlib, read

from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends.stablehlo.child import Reader

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = needs_jaxlib
MINUTES = float(os.environ.get("FUZZ_MINUTES", "0.1"))
FIRST = int(os.environ.get("FUZZ_SEED", "0"))
SECONDS, MEMORY = 70.0, 2 << 20  # per input; in KiB
FORMS = ("text", "bytecode", "HLO text", "HLO proto")


def originals(form: str) -> dict[str, bytes]:
    """The networks in a form: file names and bytes."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    if form == "bytecode":
        return {path.name: path.read_bytes() for path in sorted(DATA.glob("*.mlirbc"))}
    if form == "text":
        reader = Reader()
        modules = {path.stem: reader._module(path.read_bytes(), "mlir") for path in sorted(DATA.glob("*.mlirbc"))}
        return {f"{name}.mlir": str(module.operation).encode() for name, module in modules.items()}
    texts = {path.name: path.read_text() for path in sorted(DATA.glob("*.hlo"))}
    if form == "HLO text":
        return {name: text.encode() for name, text in texts.items()}
    protos = {name: _hlo.hlo_module_from_text(text) for name, text in texts.items()}
    return {f"{Path(name).stem}.pb": one.as_serialized_hlo_module_proto() for name, one in protos.items()}


def fuzz(form: str, seconds: float, folder: Path, first: int = FIRST) -> tuple[int, Counter[str], float]:
    """How many inputs were tried, what came of them, and the longest time of one."""
    files = sorted(originals(form).items())
    seed, found, longest = first, Counter[str](), 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rng = random.Random(f"{form} {seed}")
        name, data = rng.choice(files)
        path, start = folder / f"model{Path(name).suffix}", time.monotonic()
        path.write_bytes(mutated(data, rng))
        try:
            read(path)
            found["graph"] += 1
        except TosaEngineError as problem:
            found["error of several lines" if "\n" in str(problem) else type(problem).__name__] += 1
        except BaseException as error:
            raise AssertionError(f"{form}: seed {seed} ({name}): {type(error).__name__}: {error}") from error
        longest = max(longest, time.monotonic() - start)
        assert longest < SECONDS, f"{form}: seed {seed} ({name}) took {longest:.1f} s"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert peak - before < MEMORY, f"{form}: seed {seed} ({name}) took {(peak - before) >> 10} MiB"
        seed += 1
    return seed - first, found, longest


@pytest.mark.parametrize("form", FORMS)
def test_hostile_modules(form: str, tmp_path: Path, report: Callable[[str], None]) -> None:
    tried, found, longest = fuzz(form, MINUTES * 60, tmp_path)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
    report(f"{form}: seeds {FIRST} to {FIRST + tried - 1}: {listed}; the slowest took {longest:.2f} s")
    assert 0 < found["graph"] < tried
    assert not found["error of several lines"]
