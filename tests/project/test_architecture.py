"""The shape of the code: who may import whom, numba behind one door, nothing that shadows Arm's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from import_order import INSIDE, MAY_IMPORT
from sources import MODULES, PACKAGES, ROOT, SOURCES, Import, imports_of, module_name, package_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

JIT_DOOR = "tosa_engine.kernels._jit"
KERNELS_FACE = ("tosa_engine.kernels", "tosa_engine.kernels.work")  # the registry, and the vocabulary of work
ARM_TOP_LEVEL_NAMES = ("conformance", "runner", "generator", "serializer", "checker", "tests")


def room_of(module: str, rooms: dict[str, set[str]] = MAY_IMPORT) -> str | None:
    candidates = [room for room in rooms if module == room or module.startswith(f"{room}.")]
    if candidates == ["tosa_engine"] and module.count("."):
        return None  # a module of the engine that has no room yet, or a name defined in tosa_engine/__init__.py
    return max(candidates, key=len, default=None)


def forbidden(source: str, module: str, path: Path | None = None) -> Iterator[str]:
    room = room_of(module)
    assert room is not None, f"{module} has no room; add it to MAY_IMPORT and to docs/architecture.md"
    allowed = MAY_IMPORT[room]
    for imported in imports_of(source, package_of(module, path)):
        top = imported.module.partition(".")[0]
        if top in ARM_TOP_LEVEL_NAMES:
            yield f"{module}:{imported.line} imports {imported.module}: packages import neither tests nor Arm's tools"
        target = room_of(imported.module)
        if top not in PACKAGES or target in (None, room) or imported.typing_only:
            continue
        if target not in allowed and top not in allowed:
            yield f"{module}:{imported.line} imports from {target}, which is not below it"


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_imports_go_one_way(path: Path) -> None:
    module = module_name(path)
    assert not set(forbidden(path.read_text(encoding="utf-8"), module, path))


def strangers(source: str, module: str, path: Path | None = None) -> Iterator[str]:
    """Modules of kernels that a planner names, those that only the type checker sees, too."""
    for imported in imports_of(source, package_of(module, path)):
        name = imported.module if imported.module in MODULES else imported.module.rpartition(".")[0]
        if room_of(name) == "tosa_engine.kernels" and name not in KERNELS_FACE:
            yield f"{module}:{imported.line} imports {name}; kernels say what planners need in {KERNELS_FACE}"


@pytest.mark.parametrize("path", [p for p in SOURCES if room_of(module_name(p)) == "tosa_engine.plan"], ids=module_name)
def test_plans_name_no_kernel(path: Path) -> None:
    assert not list(strangers(path.read_text(encoding="utf-8"), module_name(path), path))


@pytest.mark.parametrize(
    "source",
    ["from ..kernels.scale import between", "if TYPE_CHECKING:\n    from ..kernels.forms import Form"],
)
def test_a_kernel_that_a_plan_names_is_found(source: str) -> None:
    assert list(strangers(source, "tosa_engine.plan.single"))
    assert not list(
        strangers("from ..kernels import KERNELS\nfrom ..kernels.work import Work", "tosa_engine.plan.single")
    )


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("lut.functions", "import tosa_engine.types"),
        ("tosa_engine.spec.shape", "from ..infer import infer"),
        ("tosa_engine.serialize.read", "from ..kernels import tensor_ops"),
        ("tosa_engine.lower.pool", "from ..frontends.nnef import document"),
        ("tosa_engine.frontends.nnef.data", "def f():\n    from ...runtime.session import Session"),
        ("tosa_engine.plan.steps", "from .. import runtime"),
        ("tosa_engine.kernels.shape", "from ..oracle import shape"),
        ("tosa_engine.oracle.shape", "from ..kernels import shape"),
        ("tosa_engine.runtime.session", "import quant.calibration.calibrate"),
        ("quant.report", "import tests.helpers"),
        ("tosa_engine.compliance.suite", "import conformance"),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str) -> None:
    assert len(set(forbidden(source, module))) == 1


def test_a_module_without_a_room_is_found() -> None:
    with pytest.raises(AssertionError, match="has no room"):
        list(forbidden("", "tosa_engine.somewhere"))


def test_no_format_is_named_where_every_format_is_lowered() -> None:
    for path in (ROOT / "tosa_engine/lower").rglob("*.py"):
        assert "nnef" not in path.read_text(encoding="utf-8").lower(), path


def jit_imports(path: Path) -> list[Import]:
    found = imports_of(path.read_text(encoding="utf-8"), package_of(module_name(path), path))
    return [i for i in found if i.module.split(".")[0] in ("numba", "llvmlite")]


def test_numba_and_llvmlite_are_behind_one_door() -> None:
    for path in SOURCES:
        module = module_name(path)
        if module != JIT_DOOR and not module.startswith(f"{JIT_DOOR}."):
            assert not jit_imports(path), f"{module} imports numba or llvmlite; import {JIT_DOOR} instead"


def is_inside(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def part_of(module: str, room: str) -> tuple[int, str]:
    """The part of a room that a module is in, behind its layer in INSIDE."""
    part = module.removeprefix(room).removeprefix(".").partition(".")[0]
    found = [layer for layer, parts in enumerate(INSIDE[room]) if part in parts]
    assert len(found) == 1, f"{module} has no place in {room}; add '{part}' to INSIDE and to docs/architecture.md"
    return found[0], part


def inside(source: str, module: str, room: str, path: Path | None = None) -> Iterator[Import]:
    """Imports of other modules of the room: the late ones, and those for types, too."""
    for imported in imports_of(source, package_of(module, path)):
        name = imported.module if imported.module in MODULES else imported.module.rpartition(".")[0]
        if name in MODULES and name != module and is_inside(name, room):
            yield imported._replace(module=name)


def upward(source: str, module: str, room: str, path: Path | None = None) -> Iterator[str]:
    layer, part = part_of(module, room)
    for imported in inside(source, module, room, path):
        below, other = part_of(imported.module, room)
        if other != part and below >= layer:
            yield f"{module}:{imported.line} imports {imported.module}, which is not below '{part}'"


@pytest.mark.parametrize(
    ("room", "module"), [(room, module) for room in INSIDE for module in MODULES if is_inside(module, room)]
)
def test_imports_inside_a_room_go_one_way(room: str, module: str) -> None:
    path = MODULES[module]
    assert not set(upward(path.read_text(encoding="utf-8"), module, room, path))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tosa_engine.frontends.nnef.files.container", "def f():\n    from ..format import FORMAT"),
        ("tosa_engine.frontends.nnef.language.flat", "if TYPE_CHECKING:\n    from ..files.dat import Item"),
        ("tosa_engine.frontends.nnef.language.tree", "from .parser import parse_document"),
        ("tosa_engine.kernels.work", "from .tile.geometry import SIZE"),
        ("tosa_engine.kernels.tile.loops", "def f():\n    from ..depthwise import loops"),
        ("tosa_engine.kernels.scale.emit", "if TYPE_CHECKING:\n    from ..tile.packing import Panels"),
        ("tosa_engine.kernels.winograd.loops", "from ..depthwise.loops import row_starts"),
        ("tosa_engine.kernels.tensor_ops", "from . import KERNELS"),
        ("tosa_engine.compare.arrays", "from .comparison import Row"),
        ("quant.legalize.lints", "if TYPE_CHECKING:\n    from ..calibration.statistics import TensorStatistics"),
        ("quant.calibration.methods", "def f():\n    from quant import quantize"),
        ("quant.search.units", "from ..report import measure"),
    ],
)
def test_an_import_that_goes_up_inside_a_room_is_found(module: str, source: str) -> None:
    assert any(list(upward(source, module, room)) for room in INSIDE if is_inside(module, room))


def circle(edges: Mapping[str, set[str]]) -> set[str]:
    """What leads back to itself."""
    left = dict(edges)
    while ends := {module for module, used in left.items() if not used & left.keys()}:
        left = {module: used for module, used in left.items() if module not in ends}
    while starts := left.keys() - set().union(*left.values()):
        left = {module: used for module, used in left.items() if module not in starts}
    return set(left)


@pytest.mark.parametrize("room", INSIDE)
def test_no_circle_in_a_room(room: str) -> None:
    paths = {module: path for module, path in MODULES.items() if is_inside(module, room)}
    edges = {
        module: {i.module for i in inside(path.read_text(encoding="utf-8"), module, room, path)}
        for module, path in paths.items()
    }
    assert len(edges) > 1
    assert not circle(edges)


def imported_modules(source: str, package: str) -> set[str]:
    """Our modules that a source imports. A package counts where a name of its own is taken, not only its modules."""
    found = imports_of(source, package)
    own: set[str] = set()
    for one in found:
        names = [i.module for i in found if i.line == one.line and i.module.startswith(f"{one.module}.")]
        if one.module in MODULES and not (names and all(name in MODULES for name in names)):
            own.add(one.module)
    return own


def test_no_circle_anywhere() -> None:
    """Late imports and those for types count."""
    edges = {
        module: imported_modules(path.read_text(encoding="utf-8"), package_of(module, path)) - {module}
        for module, path in MODULES.items()
    }
    assert sum(map(len, edges.values())) > 1000
    assert not circle(edges)


def test_packages_count_where_their_own_names_are_taken() -> None:
    assert imported_modules("from ..kernels import work", "tosa_engine.plan") == {"tosa_engine.kernels.work"}
    both = imported_modules("from ..kernels import KERNELS, work", "tosa_engine.plan")
    assert both == {"tosa_engine.kernels", "tosa_engine.kernels.work"}


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": set()}) == {"b", "c"}
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()


def test_nothing_shadows_arms_tools() -> None:
    for name in ARM_TOP_LEVEL_NAMES:
        assert not (ROOT / name / "__init__.py").exists()
        assert not (ROOT / f"{name}.py").exists()
