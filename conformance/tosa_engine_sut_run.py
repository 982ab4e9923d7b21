"""The plug-in for the official test runner: `tosa_verif_run_tests --sut-module tosa_engine_sut_run` runs our engine.

Each test runs inside the runner's process. Arguments come as `--sut-module-args tosa_engine_sut_run:NAME=VALUE ...`:

    engine=kernels|oracle           what executes the graphs (kernels)
    target=PRO-INT,EXT-INT16,...    the profiles and extensions to check against (all)
    version=1.0|1.1-draft           the version of TOSA to check against (the newest)

The level is the runner's own `--tosa_level`.
"""

from __future__ import annotations

from typing import Final

from runner.tosa_test_runner import TosaTestRunner

from tosa_engine import arrays
from tosa_engine.compliance import ENGINES, Description, run_test
from tosa_engine.errors import UsageError, Verdict
from tosa_engine.target import Target
from tosa_engine.versions import NEWEST

LEVELS: Final = {"EIGHTK": "8K", "NONE": "none"}
RESULTS: Final = {
    Verdict.VALID: TosaTestRunner.TosaGraphResult.TOSA_VALID,
    Verdict.ERROR: TosaTestRunner.TosaGraphResult.TOSA_ERROR,
    Verdict.UNPREDICTABLE: TosaTestRunner.TosaGraphResult.TOSA_UNPREDICTABLE,
    None: TosaTestRunner.TosaGraphResult.OTHER_ERROR,
}


class TosaSUTRunner(TosaTestRunner):
    """One test on our engine; the name is the one that the official runner looks for."""

    def runTestGraph(self) -> tuple[TosaTestRunner.TosaGraphResult, str]:
        """The verdict and its reason; the outputs lie beside the description afterwards."""
        options = parse_options(self.runnerArgs)
        names = options["target"].split(",") if options["target"] else None
        target = Target.parse(names, LEVELS[self.args.tosa_level], options["version"])
        description = Description.of(self.testDesc, self.testDirPath, self.descFile)
        outcome = run_test(description, ENGINES[options["engine"]], target)
        for name, path in description.outputs.items():
            if name in outcome.outputs:
                arrays.write(path, {name: outcome.outputs[name]})
        return RESULTS[outcome.verdict], outcome.message


def parse_options(arguments: list[str]) -> dict[str, str]:
    """The arguments by name, with their defaults. Raises UsageError for what isn't one."""
    options = {"engine": "kernels", "target": "", "version": str(NEWEST)}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or name not in options:
            raise UsageError(f"unknown argument '{argument}'; known: {', '.join(f'{n}=...' for n in options)}")
        options[name] = value
    if options["engine"] not in ENGINES:
        raise UsageError(f"unknown engine '{options['engine']}'; choose from: {', '.join(ENGINES)}")
    return options
