"""The precision of each layer of a network: int8, int16 (16-bit activations, 8-bit weights), int4 (4-bit weights), or
float (fp32, no integers at all).

A layer is an operator that computes, with the CLAMP and the moves of values behind it. Rules choose by name, in order,
and the last that matches a layer wins:

    # a line of a file, or --layer
    op:SOFTMAX = int16
    block1/* = int4
    logits = int8

An int16 layer reads and writes 16-bit activations. A layer of 8-bit activations writes 8 bits unless an int16 layer
reads them; where it multiplies what an int16 layer wrote, a RESCALE to 8 bits comes first. Between float layers and
others numbers are converted (`quant.legalize.float_borders`); a graph input that float layers alone read is fp32.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosa_engine.errors import DataError, TosaEngineError, UsageError, raise_all
from tosa_engine.spec import is_constant

from .sharing import clamped_by, moves_values
from .weights import four_bits, has_weights, takes_int4

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from tosa_engine.graph import Block, Operator

INT8, INT16, INT4, FLOAT = "int8", "int16", "int4", "float"
PRECISIONS: Final = (INT8, INT16, INT4, FLOAT)
BY_OPERATOR: Final = "op:"
SHOWN: Final = 8


@dataclass(frozen=True)
class LayerRule:
    """`selector`: a layer's name, with `*`, `?` and `[...]` as in file names, or `op:` and an operator's name."""

    selector: str
    precision: str

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise UsageError(
                f"'{self.selector}': unknown precision '{self.precision}'; choose from: {', '.join(PRECISIONS)}"
            )

    def __str__(self) -> str:
        return f"{self.selector} = {self.precision}"


@dataclass
class Layer:
    """`op` computes; `tensors` are its result and those that CLAMP and moves make of it; `names` what selectors see."""

    op: Operator
    takes_int4: bool
    names: list[str] = field(default_factory=list)
    tensors: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.names[0]

    def matches(self, selector: str) -> bool:
        if selector.lower().startswith(BY_OPERATOR):
            return fnmatchcase(self.op.op.upper(), selector[len(BY_OPERATOR) :].upper())
        return any(fnmatchcase(name, selector) for name in self.names)


def parse_rule(text: str) -> LayerRule:
    """`SELECTOR=PRECISION`. Raises UsageError."""
    selector, equals, precision = (part.strip() for part in text.rpartition("="))
    if not equals or not selector:
        raise UsageError(f"'{text}': a layer's precision is given as SELECTOR=PRECISION, such as 'conv1=int16'")
    return LayerRule(selector, precision)


def read_rules(path: str | os.PathLike[str]) -> list[LayerRule]:
    """The rules of a file: one per line, `#` begins a comment. Raises OSError, or DataError for all bad lines."""
    rules, problems = [], list[TosaEngineError]()
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        try:
            rules += [parse_rule(text)] if text else []
        except UsageError as problem:
            problems.append(DataError(f"{path}:{number}: {problem.message}"))
    raise_all(problems, f"{path}: {len(problems)} problems")
    return rules


def layers_of(block: Block) -> list[Layer]:
    """The layers of a graph that is `prepared` for quantization, in execution order."""
    constants = frozenset(name for name, tensor in block.tensors.items() if tensor.data is not None)
    consumers = block.consumers()
    found: list[Layer] = []
    owner: dict[str, Layer] = {}
    for op in block.operators:
        if is_constant(op) or not op.outputs:
            continue
        source = op.inputs[0] if op.inputs else ""
        moved = moves_values(op) or (op.op == "CLAMP" and clamped_by(block, source, consumers) is not None)
        layer = owner.get(source) if moved else None
        if layer is None:
            if moved and source in block.inputs:
                continue
            layer = Layer(op, takes_int4(op) and has_weights(op, constants))
            found.append(layer)
        for name in op.outputs:
            owner[name] = layer
            layer.tensors.append(name)
            location = block.tensors[name].source
            source_name = location.name if location is not None else ""
            # what moves values may carry the name of the operation that it moves them for: another layer
            known = [op.name, source_name, name] if op is layer.op else [source_name, name]
            layer.names += [n for n in dict.fromkeys(known) if n and n not in layer.names]
    return found


def resolve(
    block: Block, rules: Sequence[LayerRule], default: str = INT8, own: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Layer name -> precision, for every layer; `default` int4 means: wherever the operator has such weights. `own`
    has the defaults of single layers.

    Raises UsageError (Problems for several) for selectors that match no layer, or for int4 none that takes it.
    """
    layers = layers_of(block)
    _check(layers, rules)
    chosen = {}
    for layer in layers:
        usual = INT8 if default == INT4 and not layer.takes_int4 else default
        chosen[layer.name] = own.get(layer.name, usual) if own else usual
        for rule in rules:
            if layer.matches(rule.selector) and (rule.precision != INT4 or layer.takes_int4):
                chosen[layer.name] = rule.precision
    return chosen


