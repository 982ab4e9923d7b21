"""From a float model and samples to the QParams of its tensors: what `graph.quant` holds.

Activations get a range that a method (`methods`) chooses from their statistics, but for results whose range is known
(softmax, sigmoid, tanh) and for tensors that share the QParams of another (`sharing`). Weights get one symmetric scale
per output channel, or one in all, from their own values. Tensors without a name in the model can't be written to the
file and get none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from tosa_engine.errors import DataError, UsageError
from tosa_engine.graph import Composite, Tensor

from ..legalize import squares, uneven, wider
from ..legalize.layers import INT4, INT8, INT16, activation_bits, layers_of, resolve
from ..legalize.quantize import prepared
from ..legalize.rules import TAKES_WIDE
from ..legalize.sharing import clamped_by, share
from ..legalize.weights import accumulates, is_weighted, own_constant, row_qparams, rows_of
from ..ranges import activation_qparams, fixed_qparams, weight_qparams
from . import widths
from .given import Given
from .lints import of_tensor
from .methods import Method, default_method
from .observe import collect, digest
from .range_rules import by_tensor as by_tensor_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.graph import Block, Graph, QParams
    from tosa_engine.types import Array

    from ..legalize.layers import LayerRule
    from .range_rules import RangeRule
    from .records import Statistics
    from .statistics import TensorStatistics

    Sample = Mapping[str, Array]


@dataclass(frozen=True)
class Scheme:
    """How ranges become integers: `method` chooses the range; `symmetric`: zero points 0; `power_of_two`: scales that
    are powers of two, for targets that only shift; `weights_per_channel`: a scale for every output channel; `ranges`
    choose the method or the range of single tensors. The method takes over `symmetric`.

    Raises UsageError for what isn't a method.
    """

    method: Method = field(default_factory=lambda: Method("mse"))
    symmetric: bool = False
    power_of_two: bool = False
    weights_per_channel: bool = True
    ranges: tuple[RangeRule, ...] = ()

    def __post_init__(self) -> None:
        """TOSA's int16 has no zero point; the method looks for the range that the integers can have."""
        if not isinstance(self.method, Method):
            raise UsageError(f"the method of a Scheme is a Method, such as Method('mse'), got {self.method!r}")
        for name in ("symmetric", "power_of_two", "weights_per_channel"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} is True or False, got {getattr(self, name)!r}")
        symmetric = self.symmetric or self.method.bits > 8
        object.__setattr__(self, "symmetric", symmetric)
        object.__setattr__(self, "method", replace(self.method, symmetric=symmetric))

    def with_bits(self, bits: int) -> Scheme:
        """The same for activations of 8 or 16 bits; the default method becomes the default of those."""
        if bits == self.method.bits:
            return self
        usual = self.method.name == default_method(self.method.bits)
        name = default_method(bits) if usual else self.method.name
        return replace(self, symmetric=bits > 8, method=replace(self.method, name=name, bits=bits))

    def activation(self, seen: TensorStatistics, rule: RangeRule | None = None) -> QParams:
        low, high = self.method.range(seen) if rule is None else rule.of(self.method, seen)
        return activation_qparams(
            low, high, bits=self.method.bits, symmetric=self.symmetric, power_of_two=self.power_of_two
        )


@dataclass
class Calibration:
    """QParams by the model's own tensor names, in the model's order; `warnings` for people."""

    qparams: dict[str, QParams]
    statistics: Statistics
    warnings: list[str] = field(default_factory=list)

    @property
    def samples(self) -> int:
        return self.statistics.samples


def calibrate(
    graph: Graph,
    samples: object,
    *,
    scheme: Scheme | None = None,
    weights: Mapping[str, Array] | None = None,
    limit: int | None = None,
) -> Calibration:
    """Calibrate a TOSA-FP graph on samples, at most `limit` of them.

    `samples` is an iterable of samples, or a reader whose `get_next()` gives one after another and then None. A sample
    is arrays by input name, an array alone for a network with one input, or a pair of either with its target, which
    isn't read. `weights` are the model's filters by name, output channel first.

    Raises DataError for NaN or infinity in an activation, when there is no sample, or one is something else.
    """
    statistics = collect(graph, enumerate(islice(Given(graph, samples), limit)))
    statistics.data = {"kind": "iterable"}
    return from_statistics(graph, statistics, scheme=scheme, weights=weights)


