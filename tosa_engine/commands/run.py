"""`tosa-engine run`: arrays in, arrays out; and are they the expected ones?"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from ..text import say
from .common import (
    add_custom,
    add_memory,
    add_model,
    add_options,
    add_target,
    at_least,
    import_custom,
    load_model,
    target_of,
    warn_of_version,
)
from .device import DEVICE_HELP
from .feeds import INPUT_HELP, INPUT_METAVAR, find_feeds, fits, in_format, listed, read_feeds
from .run_corners import Corners
from .run_corners import check as check_corners
from .run_looks import looks
from .run_samples import ManyRuns
from .run_samples import check as check_samples
from .run_vectors import add_vectors
from .run_vectors import check as check_vectors
from .samples import add_data

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ..arrays import Stored
    from ..compare import Tolerance
    from ..runtime.ports import Port
    from ..runtime.session import Session
    from ..types import Array
    from .run_looks import Look

SHOWN_ELEMENTS = 32
ROUNDING_DB = 60  # above, floats differ by rounding, and a tolerance is what is missing


class _Run:
    name = "run"
    help = "run a model on arrays, write its outputs, or compare them with the expected ones"
    example = (
        "run net.tosa -i x.npy --real -o y.npz\n"
        "run net.tosa --data pictures --real -o y.npz\n"
        "run net.onnx -i x.npy --expect y.npy --atol 1e-5\n"
        "run net.tosa -i x.npy --vectors tb --format bin --layout NHCWB16"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        add_custom(parser)
        arrays = parser.add_argument_group("arrays")
        arrays.add_argument(
            "-i",
            "--input",
            action="append",
            default=[],
            metavar=INPUT_METAVAR,
            help=f"input arrays; may be given several times. {INPUT_HELP}",
        )
        arrays.add_argument("--device", metavar="FILE.toml", help=DEVICE_HELP)
        arrays.add_argument("-o", "--output", metavar="OUT.npz", help="write the outputs by name (.npy: a single one)")
        expected = parser.add_argument_group("expected outputs")
        expected.add_argument(
            "--expect", metavar="BUNDLE.npz", help="compare the outputs; exit code 1 when they differ"
        )
        expected.add_argument(
            "--atol", type=_tolerance, default=0.0, help="floats may differ by ATOL + RTOL * |expected|"
        )
        expected.add_argument("--rtol", type=_tolerance, default=0.0, help="see --atol")
        arrays.add_argument(
            "--real",
            action="store_true",
            help="real numbers in and out of a quantized model, by the scales in its file; --expect is real, too",
        )
        arrays.add_argument("--dump-intermediates", metavar="DIR", help="write every tensor as .npy, and index.json")
        arrays.add_argument(
            "--corners", choices=("text", "json"),
            help="print, in place of the outputs, which RESCALEs saturated, which ties and TABLE entries were met, how "
            "much of each accumulator's width was used, next to what is proved",
        )  # fmt: skip
        add_vectors(parser)
        parser.add_argument("--checked", action="store_true", help="test every REQUIRE of the specification")
        add_data(parser)
        add_memory(parser)
        parser.add_argument(
            "--time-limit", type=_seconds, metavar="SECONDS", help="end a run that takes longer, with exit code 124"
        )
        parser.add_argument("--threads", type=at_least(1), metavar="N", help="workers; default: one per processor")
        add_options(parser, self.name)
        add_target(parser)

    def run(self, args: argparse.Namespace) -> int:
        target = target_of(args)
        check_samples(args)
        check_vectors(args)
        check_corners(args)
        from .. import arrays
        from ..runtime.real import real
        from ..runtime.session import Session

        import_custom(args.custom)
        graph = load_model(args)
        warn_of_version(graph, target)
        limit = args.time_limit
        session = Session(graph, args.threads, target=target, checked=args.checked, time_limit=limit)
        corners = Corners(args, session) if args.corners else None
        many = ManyRuns(args, session, graph, corners) if args.data or args.random else None
        feeds = _feeds(args, session) if many is None else {}
        ports = session.outputs if many is None else many.ports
        expected = _read_expected(args.expect, ports, real=args.real) if args.expect else None
        outputs = _execute(session, feeds, looks(args, session, corners)) if many is None else many.run()
        if args.real:
            outputs = {port.name: real(port, outputs[port.name]) for port in ports}
            expected = None if expected is None else _as_real(expected, ports)
        if args.output:
            arrays.write(args.output, outputs)
        if corners is not None:
            corners.report()
        if expected is not None:
            from ..compare import Tolerance

            return _verdict(outputs, expected, Tolerance(args.atol, args.rtol))
        if not args.output and corners is None:
            _show(outputs)
        return 0


def _feeds(args: argparse.Namespace, session: Session) -> dict[str, Array]:
    """The arrays of `-i`, as the inputs hold them."""
    from ..device import describe
    from ..runtime.real import stored

    given = find_feeds(args.input, [t.name for t in session.inputs], [t.name for t in session.outputs])
    if not args.real:
        _no_floats_for_integers(given, session.inputs)
    feeds = read_feeds(given, session.inputs, real=args.real, device=describe(args.device))
    return stored(session.inputs, feeds) if args.real else feeds


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError(text)
    return value


def _read_expected(path: str, outputs: Sequence[Port], *, real: bool) -> dict[str, Array | Stored]:
    """The expected outputs by name; those that have another type or shape aren't read, but stay in the file."""
    from .. import arrays

    ports = {port.name: port for port in outputs}
    names = list(ports)
    if path.endswith(".npy") and len(names) == 1:
        found = {names[0]: arrays.stored(path)}
    else:
        found = arrays.stored_bundle(path)
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"{path} has no array for output {listed(missing)}; it has {listed(list(found))}")
    right = {name for name, port in ports.items() if fits(found[name], port, real=real)}
    return {name: in_format(found[name].read(), ports[name]) if name in right else found[name] for name in names}