def _check(layers: Sequence[Layer], rules: Iterable[LayerRule]) -> None:
    problems = list[TosaEngineError]()
    for rule in rules:
        matched = [layer for layer in layers if layer.matches(rule.selector)]
        if not matched:
            names = [name for layer in layers for name in layer.names]
            near = get_close_matches(rule.selector, names, 3)
            more = f" and {len(layers) - SHOWN} more" if len(layers) > SHOWN else ""
            there = (
                f"similar are {', '.join(near)}"
                if near
                else (f"there are {', '.join(layer.name for layer in layers[:SHOWN])}{more}")
            )
            problems.append(UsageError(f"'{rule}' matches no layer; {there}"))
        elif rule.precision == INT4 and not any(layer.takes_int4 for layer in matched):
            message = f"'{rule}' matches no layer that can have 4-bit weights: {', '.join(four_bits())}"
            problems.append(UsageError(f"{message} with constant weights"))
    raise_all(problems, f"{len(problems)} rules for layers can't be followed:")


def activation_bits(block: Block, precisions: Mapping[str, str]) -> dict[str, int]:
    """Tensor name -> bits, of all that layers write and of the graph's inputs and what is moved from them."""
    layers, consumers = layers_of(block), block.consumers()
    bits: dict[str, int] = {}
    computing = {id(layer.op): precisions[layer.name] for layer in layers}
    written = [(layer.tensors, precisions[layer.name]) for layer in layers]
    of_layers = {name for tensors, _ in written for name in tensors}
    written += [([name, *moved_from(block, name, of_layers)], INT8) for name in block.inputs]
    for tensors, own in written:
        read = {computing.get(id(op)) for name in tensors for op in consumers.get(name, [])}
        bits |= dict.fromkeys(tensors, 16 if own == INT16 or INT16 in read else 8)
    return bits


def stay_float(block: Block, precisions: Mapping[str, str]) -> frozenset[str]:
    """The tensors that stay fp32: what float layers write, and graph inputs that nothing else reads."""
    layers, consumers = layers_of(block), block.consumers()
    found = {name for layer in layers if precisions[layer.name] == FLOAT for name in layer.tensors}
    of_layers = {name for layer in layers for name in layer.tensors}
    for name in block.inputs:
        moved = [name, *moved_from(block, name, of_layers)]
        readers = [out for part in moved for op in consumers.get(part, []) for out in op.outputs if out not in moved]
        if readers and found.issuperset(readers):
            found.update(moved)
    return frozenset(found)


def moved_from(block: Block, name: str, taken: set[str]) -> list[str]:
    """What moves of values make of a graph input, without what layers write (`taken`)."""
    found = [name]
    for op in block.operators:
        if op.inputs and op.inputs[0] in found:
            found += [out for out in op.outputs if out not in taken and not is_constant(op)]
    return found[1:]


def described(precisions: Mapping[str, str]) -> str:
    """How many layers have which precision, and the names of those that differ from the most."""
    counts = Counter(precisions.values())
    most = max(counts, key=lambda precision: counts[precision], default=INT8)
    parts = [f"{counts[most]} layers {most}"]
    for precision in PRECISIONS:
        names = [name for name, own in precisions.items() if own == precision]
        if names and precision != most:
            shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
            parts.append(f"{len(names)} {precision} ({shown})")
    return ", ".join(parts)
