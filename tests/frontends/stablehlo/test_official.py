"""A slice of the tests of openxla/stablehlo, where STABLEHLO_CHECKOUT names a checkout of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from stablehlo_modules import needs_jaxlib

pytestmark = needs_jaxlib
ROOT = Path(__file__).parents[3]
CHECKOUT = os.environ.get("STABLEHLO_CHECKOUT", "")
SLICES = {
    "interpret": ["add", "compare", "divide", "pad", "select_and_scatter", "sort.0"],
    "testdata": ["add_float", "argmax", "clamp", "dot_general_float32", "gather", "reduce_max", "sort", "xor"],
    "quantized": ["convolution_qi8", "tanh_qi8", "dot_general"],
}


@pytest.mark.skipif(not CHECKOUT, reason="STABLEHLO_CHECKOUT names no checkout of openxla/stablehlo")
@pytest.mark.parametrize("suite", sorted(SLICES))
def test_nothing_of_a_slice_is_wrong(suite: str) -> None:
    command = [sys.executable, str(ROOT / "conformance" / "stablehlo.py"), CHECKOUT, *SLICES[suite], "--suite", suite]
    done = subprocess.run([*command, "--list"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