def from_statistics(
    graph: Graph,
    statistics: Statistics,
    *,
    scheme: Scheme | None = None,
    weights: Mapping[str, Array] | None = None,
) -> Calibration:
    """The QParams that follow from statistics of the same graph.

    Raises DataError when they are of another graph, or of no sample.
    """
    scheme = scheme or Scheme()
    _check(graph, statistics)
    block = prepared(graph).main
    by_tensor = share(block, _activations(block, statistics.tensors, scheme, {}, {}))
    result, consumers = Calibration({}, statistics), block.consumers()
    for name, array in (weights or {}).items():
        result.qparams[name] = weight_qparams(
            array, 0 if scheme.weights_per_channel else None, power_of_two=scheme.power_of_two
        )
    for name, quant in by_tensor.items():
        source = source_name(block.tensors[name])
        if source and source not in result.qparams:
            result.qparams[source] = quant
            if name in statistics.tensors:
                stored = clamped_by(block, name, consumers) is None
                result.warnings += map(str, of_tensor(source, statistics.tensors[name], quant, stored))
    result.warnings += map(str, uneven.lints(block, by_tensor))
    return result


def attach(
    graph: Graph,
    statistics: Statistics,
    scheme: Scheme | None = None,
    rules: Sequence[LayerRule] = (),
    weight_bits: int = 8,
) -> Graph:
    """A copy of the graph, ready to quantize, whose activations carry the QParams that follow from statistics.

    Other than `graph.quant` this reaches tensors without a name in the model: those inside compounds of operations.
    They stay accumulators where all that read them take that form. `rules` choose the precision of layers
    (`quant.legalize.layers`); those that no rule matches have the bits of the scheme and, with `weight_bits` 4, weights
    of 4 bits where the operator has such a row.

    Raises DataError when the statistics are of another graph, or of no sample; UsageError for a rule that matches no
    layer (Problems for several).
    """
    scheme = scheme or Scheme()
    return attach_precisions(graph, statistics, scheme, resolved(prepared(graph), scheme, rules, weight_bits))


def attach_precisions(graph: Graph, statistics: Statistics, scheme: Scheme, precisions: Mapping[str, str]) -> Graph:
    """`attach` with a precision for every layer by its name."""
    return Attaching(graph, statistics, scheme).attach(precisions)


class Attaching:
    """`attach_precisions` of one graph, with one set of statistics, again and again: ranges are chosen once.

    Raises DataError when the statistics are of another graph, or of no sample.
    """

    def __init__(self, graph: Graph, statistics: Statistics, scheme: Scheme) -> None:
        _check(graph, statistics)
        self.prepared, self._statistics, self._scheme = prepared(graph), statistics, scheme
        self._chosen: dict[tuple[str, int], QParams] = {}

    def find_weight_scales(self) -> None:
        """Give weights the scales that quantization would find for them each time."""
        block = self.prepared.main
        for op in block.operators:
            weight = block.tensors[op.inputs[1]] if is_weighted(op) else None
            if weight is not None and weight.data is not None and weight.quant is None and _reads(block, weight) == 1:
                weight.quant = replace(row_qparams(rows_of(op.op, weight.data)), axis=None)

    def attach(self, precisions: Mapping[str, str]) -> Graph:
        """The graph with QParams for a precision of every layer by its name."""
        ready, scheme = replace(self.prepared.copy(), spare={}), self._scheme
        block = ready.main
        usual = INT16 if scheme.method.bits == 16 else INT8
        bits = activation_bits(block, precisions) if set(precisions.values()) - {usual} else {}
        by_tensor = share(block, _activations(block, self._statistics.tensors, scheme, bits, self._chosen))
        producers, consumers = block.producers(), block.consumers()
        summed = squares.find(block) - by_tensor_name(block, scheme.ranges).keys()
        own = widths.kept(ready, precisions)
        for name, quant in by_tensor.items():
            tensor, readers = block.tensors[name], consumers.get(name, [])
            if ready.quantized and tensor.quant is not None and (name in own or tensor.quant.bits == quant.bits):
                continue
            named = tensor.source is None or tensor.source.name or name in block.outputs
            # may stay int32 for its readers; RESHAPE, a reader, may not keep the scales of channels
            accumulator = name in producers and accumulates(producers[name])
            if name in summed:
                ready.spare[name] = quant
            elif named or not (accumulator and all(reader.op in TAKES_WIDE - {"RESHAPE"} for reader in readers)):
                tensor.quant = quant
            else:
                ready.spare[name] = quant
        _weights(block, precisions, scheme)
        if bits:
            eight = scheme.with_bits(8)
            widths.narrow(block, precisions, lambda name: eight.activation(self._statistics.tensors[name]))
            widths.widen(block, precisions, own)
        return ready


