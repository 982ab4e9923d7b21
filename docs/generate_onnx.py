"""Writes the last section of docs/onnx.md: what becomes of every operator of ONNX. A test keeps it fresh.

python docs/generate_onnx.py        with the extra `onnx`
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends.onnx import evaluator
from tosa_engine.frontends.onnx.operators import IMPOSSIBLE, OPERATORS, sequences
from tosa_engine.frontends.onnx.source import ModelSource
from tosa_engine.spec import is_constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Graph

PAGE = Path(__file__).with_name("onnx.md")
HEADING: Final = "## All operators\n"
INTRODUCTION: Final = """
Made by `python docs/generate_onnx.py`: change that, not this table. It has the operators of ai.onnx {version}.

- *direct*: one operator of TOSA, perhaps with casts, shapes and constants around it; *composite*: several; *body*: the
  function that its schema has; *decided*: what is known before the graph runs decides what is mapped; *computed*: its
  result is known when the model is read; *refused*: by name, with this reason.
- *TOSA form*: of the first node test of the operator that has one, in order of their first use, without constants, and
  their number where some are used more than once. Those in lower case are composites of our own.

"""
VIEWS: Final = ("RESHAPE", "TRANSPOSE", "CAST", "RESCALE", "IDENTITY", "SLICE", "CONCAT", "PAD")
WITHOUT_TESTS: Final[Mapping[str, tuple[list[list[int]], dict[str, Any]]]] = {
    "GlobalLpPool": ([[1, 2, 4, 4]], {}),
    "MaxRoiPool": ([[1, 2, 6, 6], [3, 5]], {"pooled_shape": [2, 2]}),
    "ReduceLogSumExp": ([[2, 3]], {}),
}
DECIDED: Final = ("If", "Loop", "Scan", *sequences.OPERATORS)


def nodes() -> Any:
    """conformance/onnx_nodes.py."""
    name = "onnx_nodes"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, PAGE.parents[1] / "conformance" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def operators() -> dict[str, Any]:
    """The newest schema of every operator of ai.onnx, by name."""
    from onnx import defs

    return {schema.name: schema for schema in sorted(defs.get_all_schemas(), key=lambda s: s.name) if not schema.domain}


def kind_of(name: str, schema: Any, form: str) -> str:
    if ("", name) in IMPOSSIBLE:
        return "refused"
    if name in DECIDED:
        return "decided"
    if ("", name) in OPERATORS:
        own = {op for op in form.partition(" (")[0].split(", ") if op} - set(VIEWS)
        return "direct" if len(own) <= 1 else "composite"
    if name in evaluator.RULES or name in evaluator.SHAPES:
        return "computed"
    return "body" if schema.has_function or schema.has_context_dependent_function else "refused"


def form_of(graph: Graph) -> str:
    names = [op.op for op in graph.main.operators if not is_constant(op)]
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct) + (f" ({len(names)})" if len(names) > len(distinct) else "")


def forms(wanted: Iterable[str]) -> dict[str, str]:
    """By operator, of its first test that is a graph with operators."""
    runner, names = nodes(), set(wanted)
    found = {op: _without_tests(op) for op in WITHOUT_TESTS if op in names}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for case in runner.cases():
            op = runner.operator_of(case)
            if op not in names or found.get(op) or "_expanded" in case.name or not case.data_sets:
                continue
            path.write_bytes(case.model.SerializeToString())
            try:
                graph, *_ = runner.graph_of(case, path, op, list(case.data_sets[0][0]))
            except TosaEngineError:
                continue
            found[op] = form_of(graph)
    return found


def _without_tests(op: str) -> str:
    """Of an operator whose node tests are none, or of doubles."""
    from onnx import TensorProto, helper

    shapes, attributes = WITHOUT_TESTS[op]
    names = [f"x{i}" for i in range(len(shapes))]
    node = helper.make_node(op, names, ["y"], **attributes)
    ports = [helper.make_tensor_value_info(*one) for one in zip(names, [TensorProto.FLOAT] * len(names), shapes)]
    graph = helper.make_graph([node], "g", ports, [helper.make_empty_tensor_value_info("y")])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]).SerializeToString())
        return form_of(ModelSource(path).graph())


def row(name: str, schema: Any, found: Mapping[str, str]) -> str:
    form = found.get(name, "")
    kind = kind_of(name, schema, form)
    shown = IMPOSSIBLE.get(("", name), "" if kind == "computed" else form)
    return f"| `{name}` | {schema.since_version} | {kind} | {shown} |"


def table() -> str:
    from onnx import defs

    schemas = operators()
    found = forms(schemas)
    lines = ["| operator | since | way | TOSA form, or reason |", "|---|---:|---|---|"]
    lines += [row(name, schema, found) for name, schema in schemas.items()]
    return INTRODUCTION.format(version=defs.onnx_opset_version()) + "\n".join(lines) + "\n"


def page() -> str:
    """The whole page: what is written by hand, and the table."""
    return PAGE.read_text(encoding="utf-8").partition(HEADING)[0] + HEADING + table()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
