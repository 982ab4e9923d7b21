"""`tosa-engine check`: is the model legal for a target? All problems at once; what can go wrong for which inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from .common import (
    add_custom,
    add_model,
    add_nnef,
    add_target,
    describe,
    import_custom,
    inverted_of,
    target_of,
    warn,
    warn_of_version,
)

if TYPE_CHECKING:
    import argparse

    from ..graph import Graph
    from ..ranges import Finding, Ranges
    from ..ranges.report import Note

MOST_ELEMENTS = 1 << 20  # of the tensors of a part that is tried: the oracle is slow


class _Check:
    name = "check"
    help = "list everything that keeps a model from being legal on a target"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        add_custom(parser)
        add_target(parser)
        parser.add_argument(
            "--ranges",
            action="store_true",
            help="say of every REQUIRE on a value whether it holds for all inputs, with its bound and margin in bits",
        )
        parser.add_argument(
            "--format", choices=("text", "json"), default="text", help="of --ranges; json has every channel"
        )

        parser.add_argument(
            "--flat", action="store_true",
            help="only print an NNEF model as a flat document: fragments expanded, expressions computed",
        )  # fmt: skip
        parser.add_argument(
            "--primitive", action="store_true", help="of --flat: expand the compounds of the NNEF standard, too"
        )
        parser.add_argument(
            "--strict",
            action="store_true",
            help="what bends the NNEF standard is an error, even if its meaning is clear",
        )
        add_nnef(parser)

    def run(self, args: argparse.Namespace) -> int:
        target = target_of(args)
        from ..check import validate
        from ..errors import UsageError
        from ..load import is_nnef, load

        if args.format == "json" and not args.ranges:
            raise UsageError("--format json needs --ranges")
        if args.primitive and not args.flat:
            raise UsageError("--primitive needs --flat")
        import_custom(args.custom)
        nnef = Path(args.model).exists() and is_nnef(Path(args.model))
        for flag in ("flat", "strict"):
            if getattr(args, flag) and not nnef:
                raise UsageError(f"--{flag} needs an NNEF model")
        if args.flat:
            return _flat(args.model, args.primitive)
        passed = _nnef_steps(args.model, args.strict, inverted_of(args)) if nnef else []
        graph = load(args.model, inverted_scales=inverted_of(args))
        warn_of_version(graph, target)
        validate(graph, target)
        if args.ranges:
            return _ranges(graph, args.format)
        print("".join(f"{line}\n" for line in passed), end="")
        operators = sum(len(block.operators) for _, block in graph.blocks())
        print(f"{args.model}: no problem; operators: {operators}; target: {describe(target)}")
        return 0


def _nnef_steps(model: str, strict: bool, inverted_scales: bool | None) -> list[str]:
    """The steps of chapter 6 of NNEF, before the graph that the document becomes is checked: a line for each."""
    from ..frontends.nnef.language.validity import steps

    passed = []
    for number, step in enumerate(steps(model, strict, inverted_scales), 1):
        passed.append(f"NNEF step {number}, {step.name}: {step.found}")
        if step.document is not None:
            warn(step.document.warnings)
    return passed


def _flat(model: str, primitive: bool) -> int:
    from ..frontends.nnef import format_document, load_document
    from ..frontends.nnef.document import lower

    document = load_document(model)
    warn(document.warnings)
    print(format_document(lower(document, lambda _: not primitive)), end="")
    return 0


def _ranges(graph: Graph, form: str) -> int:
    """Print the findings; 4 where all inputs violate a REQUIRE."""
    from ..errors import RequireViolation
    from ..ranges import VIOLATED, analyse, report

    found = analyse(graph)
    notes = _counterexamples(graph, found)
    print(json.dumps(report.data(found, notes), indent=1) if form == "json" else report.text(found, notes))
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