def _reads(block: Block, tensor: Tensor) -> int:
    return sum(op.inputs.count(tensor.name) for op in block.operators)


def resolved(ready: Graph, scheme: Scheme, rules: Sequence[LayerRule], weight_bits: int = 8) -> dict[str, str]:
    """Layer name -> precision, of a prepared graph; what no rule matches is as the scheme and `weight_bits` say, but
    for layers of int8 networks that need more (`legalize.wider`): int16.
    """
    default = INT16 if scheme.method.bits == 16 else INT8
    if weight_bits == 4 and default == INT16:
        raise UsageError("TOSA has no operator of 16-bit activations and 4-bit weights; choose one of them by layers")
    return resolve(ready.main, rules, INT4 if weight_bits == 4 else default, wider.usual(ready, weight_bits))


def _weights(block: Block, precisions: Mapping[str, str], scheme: Scheme) -> None:
    """Int4 layers get weights with QParams of 4 bits; others those of the scheme, where it isn't what rules do."""
    for layer in layers_of(block):
        op = layer.op
        if not is_weighted(op) or block.tensors[op.inputs[1]].data is None:
            continue
        four = precisions[layer.name] == INT4 and layer.takes_int4
        if not four and scheme.weights_per_channel and not scheme.power_of_two:
            continue
        tensor = own_constant(block, op, 1)
        assert tensor.data is not None
        own = row_qparams(
            rows_of(op.op, tensor.data), 4 if four else 8,
            per_channel=scheme.weights_per_channel, power_of_two=scheme.power_of_two,
        )  # fmt: skip
        tensor.quant = replace(own, axis=None)


def _check(graph: Graph, statistics: Statistics) -> None:
    """Raises DataError when the statistics are of another graph, or of no sample."""
    if statistics.samples == 0:
        raise DataError("calibration needs at least one sample")
    if statistics.model != digest(graph):
        raise DataError("these statistics were made from another model")


def source_name(tensor: Tensor) -> str:
    """The name that the model gives to a tensor; a graph without sources of its own is its own source."""
    if tensor.source is None:
        return tensor.name
    return tensor.source.name


def _activations(
    block: Block,
    seen: Mapping[str, TensorStatistics],
    scheme: Scheme,
    bits: Mapping[str, int],
    chosen: dict[tuple[str, int], QParams],
) -> dict[str, QParams]:
    """`bits`: of single tensors; the others have those of the scheme. `chosen`: what was found for a tensor before."""
    functions = {out: op.op for op in block.operators if isinstance(op, Composite) for out in op.outputs}
    rules, found = by_tensor_name(block, scheme.ranges), {}
    for name in block.tensors:
        if name in seen:
            key = name, bits.get(name, scheme.method.bits)
            if key not in chosen:
                own = scheme.with_bits(key[1])
                fixed = fixed_qparams(functions.get(name, ""), own.method.bits)
                known = fixed is not None and name not in rules and (own.method.bits == 16 or not own.symmetric)
                chosen[key] = fixed if fixed is not None and known else own.activation(seen[name], rules.get(name))
            found[name] = chosen[key]
    return found
