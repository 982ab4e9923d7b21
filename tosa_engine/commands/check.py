"""`tosa-engine check`: is the model legal for a target? All problems at once; what can go wrong for which inputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..text import say
from .common import (
    add_custom,
    add_model,
    add_npu,
    add_options,
    add_target,
    describe,
    import_custom,
    npu_of,
    open_source,
    refuse_others,
    target_of,
    values_of,
    warn_of_version,
)
from .told import warn

if TYPE_CHECKING:
    import argparse

    from ..formats import Format, Option
    from ..graph import Graph
    from ..npu import Npu
    from ..ranges import Finding, Ranges
    from ..ranges.report import Note
    from ..target import Target

MOST_ELEMENTS = 1 << 20  # of the tensors of a part that is tried: the oracle is slow


class _Check:
    name = "check"
    help = "list everything that keeps a model from being legal on a target"
    example = "check net.tosa --profile PRO-INT --level 8K\ncheck net.tosa --target ethos-u55-256"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        add_custom(parser)
        add_target(parser)
        add_npu(parser)
        parser.add_argument(
            "--ranges",
            action="store_true",
            help="say of every REQUIRE on a value whether it holds for all inputs, with its bound and margin in bits",
        )
        parser.add_argument(
            "--format", choices=("text", "json"), default="text", help="of --ranges; json has every channel"
        )
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        npu = npu_of(args)
        target = target_of(args) if npu is None else npu.target
        from ..errors import UsageError
        from ..formats import format_of
        from ..graph import without_collector

        if args.format == "json" and not args.ranges:
            raise UsageError("--format json needs --ranges")
        _check_listing(args)
        import_custom(args.custom)
        found = format_of(args.model)
        refuse_others(args, _listing_options(), found.listing)
        source, shown = open_source(args), values_of(args, found.listing)
        if any(shown.values()):
            warn(source.warnings)
            say(*source.listing(**shown).removesuffix("\n").split("\n"))
            return 0
        passed = [f"{found.name} step {n}, {step.name}: {step.found}" for n, step in enumerate(source.steps(), 1)]
        warn(source.warnings)
        with without_collector():
            graph = source.graph()
            warn_of_version(graph, target)
            _validate(graph, target, npu)
        if args.ranges:
            return _ranges(graph, args.format)
        for line in passed:
            say(line)
        operators = sum(len(block.operators) for _, block in graph.blocks())
        say(
            f"{args.model}: no problem; operators: {operators}; target: {describe(target) if npu is None else npu.name}"
        )
        return 0


def _validate(graph: Graph, target: Target, npu: Npu | None) -> None:
    """Raise what keeps a graph from being legal, and all rules of a processor that it breaks."""
    from ..check import check
    from ..errors import raise_all

    problems = check(graph, target)
    if npu is not None:
        from ..npu import violations

        problems += violations(graph, npu)
    raise_all(problems)


def _listing_options() -> list[tuple[Format, Option]]:
    from ..formats import formats

    return [(one, option) for one in formats() for option in one.listing]


def _check_listing(args: argparse.Namespace) -> None:
    """Raises UsageError for an option that says more about another one, which isn't given."""
    from ..errors import UsageError

    for _, option in _listing_options():
        if option.needs and getattr(args, option.name) and not getattr(args, option.needs):
            raise UsageError(f"{option.flag} needs --{option.needs.replace('_', '-')}")


def _ranges(graph: Graph, form: str) -> int:
    """Print the findings; 4 where all inputs violate a REQUIRE."""
    from ..errors import RequireViolation
    from ..ranges import VIOLATED, analyse, report

    found = analyse(graph)
    notes = _counterexamples(graph, found)
    text = json.dumps(report.data(found, notes), indent=1) if form == "json" else report.text(found, notes)
    say(*text.split("\n"))
    return RequireViolation.exit_code if found.count(VIOLATED) else 0


def _counterexamples(graph: Graph, found: Ranges) -> dict[tuple[str, str], Note]:
    """Inputs that violate what couldn't be proved, confirmed by the oracle, where some are found."""
    from ..infer import infer
    from ..ranges import DEPENDS

    graph = graph.copy()
    infer(graph)
    notes: dict[tuple[str, str], Note] = {}
    for finding in found.findings:
        if finding.verdict == DEPENDS:
            notes[finding.node, finding.label] = _counterexample(graph, finding)
    return notes


def _counterexample(graph: Graph, finding: Finding) -> Note:
    from ..errors import RequireViolation
    from ..oracle import run
    from ..ranges import witness
    from ..ranges.report import Note

    part = witness.part_of(graph, finding)
    if part is None:
        return Note("no input was tried: the operator belongs to a region of control flow")
    size = sum(tensor.size for tensor in part.main.tensors.values())
    if size > MOST_ELEMENTS:
        return Note(f"no input was tried: its part of the graph has {size} elements")
    for candidate in witness.candidates(part, finding):
        try:
            run(part, candidate.feeds)
        except RequireViolation as error:
            if (error.label, error.node) == (finding.label, finding.node):
                return Note(f"violated when {candidate.words}: {error.message}", candidate.feeds)
    return Note("no input was found that violates it")


command = _Check()