def _no_floats_for_integers(given: Mapping[str, Stored | Path], ports: Sequence[Port]) -> None:
    for port in ports:
        one = given[port.name]
        if port.tosa_type.is_int and not isinstance(one, Path) and one.dtype.kind == "f":
            message = (
                f"got {one.dtype} for {port.tosa_type}: the model takes integers, real / scale + zero point; "
                "--real computes them by the scales in the model's file, and real numbers of the outputs"
            )
            raise DataError(message, label="DATA.floats", tensor=port.name)


def _execute(session: Session, feeds: dict[str, Array], looks: Sequence[Look]) -> dict[str, Array]:
    for look in looks:
        look.begin(feeds)
    results = session.run(None, feeds, probes=[look.probe for look in looks])
    for look in looks:
        look.finish()
    return {t.name: array for t, array in zip(session.outputs, results, strict=True)}


def _verdict(outputs: Mapping[str, Array], expected: Mapping[str, Array | Stored], tolerance: Tolerance) -> int:
    from ..arrays import Stored
    from ..compare import Difference, WrongForm, compare

    found: list[Difference | WrongForm | None] = []
    for name, output in outputs.items():
        one = expected[name]
        if isinstance(one, Stored):
            found.append(WrongForm(name, _form(output), _form(one)))
        else:
            found.append(compare(name, output, one, tolerance))
    differences = [one for one in found if one is not None]
    if differences:
        say(f"DIFFERENT: {len(differences)} of {len(outputs)} outputs; output {differences[0]}")
        read = {name: one for name, one in expected.items() if not isinstance(one, Stored)}
        _say_how_far(outputs, read, [one.name for one in differences if isinstance(one, Difference)])
        return 1
    how = f"within atol {tolerance.atol:g}, rtol {tolerance.rtol:g}" if tolerance else "bit for bit"
    elements = sum(array.size for array in outputs.values())
    say(f"EQUAL: {len(outputs)} of {len(outputs)} outputs, {elements} elements, {how}")
    return 0


def _form(one: Array | Stored) -> str:
    return f"{one.dtype}{list(one.shape)}"


def _say_how_far(outputs: Mapping[str, Array], expected: Mapping[str, Array], names: Sequence[str]) -> None:
    """Of floats that differ: the SQNR, and the flags that accept them where that is rounding."""
    from ..compare import Agreement, Tolerance, accepting
    from ..types import holds_floats

    floats = [name for name in names if holds_floats(outputs[name])]
    if not floats:
        return
    found, needed = Agreement(), Tolerance()
    for name in floats:
        found.add_floats(outputs[name], expected[name])
        own = accepting(outputs[name], expected[name])
        needed = Tolerance(max(needed.atol, own.atol), max(needed.rtol, own.rtol))
    flags = [f"--{name} {getattr(needed, name):g}" for name in ("atol", "rtol") if isfinite(getattr(needed, name))]
    accepted = f"; {' or '.join(flags)} accepts that" if found.sqnr >= ROUNDING_DB and flags else ""
    say(f"SQNR of what differs: {found.sqnr:.1f} dB{accepted}")


def _as_real(expected: Mapping[str, Array | Stored], ports: Sequence[Port]) -> dict[str, Array | Stored]:
    """What is expected of outputs, as float32 where they are real numbers or integers that stand for some."""
    from ..arrays import Stored
    from ..runtime.real import real

    found = dict(expected)
    for port in ports:
        one = found[port.name]
        if not isinstance(one, Stored):
            found[port.name] = one.astype("f4") if port.quant and one.dtype.kind == "f" else real(port, one)
    return found


def _show(outputs: Mapping[str, Array]) -> None:
    import numpy as np

    for name, array in outputs.items():
        say(f"{name}: {array.dtype}{list(array.shape)}")
        if array.size <= SHOWN_ELEMENTS:
            say(*np.array2string(array, separator=", ", max_line_width=120).split("\n"))
        else:
            say(f"  min {array.min()}, max {array.max()}; use -o to write all {array.size} elements")


command = _Run()
