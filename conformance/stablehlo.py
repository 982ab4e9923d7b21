"""The tests of openxla/stablehlo, from a checkout, on our engine: totals by suite, type and operation.

    python conformance/stablehlo.py CHECKOUT                  all tests
    python conformance/stablehlo.py CHECKOUT sort scatter     those of these operations
    python conformance/stablehlo.py CHECKOUT --suite dynamic  one of interpret, testdata, dynamic, quantized
    python conformance/stablehlo.py CHECKOUT --list           a line for each test that doesn't pass
    python conformance/stablehlo.py CHECKOUT --record         all tests, and STABLEHLO.md with the totals

What a test gives to the operation that it is about are inputs of the graph, not constants; where the operation needs
one ahead of a run, integers are constants. Where 64-bit integers could leave int32, the ranges of the test's integers
are told as a user would, with `--within`. A test passes where everything that it checks is within upstream's tolerance.
What is refused is counted by reason; a wrong result or an error of any other kind is a failure, and the exit code 1.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import stablehlo_page

from tosa_engine import oracle
from tosa_engine.errors import LevelError, Problems, TosaEngineError, Unsupported
from tosa_engine.frontends.stablehlo.mapping import ModuleMapper, Scope
from tosa_engine.frontends.stablehlo.module import Body, Function, Operation
from tosa_engine.frontends.stablehlo.reading import Process
from tosa_engine.passes import run_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tosa_engine.frontends.stablehlo.module import Module

SUITES = {
    "interpret": "stablehlo/tests/interpret", "testdata": "stablehlo/testdata", "dynamic": "stablehlo/testdata/dynamic",
    "quantized": "stablehlo/testdata/quantized",
}  # fmt: skip
SECONDS = 120
EXTENTS = (3, 4, 12, 2, 1)  # of dimensions that nothing binds: the first one that a module takes
REFERENCE = Path(__file__).with_name("stablehlo_reference.py")
TOLD = "with the ranges of its inputs told"
# what upstream allows: ULPs of expect_close, the difference of expect_almost_eq
CLOSE = {"interpret": 1, "testdata": 3}
ALMOST = {"interpret": 1e-4, "testdata": 1e-3}
AROUND = ("stablehlo.constant", "stablehlo.custom_call", "func.call", "func.return", "stablehlo.return")


@dataclass
class Outcome:
    suite: str
    test: str
    types: str
    operations: tuple[str, ...]
    verdict: str = "failed"  # passed, refused, failed
    reason: str = ""
    ulps: float = 0.0


@dataclass
class Check:
    """What a test says of a value: that it equals another one, within `ulps` or `apart`."""

    value: int
    wanted: np.ndarray | int  # the array, or the value that is to be the same
    ulps: float = 0.0
    apart: float = 0.0

    @property
    def numbers(self) -> list[int]:
        return [self.value, self.wanted] if isinstance(self.wanted, int) else [self.value]


@dataclass
class Case:
    suite: str
    name: str
    path: Path
    extent: int = 0


def cases(checkout: Path, suites: Sequence[str], folder: Path) -> Iterator[Case]:
    """The tests of a checkout; those of interpret and quantized are parts of files, rewritten into `folder`."""
    for suite in suites:
        for path in sorted((checkout / SUITES[suite]).rglob("*.mlir")):
            if suite == "testdata" and path.parent.name != "testdata":
                continue
            if suite in ("testdata", "dynamic"):
                yield Case(suite, path.stem, path)
                continue
            text = path.read_text(encoding="utf-8")
            parts = text.split("// -----")
            for number, part in enumerate(parts):
                if not re.search(r"^ *func\.func|^module", part, re.M):
                    continue
                made = folder / (f"{path.stem}.{number}.mlir" if len(parts) > 1 else path.name)
                made.write_text(_with_calls(part), encoding="utf-8")
                yield Case(suite, made.stem, made)


SHORT = re.compile(
    r"check\.(?P<kind>expect_\w+?)_const\s+(?P<value>%[\w#]+),\s*(?P<data>dense<.*?>)\s*(?P<extra>\{.*?\})?\s*:\s*"
    r"(?P<type>tensor<[^\n]*>)(?: \{(?P<allowed>[^\n]*)\})?", re.S,
)  # fmt: skip
GENERIC = re.compile(
    r'"check\.(?P<kind>expect_\w+?)_const"\((?P<value>%[\w#]+)\) <\{value = (?P<data>dense<.*?>) : '
    r"(?P<type>tensor<[^\n}]*>)\}> : [^\n]*", re.S,
)  # fmt: skip
PAIR = re.compile(
    r"check\.(?P<kind>expect_\w+)\s+(?P<a>%[\w#]+),\s*(?P<b>%[\w#]+)\s*(?P<extra>\{.*?\})?"
    r"(?:,\s*(?P<allowed>(?:max_ulp_difference|tolerance) = [\d.]+))?\s*:\s*(?P<type>[^\n]*)"
)


def _with_calls(text: str) -> str:
    """Checks as custom calls, which need no dialect of their own."""
    count = 0

    def of_constant(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        kind, name = found["type"].strip(), f"%wanted{count}"
        return (
            f"{name} = stablehlo.constant {found['data']} : {kind}\n"
            f"  stablehlo.custom_call @check.{found['kind']}({found['value']}, {name}) {_allowed(found)} : "
            f"({kind}, {kind}) -> ()"
        )

    def of_pair(found: re.Match[str]) -> str:
        kinds = found["type"].strip()
        kinds = kinds.strip("()") if kinds.count("tensor<") == 2 else f"{kinds}, {kinds}"
        call = f"@check.{found['kind']}({found['a']}, {found['b']})"
        return f"stablehlo.custom_call {call} {_allowed(found)} : ({kinds}) -> ()"

    return PAIR.sub(of_pair, SHORT.sub(of_constant, GENERIC.sub(of_constant, text)))


def _allowed(check: re.Match[str]) -> str:
    """The attributes of a check as a custom call, with the difference that it says is allowed."""
    told = check.groupdict().get("allowed")
    return "{has_side_effect = true" + (f", {told}" if told else "") + "}"


class Runner:
    def __init__(self) -> None:
        self.process = Process()

    def run(self, case: Case) -> Outcome:
        outcome = Outcome(case.suite, case.name, "", ())
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(SECONDS)
        try:
            module = self.read(case)
            outcome.types, outcome.operations = types_of(module), operations_of(module)
            self._judge(case, module, outcome)
        except TosaEngineError as problem:
            each = problem.problems if isinstance(problem, Problems) else [problem]
            beyond = all(isinstance(one, LevelError) for one in each)
            refused = problem.exit_code == 5 or beyond or "--within" in str(problem)
            outcome.verdict = "refused" if refused else "failed"
            outcome.reason = f"{'' if refused else type(problem).__name__ + ': '}{str(problem).splitlines()[0]}"
        except Exception as crash:  # noqa: BLE001  # a crash is what this looks for
            outcome.verdict, outcome.reason = "failed", f"CRASH {type(crash).__name__}: {crash}"
        finally:
            signal.alarm(0)
        return outcome

    def read(self, case: Case) -> Module:
        if case.suite != "dynamic":
            return self.process.read(case.path)
        problem: TosaEngineError | None = None
        for case.extent in EXTENTS:
            try:
                return self.process.read(case.path, unbound=case.extent)
            except TosaEngineError as refused:
                problem = problem or refused
        assert problem is not None
        raise problem

    def _beside_reference(self, case: Case, module: Module, outcome: Outcome) -> None:
        """A module of testdata/dynamic, beside what jaxlib's interpreter gives."""
        rng = np.random.default_rng(0)
        arrays = [_random(rng, kind) for _, kind in module.main.body.arguments]
        try:
            graph = run_pipeline(ModuleMapper(module, case.name).graph())
        except Unsupported as problem:
            if "--within" not in str(problem):
                raise
            ranges = _ranges(dict(zip(module.main.names, arrays, strict=True)))
            graph, outcome.reason = run_pipeline(ModuleMapper(module, case.name, ranges).graph()), TOLD
        feeds = {p.name: as_port(a, p) for p, a in zip(graph.inputs, arrays, strict=True)}
        found = list(oracle.run(graph, feeds).values())
        with tempfile.TemporaryDirectory() as folder:
            files = [f"{folder}/{name}.npz" for name in ("inputs", "outputs")]
            np.savez(files[0], **{f"i{k}": array for k, array in enumerate(arrays)})
            command = [sys.executable, str(REFERENCE), str(case.path), str(case.extent), *files]
            done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
            if done.returncode:
                raise Unsupported("the reference interpreter gives nothing to compare with")
            with np.load(files[1]) as outputs:
                wanted = [outputs[f"o{k}"] for k in range(len(outputs.files))]
        outcome.verdict = "passed"
        for ours, theirs in zip(found, wanted, strict=True):
            theirs = theirs.astype(ours.dtype) if ours.dtype.kind == "V" else theirs
            difference, _ = compared(ours, theirs, Check(0, theirs, ulps=3, apart=1e-5))
            if difference:
                outcome.verdict, outcome.reason = "failed", difference

    def _judge(self, case: Case, module: Module, outcome: Outcome) -> None:
        if case.suite == "dynamic":
            self._beside_reference(case, module, outcome)
            return
        tolerance = "interpret" if case.suite == "interpret" else "testdata"
        problem: TosaEngineError | None = None
        for fixed in (False, True):
            try:
                graph, feeds, checks, told = graph_of(module, case.name, fixed, tolerance)
                break
            except Unsupported as refused:
                if fixed:
                    raise problem or refused from None
                problem = refused
        else:
            assert problem is not None
            raise problem
        found = oracle.run(graph, feeds)
        outcome.verdict, outcome.reason = "passed", told
        names = iter(graph.main.outputs)
        for check in checks:
            first = found[next(names)]
            wanted = found[next(names)] if isinstance(check.wanted, int) else check.wanted
            if wanted.dtype == np.float64:
                raise Unsupported("f64 is computed as f32")
            difference, ulps = compared(first, wanted, check)
            outcome.ulps = max(outcome.ulps, ulps)
            if difference:
                outcome.verdict, outcome.reason = "failed", difference
        if not checks:
            outcome.verdict, outcome.reason = "passed", "it checks nothing"


