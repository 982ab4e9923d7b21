"""What no source may hold: what runs the text of a file, prints past `shown`, or says Any without a reason."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from sources import MODULES, ROOT, SOURCES, imports_of, module_name, package_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_FILE_LINES, MAX_FUNCTION_LINES = 300, 50

# where kernels say Any, how often at most, and why
ANY_IN_KERNELS = {
    "_jit": (85, "numba's compiler and types, LLVM's linker, arguments of any function; the aliases of `_jit.typed`"),
    "as_conv2d": (1, "values of attributes"),
    "elementwise": (4, "what numpy's functions return, which take the place of operands"),
    "shared_constants": (5, "arguments of any function that packs"),
    "tile": (1, "arguments of any function that prepares"),
    "winograd": (4, "modules whose functions compiled code takes"),
    "work": (1, "arguments of any loop"),
}


def anys(source: str) -> int:
    """How often Any is an annotation or a part of one, but for the parameters of numpy's own types."""
    tree = tree_of(source)
    of_numpy = {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).startswith("np.")
        for inside in ast.walk(node.slice)
    }
    return sum(isinstance(n, ast.Name) and n.id == "Any" and id(n) not in of_numpy for n in ast.walk(tree))


def test_kernels_say_any_where_there_is_a_reason() -> None:
    room = "tosa_engine.kernels."
    found: Counter[str] = Counter()
    for module, path in MODULES.items():
        if module.startswith(room):
            found[module.removeprefix(room).partition(".")[0]] += anys(path.read_text(encoding="utf-8"))
    assert {part: count for part, count in found.items() if count > ANY_IN_KERNELS.get(part, (0, ""))[0]} == {}
    assert anys("def f(x: Any, y: list[Any]) -> np.dtype[Any]: ...") == 2


DANGEROUS = {"eval", "exec", "compile", "__import__"}
DANGEROUS_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}


def called(node: ast.Call) -> str:
    """What is called, where a name that ends in one of those that are looked for is; else nothing."""
    last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return ast.unparse(node.func) if last in ("print", "write", "load") else ""


def dangers(source: str, package: str = "quant") -> list[str]:
    """Calls that run what a file says, and loads that unpickle."""
    found: list[str] = []
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DANGEROUS:
            found.append(f"{node.lineno}: {node.func.id}()")
        if (
            isinstance(node, ast.keyword)
            and node.arg == "allow_pickle"
            and getattr(node.value, "value", None) is not False
        ):
            found.append(f"{node.lineno}: allow_pickle")
        if isinstance(node, ast.Call) and called(node) == "np.load":
            found += [] if "allow_pickle" in {k.arg for k in node.keywords} else [f"{node.lineno}: np.load"]
    modules = {i.module.partition(".")[0] for i in imports_of(source, package)}
    return found + sorted(modules & DANGEROUS_MODULES)


def prints(source: str) -> list[int]:
    """The lines where something is printed as it is: `text.say` shows what names hold."""
    if not any(word in source for word in ("print(", "stdout", "stderr")):
        return []
    calls = [n for n in ast.walk(tree_of(source)) if isinstance(n, ast.Call)]
    direct = [n for n in calls if called(n) in ("print", "sys.stdout.write", "sys.stderr.write")]
    return [n.lineno for n in direct if not (n.args and ast.unparse(n.args[0]).startswith(("shown(", "joined(")))]


def test_nothing_is_printed_but_shown_text() -> None:
    assert {str(path): found for path in SOURCES if (found := prints(path.read_text(encoding="utf-8")))} == {}
    assert prints("print(name)\nprint(shown(name))\nsys.stderr.write(name)") == [1, 3]


def test_no_file_can_run_code() -> None:
    for path in SOURCES:
        assert not dangers(path.read_text(encoding="utf-8"), package_of(module_name(path), path)), path


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')",
        "exec('')",
        "import pickle",
        "np.load(f)",
        "np.load(f, allow_pickle=True)",
        "from marshal import loads",
    ],
)
def test_a_danger_is_found(source: str) -> None:
    assert dangers(source)


def test_budgets_of_length_are_reported(report: Callable[[str], None]) -> None:
    """Files of 300 lines and functions of 50 read best; more is told, not refused."""
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        lines = source.count("\n")
        if lines > MAX_FILE_LINES:
            report(f"over {MAX_FILE_LINES} lines: {path.relative_to(ROOT)} has {lines}")
        for node in ast.walk(tree_of(source)):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    report(f"over {MAX_FUNCTION_LINES} lines: {node.name} in {path.relative_to(ROOT)} has {length}")
