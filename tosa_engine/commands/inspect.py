"""`tosa-engine inspect`: what is in a model."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..text import joined, say
from .common import add_custom, add_memory, add_model, add_npu, add_options, import_custom, load_model, npu_of
from .inspect_target import on_target, text_of

if TYPE_CHECKING:
    import argparse

    from ..graph import Graph, Tensor

Summary = dict[str, Any]
MOST_ROWS = 10


def summary(graph: Graph) -> Summary:
    """What `inspect` prints, as plain data. Shapes that can't be inferred are null."""
    from ..npu.work import work_of

    work = work_of(graph)
    blocks = [block for _, block in graph.blocks()]
    tensors = [tensor for block in blocks for tensor in block.tensors.values()]
    operators = Counter(op.op for block in blocks for op in block.operators)
    return {
        "source": graph.source,
        "version": graph.version_text,
        "inputs": [_tensor(t) for t in graph.inputs],
        "outputs": [_tensor(t) for t in graph.outputs],
        "operators": dict(sorted(operators.items())),
        "types": dict(sorted(Counter(t.dtype.name for t in tensors).items())),
        "constant_bytes": sum(t.data.nbytes for t in tensors if t.data is not None),
        "macs": sum(one.macs for one in work),
        "work": [asdict(one) for one in work],
    }


def _tensor(tensor: Tensor) -> Summary:
    found: Summary = {"name": tensor.name, "type": tensor.dtype.name, "shape": tensor.shape and list(tensor.shape)}
    if tensor.quant is not None and tensor.dtype.is_int:
        found["scale"], found["zero_point"] = tensor.quant.scale[0], tensor.quant.zero_point[0]
    return found


def _described(tensor: Summary) -> str:
    scale = f", scale {tensor['scale']!r}, zero point {tensor['zero_point']}" if "scale" in tensor else ""
    return f"{tensor['name']}: {tensor['type']}{tensor['shape']}{scale}"


def _text(found: Summary) -> str:
    lines = [f"source     {found['source'] or '-'}", f"version    TOSA {found['version']}"]
    for side in ("inputs", "outputs"):
        lines += [f"{side[:-1]:10} {_described(t)}" for t in found[side]]
    lines.append(f"operators  {sum(found['operators'].values())}")
    lines += [f"  {count:6} {name}" for name, count in found["operators"].items()]
    lines.append(f"tensors    {sum(found['types'].values())}")
    lines += [f"  {count:6} {name}" for name, count in found["types"].items()]
    lines.append(f"constants  {found['constant_bytes']:,} bytes")
    lines.append(f"MACs       {found['macs']:,}")
    lines += _work(found["work"])
    if found.get("notes"):
        lines += [f"notes      {len(found['notes'])}", *(f"  {note}" for note in found["notes"])]
    if found["problems"]:
        lines.append(f"problems   {len(found['problems'])}, so some shapes are unknown")
        lines += [f"  {problem}" for problem in found["problems"]]
    if "target" in found:
        lines += text_of(found["target"])
    if "plan" in found:
        from ..plan.describe import text

        lines += ["plan", *text(found["plan"]).split("\n")]
    return joined(lines)


def _work(found: list[Summary]) -> list[str]:
    """The operators that compute most, or where they compute alike, move most."""
    most = sorted(found, key=lambda one: (-one["macs"], -one["read"] - one["constant"] - one["written"]))[:MOST_ROWS]
    rows = [
        [f"{one[key]:,}" for key in ("macs", "read", "constant", "written")] + [f"{one['op']} {one['node']}"]
        for one in most
    ]
    table = [["MACs", "bytes read", "constant", "written", "operator"], *rows] if rows else []
    widths = [max(len(row[i]) for row in table) for i in range(4)] if rows else []
    all_of_them = "" if len(most) == len(found) else "; --format json has all"
    head = f"work       {len(most)} of {len(found)} operators, those that compute most first{all_of_them}"
    cells = ["  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[4]]) for row in table]
    return [head, *(f"  {line}" for line in cells)]


class _Inspect:
    name = "inspect"
    help = "print inputs, outputs, operators, types, size and multiply-accumulates of a model"
    example = "inspect net.tosa --plan\ninspect net.tosa --target ethos-u85-256"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        add_options(parser, self.name)
        add_custom(parser)
        add_npu(parser)
        add_memory(parser)
        parser.add_argument("--format", choices=("text", "json"), default="text", help="of what is printed")
        parser.add_argument(
            "--plan", action="store_true", help="the steps of a run too: fused operators, kernels, costs and memory"
        )

    def run(self, args: argparse.Namespace) -> int:
        from ..infer import callees_first, infer_block

        npu = npu_of(args)
        import_custom(args.custom)
        graph = load_model(args)
        problems = [p for _, block in callees_first(graph) for p in infer_block(block, graph)[1]]
        found = summary(graph) | {"problems": [str(p) for p in problems]}
        if graph.record is not None and graph.record.notes:
            found["notes"] = graph.record.notes
        if npu is not None:
            found["target"] = on_target(graph, npu)
        if args.plan:
            from ..plan.describe import facts
            from ..runtime.session import Session

            found["plan"] = facts(Session(graph).plan())
        text = json.dumps(found, indent=2) if args.format == "json" else _text(found)
        say(*text.split("\n"))
        return 0


command = _Inspect()
