"""Hostile SkriptND for FUZZ_MINUTES: only typed errors, at most 5 s of processor time, less than 1 GiB.

    FUZZ_MINUTES=10 python -m pytest -q tests/fuzz/fuzz_skriptnd.py

Texts of the tests, mutated; each is parsed, checked, composed, and lowered to TOSA by one of both ways. A failure
prints the seed; FUZZ_SEED starts there. The suite tries 100 (tests/frontends/skriptnd/test_hostile.py).
"""

from __future__ import annotations

import os
import random
import re
import resource
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from tests.frontends.skriptnd.models import graph_of
from tests.frontends.skriptnd.test_own_operators import OWN, text_of
from tests.frontends.skriptnd.test_rules import RULES
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends.nnef.files.dat import write_dat
from tosa_engine.frontends.skriptnd.source import SkriptndSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MINUTES = float(os.environ.get("FUZZ_MINUTES", "0.1"))
FIRST = int(os.environ.get("FUZZ_SEED", "0"))
SECONDS, MEMORY = 5.0, 1 << 20  # per input; in KiB
NETWORK = graph_of(
    "operator twice { @input { x: real[s..]; } @output { y: real[s..]; } @compose { y = math.add(x, x); } }",
    "{ c = nn.conv{padding=0, stride=2}(x, w); r = nn.relu(c); t = twice(r); "
    "z = with v = t do..(i -> 3) if i > 1 then math.exp(v) else { q = v; yield q }; "
    "p = [z, t..(2)]; s = math.sum_n(p); f = layout.flatten{axis=1}(s); yield nn.softmax(f) }",
    "x: real[1,2,6,6]; w: real[3,2,3,3];",
    "y: real[1,12];",
)
TEXTS = (*RULES.values(), *(text_of(name) for name in OWN), *(NETWORK,) * 40)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+\.\d+|\d+|'[^']*'|\s+|[.]{2,3}|[-+*/<>=!?:&|]{1,3}|.", re.DOTALL)
HOSTILE = (
    "2147483647", "2147483648", "1000000", "1" + "0" * 40, "1e308", "0", "-1", "0.0", "''", "'{x}'", "'{'", "[]", "~",
    "(" * 200, ")" * 200, "[" * 200, "{" * 50, "[0:1000000]", "[0:100:0]", "1 ..(1000000)", "x..", "..(1000000)",
    "..(i -> 10000)", "do..(1000000)", "unroll..(i -> 1000000)", "**", "** 100 ** 100", "?", "??", ":=", "<-", "is",
    "in", "=>", "|", "|i|", "|i <> 0 : 3|", "x[0,]", "o(o(x))", "y = o(y);", "@lower { }", "@compose { y = x; }", "#",
    "\0", "\x7f", "é", "\u2028", "operator o { }", "graph G { }", "import main;", "import own;", "@", "@input", "^(99)",
    "real[1000000, 1000000, 1000000]..(1000000)", "real[n * n]", "real[n]..(n)", "optional", "public", "dynamic",
    "if x then y else z", "with z = x while math.any(z) do math.exp(z)", "x.shape", "x.rank", "x.size", "`exp`", "<<",
    "<?", "min", "real()", "abs(-2147483648)", "int(1.0e300)", "'" + "a" * 5000 + "'",
)  # fmt: skip


def document(rng: random.Random) -> str:
    words = TOKEN.findall(rng.choice(TEXTS))
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(words))
        what = rng.randrange(6)
        if what == 0:
            words[at] = rng.choice(HOSTILE)
        elif what == 1:
            words.insert(at, rng.choice(HOSTILE))
        elif what == 2:
            del words[at : at + rng.randint(1, 4)]
        elif what == 3:
            words[at] = rng.choice(words)
        elif what == 4:
            end = at + rng.randint(1, 40)
            words[at:at] = words[at:end] * rng.randint(1, 3)
        else:
            words[at] = rng.choice(TOKEN.findall(rng.choice(TEXTS)))
        if not words:
            break
    return "".join(words)


def read(path: Path, *, mapped: bool) -> None:
    """What `check` does of a document, and what it becomes."""
    source = SkriptndSource(path, mapped=mapped)
    for ref in source.composed.variables[:4]:
        if ref.dtype == "real" and np.prod(ref.shape) < 1000:
            (path.parent / source.file_of(ref)).write_bytes(write_dat(np.zeros(ref.shape, np.float32)))
    source.graph()


def fuzz(seconds: float, folder: Path, first: int = FIRST, most: int = 1 << 60) -> tuple[int, Counter[str], float]:
    """How many texts were tried, what came of them, and the longest processor time of one."""
    seed, found, longest = first, Counter[str](), 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = time.monotonic() + seconds
    path = folder / "main.sknd"
    while time.monotonic() < end and seed - first < most:
        rng = random.Random(f"sknd {seed}")
        path.write_text(document(rng), "utf-8", "surrogatepass")
        start = time.process_time()
        try:
            read(path, mapped=rng.random() < 0.5)
            found["graph"] += 1
        except TosaEngineError as problem:
            found[type(problem).__name__] += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        took = time.process_time() - start
        longest = max(longest, took)
        assert took < SECONDS, f"seed {seed} took {took:.1f} s"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert peak - before < MEMORY, f"seed {seed} took {(peak - before) >> 10} MiB"
        seed += 1
    return seed - first, found, longest


def test_hostile_texts(tmp_path: Path, report: Callable[[str], None]) -> None:
    tried, found, longest = fuzz(MINUTES * 60, tmp_path)
    report(f"seeds {FIRST} to {FIRST + tried - 1}: {dict(found)}; the longest took {longest:.2f} s")
    assert tried
