"""`tosa-engine warmup`: compile what models need ahead of their first run, and keep it on disk."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from ..errors import DataError
from ..formats import model_help
from ..text import say, shown
from .common import add_memory, add_options, open_source
from .told import warn

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from ..graph import Graph
    from ..plan.steps import Step


class _Progress:
    """One line on a terminal for each step whose kernels are being compiled, with the seconds that it took."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.compiled = 0
        self._label = ""
        self._since: float | None = None

    def step(self, label: str) -> None:
        """What follows belongs to this step."""
        self.end()
        self._label = label

    def compiles(self, function: str) -> None:
        self.compiled += 1
        if self.shown:
            text = f", {function}" if self._since else f"{self._label}: {function}"
            print(shown(text), end="", file=sys.stderr, flush=True)
        self._since = self._since or time.perf_counter()

    def end(self) -> None:
        if self._since is not None and self.shown:
            say(f"  {time.perf_counter() - self._since:.1f} s", file=sys.stderr, flush=True)
        self._since = None


class _Warmup:
    name = "warmup"
    help = "compile the kernels that models need, or those that most models need, and keep them on disk"
    example = "warmup net.tosa other.tosa"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "models",
            metavar="MODEL",
            nargs="*",
            help=f"{model_help()}; without any: small networks with the common int8 and int16 kernels",
        )
        add_memory(parser)
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        from ..kernels import _jit
        from .standard_nets import standard

        if not _jit.JIT:
            say("TOSA_ENGINE_JIT=0: kernels run as plain Python, there is nothing to compile")
            return 0
        folder = _jit.cache_folder()
        if folder is None:
            raise DataError(f"there is no folder to keep compiled kernels in: {_jit.unkept[0]}")
        from ..kernels.walk import mailbox as helpers  # which needs the JIT

        progress = _Progress(not getattr(args, "quiet", False) and sys.stderr.isatty())
        with _jit.watch(progress.compiles):
            progress.step("threads")
            helpers.warm_up()
            for name in args.models:
                graph = open_source(args, name).graph()
                warn(graph.warnings)
                _warm(name, graph, progress)
            for graph in [] if args.models else standard():
                _warm(graph.source, graph, progress)
            progress.end()
        if _jit.unkept:
            raise DataError(f"{len(_jit.unkept)} compiled functions can't be kept: {_jit.unkept[0]}")
        say(f"kept in {folder}: {_size(folder)}")
        return 0


def _warm(name: str, graph: Graph, progress: _Progress) -> None:
    """Compile for one graph, and say so."""
    from ..runtime.session import Session
    from ..runtime.warm_up import steps_to_run, warm_up

    start, before, done = time.perf_counter(), progress.compiled, 0
    progress.step(f"{name}: constants")  # those that are computed while planning
    plan = Session(graph).plan()
    steps = steps_to_run(plan)

    def begin(step: Step) -> None:
        nonlocal done
        done += 1
        progress.step(f"{name}: {done}/{steps} {step.operators}")

    warm_up(plan, begin)
    progress.end()
    seconds, compiled = time.perf_counter() - start, progress.compiled - before
    what = f"{compiled} functions compiled in {seconds:.1f} s" if compiled else f"nothing to compile ({seconds:.1f} s)"
    say(f"{name}: {steps} steps, {what}", flush=True)


def _size(folder: Path) -> str:
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB"


command = _Warmup()
