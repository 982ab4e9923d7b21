"""`tosa-engine convert`: a model in another file format; NNEF becomes flat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .common import add_model, add_nnef, inverted_of, load_model, warn

if TYPE_CHECKING:
    import argparse

TOSA = (".tosa", ".json")
NNEF = (".nnef", ".nnef.tgz", ".nnef.tar.gz", ".tar")


class _Convert:
    name = "convert"
    help = "write a model in another file format"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        parser.add_argument(
            "-o", "--output", required=True, metavar="FILE",
            help=f"what to write; the name tells the format: {', '.join((*NNEF, *TOSA))}",
        )  # fmt: skip
        parser.add_argument(
            "--primitive", action="store_true", help="expand the compounds of the NNEF standard into primitives, too"
        )
        add_nnef(parser)

    def run(self, args: argparse.Namespace) -> int:
        from ..errors import UsageError

        if args.output.endswith(NNEF):
            return _to_nnef(args.model, args.output, args.primitive, inverted_of(args))
        if not args.output.endswith(TOSA):
            raise UsageError(f"can't tell what to write to '{args.output}' by its name: {', '.join((*NNEF, *TOSA))}")
        if args.primitive:
            raise UsageError("--primitive needs an NNEF output")
        from .. import serialize

        graph = load_model(args.model, inverted_of(args))
        serialize.write(graph, args.output)
        print(f"{args.output}: {sum(len(block.operators) for _, block in graph.blocks())} operators")
        return 0


def _to_nnef(model: str, output: str, primitive: bool, inverted_scales: bool | None) -> int:
    from ..errors import UsageError
    from ..load import is_nnef

    if not Path(model).exists():
        raise FileNotFoundError(2, "no such model", model)
    if not is_nnef(Path(model)):
        raise UsageError(f"'{model}' isn't an NNEF model: TOSA graphs can't be written as NNEF")
    from ..frontends import nnef
    from ..frontends.nnef.document import lower

    document = nnef.load_document(model)
    nnef.own_quantization(document, inverted_scales)  # raises what is wrong with it
    warn(document.warnings)
    if primitive:
        document = lower(document, lambda _: False)
    nnef.save(document, output)
    print(f"{output}: {len(document.operations)} operations, {len(document.variables)} variables")
    return 0


command = _Convert()
