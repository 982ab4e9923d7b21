"""`tosa-engine check`: is the model legal for a target? All problems at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common import add_model, add_target, describe, target_of

if TYPE_CHECKING:
    import argparse


class _Check:
    name = "check"
    help = "list everything that keeps a model from being legal on a target"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        add_target(parser)

    def run(self, args: argparse.Namespace) -> int:
        target = target_of(args)
        from ..check import validate
        from ..load import load

        graph = load(args.model)
        validate(graph, target)
        operators = sum(len(block.operators) for _, block in graph.blocks())
        print(f"{args.model}: no problem; operators: {operators}; target: {describe(target)}")
        return 0


command = _Check()