def _ranges(arrays: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Where the integers of inputs lie, as far as int32 holds them."""
    integers = {name: a for name, a in arrays.items() if a.dtype.kind in "iu" and a.size and _fits(a)}
    return {name: (int(a.min()), int(a.max())) for name, a in integers.items()}


def _random(rng: np.random.Generator, kind: Any) -> np.ndarray:
    """Numbers for an input."""
    element = kind.element
    if element is None or element.name == "f64":
        raise Unsupported(f"TOSA has no number format for {kind.text}")
    if element.is_float:
        return np.asarray(rng.normal(size=kind.shape)).astype(element.storage)
    return np.asarray(rng.integers(0, 2, kind.shape)).astype(element.storage)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def types_of(module: Module) -> str:
    """The class of a test: its least common type."""
    names = {
        str(kind.element or kind.text) for body in bodies(module) for op in body.operations for _, kind in op.results
    }
    for kind, members in CLASSES:
        if any(any(one in name for one in members) for name in names):
            return kind
    return "native"


CLASSES = (
    ("f64 and complex", ("f64", "complex")), ("quantized", ("quant",)), ("64-bit integers", ("i64",)),
    ("unsigned", ("ui8", "ui16", "ui32")), ("sub-byte", ("i4", "i2")),
)  # fmt: skip


def bodies(module: Module) -> Iterator[Body]:
    for function in module.functions.values():
        if function is not module.functions.get("expected"):
            yield from _all(function.body)


def _all(body: Body) -> Iterator[Body]:
    yield body
    for op in body.operations:
        for region in op.regions:
            yield from _all(region)


def operations_of(module: Module) -> tuple[str, ...]:
    names = {op.name for body in bodies(module) for op in body.operations if op.name not in AROUND}
    return tuple(sorted(names))


def graph_of(module: Module, file: str, fixed: bool, tolerance: str) -> tuple[Any, dict[str, Any], list[Check], str]:
    """The graph of a test, the arrays of its inputs, and what it checks of its outputs."""
    main = module.main
    known: dict[int, np.ndarray] = {}
    arguments, names, feeds, operations, checks = [], [], {}, [], []
    consumed = _checked_constants(main.body)
    for op in main.body.operations:
        target = str(op.attributes.get("call_target_name", op.attributes.get("callee", "")))
        given = _arrays(module, op, known)
        if given is not None:
            for (number, kind), array in zip(op.results, given, strict=True):
                known[number] = array
                element = kind.element
                integer = element is not None and not element.is_float
                data = element is not None and array.size and number not in consumed and not (fixed and integer)
                data = data and (array.dtype.itemsize < 8 or array.dtype.kind not in "iu" or _fits(array))
                if data and target != "@expected":
                    name = f"input{len(names)}"
                    names.append(name)
                    arguments.append((number, kind))
                    feeds[name] = array
                else:
                    value = {"value": array}
                    operations.append(Operation("stablehlo.constant", [], [(number, kind)], value, []))
            continue
        if target.startswith("check."):
            checks.append(_check(op, target, known, tolerance))
            for number, kind in op.results:
                value = {"value": np.ones(kind.shape, bool)}
                operations.append(Operation("stablehlo.constant", [], [(number, kind)], value, []))
            continue
        operations.append(op)
    operations[-1] = replace(operations[-1], operands=[n for check in checks for n in check.numbers])
    body = Body([*main.body.arguments, *arguments], operations)
    function = Function([*main.names, *names], [], body)
    made = replace(module, functions={**module.functions, module.entry: function})
    told = ""
    try:
        graph = ModuleMapper(made, file).graph()
    except TosaEngineError as problem:
        if "--within" not in str(problem):
            raise
        graph, told = ModuleMapper(made, file, _ranges(feeds)).graph(), TOLD
    graph = run_pipeline(graph)
    ports = {port.name: port for port in graph.inputs}
    blank = {name: np.ones(port.shape) for name, port in ports.items() if name not in feeds}  # nothing that is checked
    return graph, {name: as_port({**feeds, **blank}[name], port) for name, port in ports.items()}, checks, told


def _checked_constants(body: Body) -> set[int]:
    """Constants that only say what is expected."""
    wanted = {
        number
        for op in body.operations
        if str(op.attributes.get("call_target_name", "")).startswith("check.")
        for number in op.operands
    }
    used = {n for op in body.operations if op.name in ("stablehlo.while",) for n in op.operands}
    return wanted - used


def _arrays(module: Module, op: Operation, known: dict[int, np.ndarray]) -> list[np.ndarray] | None:
    """The results of a constant, and of functions that give constants."""
    if op.name == "stablehlo.constant":
        found = op.attributes.get("value")
        return None if found is None else [found]
    if op.name != "func.call" or op.operands:
        return None
    name = str(op.attributes["callee"]).removeprefix("@")
    if name not in ("inputs", "expected"):
        return None
    mapper = ModuleMapper(module, name)
    values = Scope(mapper, []).run(module.functions[name].body, [])
    if any(value.data is None for value in values):
        return None
    return [np.asarray(value.data) for value in values]


def _check(op: Operation, target: str, known: dict[int, np.ndarray], tolerance: str) -> Check:
    value, wanted = op.operands[:2]
    if target == "check.eq" and value in known and wanted not in known:
        value, wanted = wanted, value
    array = known.get(wanted, wanted)
    if "almost" in target:
        return Check(value, array, apart=float(op.attributes.get("tolerance", ALMOST[tolerance])))
    if "close" in target:
        return Check(value, array, ulps=float(op.attributes.get("max_ulp_difference", CLOSE[tolerance])))
    return Check(value, array)


def _fits(array: np.ndarray) -> bool:
    return -(1 << 31) <= int(array.min()) and int(array.max()) < 1 << 31


def as_port(values: Any, port: Any) -> Any:
    """Values in the port's format: 64-bit integers in 32, unsigned ones by their bits."""
    wanted = port.dtype.storage
    if values.dtype.kind == "u" and values.dtype.itemsize == wanted.itemsize:
        return np.array(values).view(wanted)
    if values.dtype.itemsize == 8 and values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if low < -(1 << 31) or high >= 1 << 31:
            raise Unsupported(f"the test's data go from {low} to {high}, beyond int32")
    return np.array(values).astype(wanted)


def compared(found: Any, wanted: np.ndarray, check: Check) -> tuple[str, float]:
    """What is wrong, and by how many ULP floats differ."""
    if wanted.dtype == np.float64:
        wanted = wanted.astype(np.float32)
    if tuple(found.shape) != tuple(wanted.shape):
        return f"shape {list(found.shape)}, not {list(wanted.shape)}", 0.0
    if wanted.dtype.kind == "u" and found.dtype.itemsize == wanted.dtype.itemsize:
        found = found.view(wanted.dtype)
    if wanted.dtype.kind in "iub":
        same = np.asarray(found).astype(object) == wanted.astype(object)
        return ("" if same.all() else f"{int((~same).sum())} of {same.size} elements differ"), 0.0
    ulps = distance(found, wanted)
    ours, theirs = np.asarray(found, np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        apart = same | (np.abs(ours - theirs) <= check.apart) if check.apart else same
    good = apart | (ulps <= check.ulps)
    worst = float(ulps.max(initial=0.0))
    return (
        "" if good.all() else f"{int((~good).sum())} of {good.size} elements differ, by up to {worst:.0f} ULP"
    ), worst


def distance(found: Any, wanted: np.ndarray) -> np.ndarray:
    """How many numbers of the format lie between; infinity where one of them isn't finite and the other is."""
    bits = {8: np.int64, 4: np.int32, 2: np.int16, 1: np.int8}[wanted.dtype.itemsize]
    ordered = []
    for one in (np.asarray(found).astype(wanted.dtype), wanted):
        raw = np.ascontiguousarray(one).view(bits).astype(np.int64)
        ordered.append(np.where(raw < 0, -(raw & np.int64(np.iinfo(bits).max)), raw))
    gap: np.ndarray = np.abs(ordered[0].astype(np.float64) - ordered[1])
    real = [np.isfinite(np.asarray(one).astype(np.float64)) for one in (found, wanted)]
    nan = [np.isnan(np.asarray(one).astype(np.float64)) for one in (found, wanted)]
    gap = np.where(nan[0] & nan[1], 0.0, gap)
    return np.where((real[0] == real[1]) | (gap == 0), gap, np.inf)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("checkout", type=Path, help="a checkout of openxla/stablehlo")
    parser.add_argument("operations", nargs="*", metavar="OPERATION")
    parser.add_argument("--suite", choices=sorted(SUITES), action="append")
    parser.add_argument("--list", action="store_true", help="a line for each test that doesn't pass")
    parser.add_argument("--record", action="store_true", help="write STABLEHLO.md; takes no operations and suites")
    args = parser.parse_args(arguments)
    if args.record and (args.operations or args.suite):
        parser.error("--record is for all tests")
    outcomes, runner, start = [], Runner(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(args.checkout, args.suite or list(SUITES), Path(folder)):
            if args.operations and not any(case.name.startswith(op) for op in args.operations):
                continue
            outcomes.append(runner.run(case))
            if args.list and outcomes[-1].verdict != "passed":
                one = outcomes[-1]
                print(f"{one.verdict} {one.suite}/{one.test} ({one.types}): {one.reason}", flush=True)
    for line in stablehlo_page.totals(outcomes):
        print(line)
    print(f"{time.monotonic() - start:.0f} s")
    if args.record:
        import stablehlo_integers  # which imports this module

        stablehlo_page.write(outcomes, list(stablehlo_integers.rows(stablehlo_integers.measured(args.checkout))))
    return 1 if any(one.verdict == "failed" for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
