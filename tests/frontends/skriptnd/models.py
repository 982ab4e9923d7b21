"""Graphs in SkriptND for tests, and the three ways to compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine.frontends.skriptnd.compose import Composer
from tosa_engine.frontends.skriptnd.interpret import Interpreter
from tosa_engine.frontends.skriptnd.language.parser import parse
from tosa_engine.frontends.skriptnd.library import Library
from tosa_engine.frontends.skriptnd.mapping import Mapper, has_mapper
from tosa_engine.frontends.skriptnd.validity import check
from tosa_engine.oracle import run
from tosa_engine.passes import run_pipeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.frontends.skriptnd.tensors import Composed, TensorRef


def library_of(text: str, **modules: str) -> Library:
    """A checked library of a main module and of modules that the model brings."""
    module, dialect = parse(text, "main.sknd", "main")
    library = Library(module, lambda name: (modules[name], f"{name}.sknd") if name in modules else None, dialect)
    library.load()
    check(library)
    return library


def composed(text: str, *, mapped: bool = True, **attributes: Any) -> tuple[Composed, Composer]:
    library = library_of(text)
    composer = Composer(library, lambda instance: mapped and has_mapper(instance))
    return composer.graph(next(iter(library.main.graphs.values())), attributes), composer


def graph_of(text: str, invocation: str, inputs: str, outputs: str) -> str:
    """A graph with one invocation, behind the operators of `text`."""
    imports = "".join(
        f"import {name};\n" for name in ("algo", "image", "layer", "layout", "linalg", "math", "misc", "nn", "quant")
    )
    names = ", ".join(one.split(":")[0].strip() for one in outputs.split(";") if one.strip())
    blocks = f"@input {{ {inputs} }} @output {{ {outputs} }} @compose {{ {names} = {invocation}; }}"
    return f"{imports}{text}\ngraph G {{ {blocks} }}"


def samples(graph: Composed, seed: int = 0, low: float = -2.0, high: float = 2.0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)

    def one(ref: TensorRef) -> np.ndarray:
        if ref.dtype == "bool":
            return generator.integers(0, 2, ref.shape).astype(np.bool_)
        if ref.dtype == "int":
            return generator.integers(max(int(low), 0) if low >= 0 else int(low), int(high) + 1, ref.shape).astype(
                np.int32
            )
        return generator.uniform(low, high, ref.shape).astype(np.float32)

    return {ref.name: one(ref) for ref in graph.inputs}


def weights(ref: TensorRef) -> np.ndarray:
    return np.random.default_rng(len(ref.name)).uniform(0.1, 1.0, ref.shape).astype(np.float32)


def interpreted(text: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    graph, composer = composed(text, mapped=False)
    return Interpreter(graph, composer, weights).run(inputs)


def executed(text: str, inputs: Mapping[str, np.ndarray], *, mapped: bool) -> dict[str, np.ndarray]:
    graph, composer = composed(text, mapped=mapped)
    tosa = run_pipeline(Mapper(graph, composer, {}, weights, mapped=mapped).graph())
    arrays = {name: inputs[ref.name] for name, ref in zip(tosa.main.inputs, graph.inputs, strict=True)}
    results = run(tosa, arrays)
    return {ref.name: array for ref, array in zip(graph.outputs, results.values(), strict=True)}


def assert_agree(
    text: str, *, seed: int = 0, low: float = -2.0, high: float = 2.0, ways: tuple[bool, ...] = (True, False)
) -> None:
    """Interpreter, general lowering, and mapped operators compute the same."""
    graph, _ = composed(text)
    inputs = samples(graph, seed, low, high)
    wanted = interpreted(text, inputs)
    for mapped in ways:
        found = executed(text, inputs, mapped=mapped)
        for name, array in wanted.items():
            assert found[name].shape == array.shape, (mapped, name)
            if array.dtype == np.float64:
                np.testing.assert_allclose(found[name], array, rtol=2e-5, atol=2e-5, err_msg=f"{name}, mapped={mapped}")
            else:
                np.testing.assert_array_equal(found[name], array, err_msg=f"{name}, mapped={mapped}")
