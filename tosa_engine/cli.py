"""The command `tosa-engine`: finds its verbs among the entry points, runs one, turns errors into exit codes."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

from .commands import GROUP
from .commands.told import listen
from .errors import Problems, TosaEngineError, UsageError
from .plugins import added
from .text import MOST, say, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.metadata import EntryPoint

    from .commands import Command

BUG = 70
EXAMPLE = "example:"
INTERRUPTED, TERMINATED = 130, 143
INPUT_OUTPUT = 6
EPILOG = """exit codes: 0 done, 1 negative result (mismatch, threshold missed), 2 usage, 3 the graph is an error,
4 unpredictable, 5 unsupported, 6 input/output, 70 a bug of ours, 124 time limit,
130 interrupted, 143 terminated"""


class _Help(argparse.HelpFormatter):
    """Lines of examples stay as they are; every default that is a value is shown."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(EXAMPLE):
            return text
        return super()._fill_text(text, width, indent)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        shown, value = action.help, action.default
        if shown is None or "default" in shown or not isinstance(value, (str, int, float)) or value is False:
            return shown
        return shown if value == argparse.SUPPRESS else f"{shown}; default: %(default)s"


class _Parser(argparse.ArgumentParser):
    """Errors are raised, not printed, and abbreviations of flags are errors."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"allow_abbrev": False, "formatter_class": _Help, **kwargs})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


class _Unavailable:
    """Stands for a verb whose module can't be imported: it is listed, and says why when it is called."""

    def __init__(self, entry: EntryPoint, reason: Exception) -> None:
        self.name = entry.name
        self.help, self.example = f"unavailable: {reason}", ""
        self.message = f"the command '{entry.name}' ({entry.value}) can't be imported: {reason}"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, args: argparse.Namespace) -> int:
        del args
        raise UsageError(self.message)


class _Terminated(KeyboardInterrupt):
    """SIGTERM: what runs is ended, and kept, as by Ctrl-C."""


def _terminate(number: int, frame: object) -> NoReturn:
    raise _Terminated


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Errors are one line on stderr; -v adds the traceback."""
    if argv is None and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    argv = sys.argv[1:] if argv is None else list(argv)
    debug = bool({"-v", "--debug"} & set(argv))
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
        return code
    except SystemExit as exit_:  # argparse after --help
        return int(exit_.code or 0)
    except _Terminated:
        say("terminated", file=sys.stderr)
        return TERMINATED
    except KeyboardInterrupt:
        say("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # nobody reads on; give the interpreter a stdout that it can still flush when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INPUT_OUTPUT
    except TosaEngineError as error:
        return _report(error, error.exit_code, debug)
    except OSError as error:
        return _report(error, INPUT_OUTPUT, debug)
    except MemoryError as error:
        return _report(error, INPUT_OUTPUT, debug)
    except Exception as error:  # noqa: BLE001  # the border to the shell: 1 would read as a negative result
        return _report(error, BUG, debug)


def _dispatch(argv: list[str]) -> int:
    parser = _build_parser(argv)
    args = parser.parse_args(argv)
    if args.verb is None:
        parser.print_help(sys.stderr)
        return UsageError.exit_code
    command: Command = args.command
    listen(args)
    most: int | None = getattr(args, "max_memory", None)
    if most is None:
        return command.run(args)
    from .memory import limited

    with limited(most):
        return command.run(args)


def _build_parser(argv: list[str]) -> _Parser:
    """The parser with all verbs, or with the one that is called: the others' modules then stay unloaded."""
    parser = _Parser(prog="tosa-engine", description="Exact integer inference for TOSA graphs.", epilog=EPILOG)
    _add_common(parser)
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", title="commands")
    found = {entry.name: entry for entry in added(GROUP)}
    if not found:
        raise UsageError("no commands are installed; install the package first: pip install .")
    called = next((word for word in argv if not word.startswith("-")), None)
    for entry in [found[called]] if called in found else found.values():
        command = _load(entry)
        example = "".join(f"\n  tosa-engine {line}" for line in command.example.splitlines())
        verb = verbs.add_parser(
            entry.name, help=command.help, description=command.help, epilog=f"{EXAMPLE}{example}" if example else None
        )
        try:
            command.add_arguments(verb)
        except argparse.ArgumentError as problem:  # a format has a flag that the verb has, too
            raise UsageError(f"the command '{entry.name}' ({entry.value}) and its formats: {problem}") from problem
        _add_common(verb)
        verb.set_defaults(command=command)
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-v",
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show every warning, and where in the code an error was raised",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", default=argparse.SUPPRESS, help="show no warnings and no progress"
    )


def _load(entry: EntryPoint) -> Command:
    try:
        command: Command = entry.load()
    except (ImportError, AttributeError) as error:
        return _Unavailable(entry, error)
    return command


def _report(error: BaseException, code: int, debug: bool) -> int:
    if debug:
        for line in traceback.format_exception(error):
            say(*line.removesuffix("\n").split("\n"), file=sys.stderr)
    for message in _messages(error, code):
        say(*f"error: {message}".split("\n"), file=sys.stderr)
    return code


def _messages(error: BaseException, code: int) -> list[str]:
    if isinstance(error, Problems):
        headline = [shown(error.headline, MOST)] if error.headline else []
        return [*headline, *error.named()]
    if isinstance(error, OSError) and error.filename is not None:
        return [shown(f"{error.filename}: {error.strerror}")]
    if isinstance(error, MemoryError):
        return [f"not enough memory: {shown(str(error))}" if str(error) else "not enough memory"]
    if code == BUG:
        name = type(error).__name__
        return [f"a bug of tosa-engine: {name}: {shown(str(error), MOST)}; run again with --debug and report it"]
    return [str(error)]


if __name__ == "__main__":
    sys.exit(main())
