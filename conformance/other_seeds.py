"""Unofficial tests from Arm's generator: other seeds than the official one, spread evenly over the operators.

cache/tosa-tools-VERSION/SELECTION/seeds/SEED-KIND/FOLDER/TEST/desc.json
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING

from suite_cache import Selection, environment, last_lines

from tosa_engine.errors import DataError
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# What the generator is asked for: operators (nothing: all of the table) and options. It makes the data sets S0 to S5 of
# dot products only where there are 1,000 of them or more, which the small shapes don't have.
SMALL, LARGE = ("--tensor-dim-range", "1,16"), ("--tensor-dim-range", "10,12")
KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "positive": ((), ("--test-type", "positive", *SMALL)),
    "negative": ((), ("--test-type", "negative", *SMALL)),
}
DATA_SETS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "windows": (
        ("avg_pool2d", "conv2d", "conv3d", "depthwise_conv2d", "matmul", "transpose_conv2d"),
        ("--test-type", "positive", *LARGE, "--conv-kernel", "2,2", "2,2,2", "--max-conv-stride", "1",
         "--max-conv-dilation", "1"),
    ),
    "sums": (("reduce_sum",), ("--test-type", "positive", *LARGE, "--target-rank", "4")),
    "transforms": (("fft2d", "rfft2d"), ("--test-type", "positive", "--target-shape", "1,32,32")),
}  # fmt: skip
VARIANT = r"(?:_[0-9x]+|_binary|_const)?"  # conv2d_3x3, cond_if_binary
# What the generator makes for 1.0.2 although the specification rules it out; the official suite lacks these tests.
NOT_OF_THE_VERSION = {
    r"const_shape_.*": "a graph output of type shape_t (section 2.2)",
    r"(gather|scatter)_.*_b_idxi32": "boolean values, for which GATHER and SCATTER have no row",
}


def kinds_of(selection: Selection) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Which kinds of tests a selection has: with floats the data sets of dot products, too."""
    return {**KINDS, **(DATA_SETS if "tosa-pro-fp" in selection.profiles else {})}


def generate_seed(selection: Selection, seed: int, kind: str, cache: Path) -> Path:
    """The folder with one seed's tests of a kind.

    Raises:
        DataError: the generator failed.
    """
    done = cache / "seeds" / f"{seed}-{kind}"
    if done.is_dir():
        return done
    part = cache / "unfinished" / f"seed-{seed}-{kind}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    operators, options = kinds_of(selection)[kind]
    names = operators or tuple(name.lower() for name in TABLE)
    command = [
        sys.executable, "-m", "generator.tosa_verif_build_tests", "--seed", str(seed), *selection.arguments,
        "--filter", f"^(?:{'|'.join(names)}){VARIANT}$", *options, "--test-selection-criteria", "default",
        "-o", str(part),
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=part, env=environment())
    if ran.returncode:
        raise DataError(f"the test generator failed on seed {seed}: {last_lines(ran.stdout + ran.stderr)}")
    done.parent.mkdir(parents=True, exist_ok=True)
    part.rename(done)
    return done


def spread(folders: Sequence[Path], count: int) -> list[Path]:
    """Up to `count` of the tests below the folders: of each operator one, then of each a second, and so on. Not those
    that `NOT_OF_THE_VERSION` names.
    """
    by_operator: dict[str, list[Path]] = {}
    for folder in folders:
        for test in sorted(found.parent for found in folder.rglob("desc.json")):
            if not any(re.fullmatch(pattern, test.name) for pattern in NOT_OF_THE_VERSION):
                by_operator.setdefault(operator_of(test), []).append(test)
    rounds = zip_longest(*(_mixed(tests) for _, tests in sorted(by_operator.items())))
    return [test for one in rounds for test in one if test is not None][:count]


def operator_of(test: Path) -> str:
    """The operator of a test: its folder's name without the kernel's size."""
    return re.sub(r"_\d[0-9x]*$", "", test.parent.name)


def _mixed(tests: list[Path]) -> list[Path]:
    """The tests in an order whose every beginning is spread over the whole list: bit-reversed positions."""
    bits = max(len(tests) - 1, 1).bit_length()
    order = sorted(range(len(tests)), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))
    return [tests[i] for i in order]
