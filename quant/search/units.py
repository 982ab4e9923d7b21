"""What can have a precision of its own: layers, those together that one TABLE computes or that share a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..legalize.layers import FLOAT, INT4, INT8, INT16, LayerRule, layers_of
from ..legalize.quantize import Report, prepared, quantize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Graph

    from ..legalize.layers import Layer

WILD = "*?["


@dataclass(frozen=True)
class Unit:
    """`layers` are the names of layers, `with_int4` of those that take 4-bit weights; `op` says what is computed."""

    name: str
    op: str
    layers: tuple[str, ...]
    with_int4: tuple[str, ...]

    @property
    def precisions(self) -> tuple[str, ...]:
        """Those that may be possible, the cheapest first."""
        return (INT4, INT8, INT16) if self.with_int4 else (INT8, INT16)

    def rules(self, precision: str) -> list[LayerRule]:
        """What gives the unit a precision, for `quantize --layers`."""
        names = self.with_int4 if precision == INT4 else self.layers
        return [LayerRule(escaped(name), precision) for name in names]


def units_of(attached: Graph) -> list[Unit]:
    """The units of a graph whose activations carry QParams, in execution order.

    Raises what `quantize` raises: a network that can't be quantized at all has nothing to choose from.
    """
    report = Report()
    quantize(attached, report)
    block = prepared(attached).main
    layers, consumers = layers_of(block), block.consumers()
    owner = {name: layer for layer in layers for name in layer.tensors}
    groups = {id(layer): [layer] for layer in layers}

    def join(a: Layer, b: Layer) -> None:
        first, second = groups[id(a)], groups[id(b)]
        if first is not second:
            first += second
            for layer in second:
                groups[id(layer)] = first

    by_name: dict[str, Layer] = {}
    for layer in layers:
        join(by_name.setdefault(layer.name, layer), layer)
    for name in report.inside:
        for reader in consumers.get(name, []):
            join(owner[name], owner[reader.outputs[0]])
    position = {id(layer): i for i, layer in enumerate(layers)}
    unique = {id(group): sorted(group, key=lambda layer: position[id(layer)]) for group in groups.values()}
    ordered = sorted(unique.values(), key=lambda group: position[id(group[0])])
    return [_unit(group) for group in ordered]


def _unit(group: list[Layer]) -> Unit:
    main = next((layer for layer in group if layer.takes_int4), group[-1])
    names = tuple(dict.fromkeys(layer.name for layer in group))
    op = main.op.op if len(names) == 1 else f"{main.op.op} and {len(names) - 1} before it"
    with_int4 = tuple(dict.fromkeys(layer.name for layer in group if layer.takes_int4))
    return Unit(main.name, op, names, with_int4)


def assigned(units: Iterable[Unit], chosen: Mapping[str, str], default: str) -> dict[str, str]:
    """Layer name -> precision, from unit name -> precision; `default` for units that `chosen` doesn't name."""
    return {name: chosen.get(unit.name, default) for unit in units for name in unit.layers}


def paste_ready(units: Iterable[Unit], chosen: Mapping[str, str], usual: str) -> list[str]:
    """The lines of a file for `quantize --layers`: the units that aren't `usual`."""
    lines = [] if usual == INT8 else [f"* = {usual}"]
    for unit in units:
        if chosen[unit.name] != usual:
            lines += map(str, unit.rules(chosen[unit.name]))
    return lines


def escaped(name: str) -> str:
    """A selector that matches this name alone."""
    return "".join(f"[{c}]" if c in WILD else c for c in name)


__all__ = ["FLOAT", "INT4", "INT8", "INT16", "Unit", "assigned", "escaped", "paste_ready", "units_of"]
