"""RNN, GRU and LSTM, unrolled by the length of the sequence, which is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....lower import elementary as lower
from ....lower.layout import stacked
from ....lower.linear import fully_connected, is_one_constant, matmul, turned
from ....lower.views import shape_of
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....lower.writer import Writer
    from ..call import Call
    from ..values import Value

LONGEST: Final = 4096  # steps that are unrolled
DEFAULTS: Final = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
GATES: Final = {"RNN": 1, "GRU": 3, "LSTM": 4}
# default alpha and beta of functions that have them
PARAMETERS: Final = {"LeakyRelu": (0.01, 0.0), "ThresholdedRelu": (1.0, 0.0), "Elu": (1.0, 0.0),
                     "HardSigmoid": (0.2, 0.5), "Affine": (1.0, 0.0), "ScaledTanh": (1.0, 1.0)}  # fmt: skip


@dataclass
class Direction:
    """The weights of one direction: [gates * hidden, ...], the gates in ONNX's order."""

    input: Tensor
    hidden: Tensor
    bias_input: Tensor | None
    bias_hidden: Tensor | None
    peepholes: list[Tensor]
    functions: list[Callable[[Tensor], Tensor]]
    state: Tensor | None
    cell: Tensor | None
    backwards: bool
    rounded: Callable[[Tensor], Tensor] | None = None


def recurrent(call: Call, rounded: Callable[[Tensor], Tensor] | None = None) -> list[Value | None]:
    """Y [length, directions, batch, hidden], Y_h and, of LSTM, Y_c [directions, batch, hidden]; layout 1 has the batch
    in front. `rounded`: what becomes of inputs and states before weights multiply them.
    """
    g, kind = call.g, call.op
    x = call.tensor(0)
    batch_first = bool(call.attribute("layout", 0))
    x = g.transpose(x, (1, 0, 2)) if batch_first else x
    length = shape_of(x)[0]
    if length > LONGEST:
        raise Unsupported(f"a sequence of {length} steps; {LONGEST} at most are unrolled")
    lengths = [int(n) for n in call.known(4, "the lengths of sequences").reshape(-1)] if call.has(4) else None
    if lengths is not None and all(n == length for n in lengths):
        lengths = None
    sequences, states, cells = [], [], []
    for direction in _directions(call):
        outputs, state, cell = _run(call, x, replace(direction, rounded=rounded), lengths)
        sequences.append(stacked(g, outputs, 0))
        states.append(state)
        cells.append(cell)
    whole, last = stacked(g, sequences, 1), stacked(g, states, 0)
    more = [stacked(g, [cell for cell in cells if cell is not None], 0)] if kind == "LSTM" else []
    if batch_first:
        whole = g.transpose(whole, (2, 0, 1, 3))
        last, more = g.transpose(last, (1, 0, 2)), [g.transpose(one, (1, 0, 2)) for one in more]
    return [value_of(one, call.element()) for one in (whole, last, *more)]


def _directions(call: Call) -> list[Direction]:
    said = call.attribute("direction", "forward")
    count = 2 if said == "bidirectional" else 1
    gates, kind = GATES[call.op], call.op
    weights, hidden = call.tensor(1), call.tensor(2)
    if shape_of(weights)[0] != count:
        raise GraphError(f"weights of shape {list(shape_of(weights))} for {count} directions")
    size = shape_of(hidden)[2]
    names = call.attribute("activations") or DEFAULTS[kind] * count
    per = len(DEFAULTS[kind])
    alphas, betas = list(call.attribute("activation_alpha") or []), list(call.attribute("activation_beta") or [])
    functions = [function_of(call.g, name, alphas, betas) for name in names]
    found = []
    for i in range(count):
        bias = _of(call, 3, i)
        half = gates * size
        parts = (
            [call.g.section(bias, 0, 0, half), call.g.section(bias, 0, half, half)]
            if bias is not None
            else [None, None]
        )
        peep = _of(call, 7, i) if kind == "LSTM" else None
        peepholes = [call.g.section(peep, 0, k * size, size) for k in range(3)] if peep is not None else []
        found.append(
            Direction(
                _take(call, weights, i), _take(call, hidden, i), parts[0], parts[1], peepholes,
                functions[i * per : (i + 1) * per], _initial(call, 5, i),
                _initial(call, 6, i) if kind == "LSTM" else None, said == "reverse" or i == 1,
            )
        )  # fmt: skip
    return found


def _take(call: Call, x: Tensor, index: int) -> Tensor:
    return call.g.reshape(call.g.section(x, 0, index, 1), shape_of(x)[1:])


def _of(call: Call, index: int, direction: int) -> Tensor | None:
    return _take(call, call.tensor(index), direction) if call.has(index) else None


def _initial(call: Call, index: int, direction: int) -> Tensor | None:
    if not call.has(index):
        return None
    x = call.tensor(index)
    return _take(call, call.g.transpose(x, (1, 0, 2)) if call.attribute("layout", 0) else x, direction)


def function_of(g: Writer, name: str, alphas: list[float], betas: list[float]) -> Callable[[Tensor], Tensor]:
    """An activation; those with parameters take them from the lists in order."""
    alpha, beta = PARAMETERS.get(name, (0.0, 0.0))
    if name in PARAMETERS:
        alpha = alphas.pop(0) if alphas else alpha
        if name in ("HardSigmoid", "Affine", "ScaledTanh"):
            beta = betas.pop(0) if betas else beta
    found: dict[str, Callable[[Tensor], Tensor]] = {
        "Sigmoid": lambda x: g.unary("SIGMOID", x),
        "Tanh": lambda x: g.unary("TANH", x),
        "Relu": lambda x: lower.relu(g, x),
        "Affine": lambda x: lower.plus(g, lower.times(g, x, alpha), beta),
        "LeakyRelu": lambda x: _sided(g, x, x, lower.times(g, x, alpha)),
        "ThresholdedRelu": lambda x: lower.chosen(
            g, lower.compared(g, "GREATER", x, lower.number(g, alpha, x)), x, lower.number(g, 0.0, x)
        ),
        "ScaledTanh": lambda x: lower.times(g, g.unary("TANH", lower.times(g, x, beta)), alpha),
        "HardSigmoid": lambda x: g.clamp(lower.plus(g, lower.times(g, x, alpha), beta), 0.0, 1.0),
        "Elu": lambda x: _sided(g, x, x, lower.times(g, lower.plus(g, g.unary("EXP", x), -1.0), alpha)),
        "Softsign": lambda x: lower.division(g, x, lower.plus(g, g.unary("ABS", x), 1.0)),
        "Softplus": lambda x: g.unary("LOG", lower.plus(g, g.unary("EXP", x), 1.0)),
    }
    if name not in found:
        raise Unsupported(f"the activation '{name}'")
    return found[name]


def _sided(g: Writer, x: Tensor, above: Tensor, below: Tensor) -> Tensor:
    return lower.chosen(g, lower.compared(g, "GREATER_EQUAL", x, lower.number(g, 0.0, x)), above, below)


def _run(
    call: Call, x: Tensor, direction: Direction, lengths: Sequence[int] | None
) -> tuple[list[Tensor], Tensor, Tensor | None]:
    """The outputs of all steps, the last state and cell of one direction."""
    g, kind, (length, batch, _) = call.g, call.op, shape_of(x)
    x = x if direction.rounded is None else direction.rounded(x)
    size = shape_of(direction.hidden)[1]
    projected = _affine(g, x, direction.input, direction.bias_input)
    zeros = g.const(np.zeros((batch, size)), x.dtype, "zeros")
    state, cell = direction.state or zeros, (direction.cell or zeros) if kind == "LSTM" else None
    outputs: list[Tensor | None] = [None] * length
    for step in range(length)[:: -1 if direction.backwards else 1]:
        now = g.reshape(g.section(projected, 0, step, 1), (batch, shape_of(projected)[2]))
        new, new_cell = STEPS[kind](call, now, state, cell, direction)
        if lengths is None:
            outputs[step], state, cell = new, new, new_cell
            continue
        inside = g.const(np.array([[step < n] for n in lengths]), types.bool_, "inside")
        outputs[step] = lower.chosen(g, inside, new, zeros)
        state = lower.chosen(g, inside, new, state)
        cell = lower.chosen(g, inside, new_cell, cell) if new_cell is not None and cell is not None else None
    return [one for one in outputs if one is not None], state, cell


def _affine(g: Writer, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x times the weights [outputs, inputs], turned, plus a bias."""
    if is_one_constant(weight) and weight.dtype is types.fp32 and (bias is None or bias.data is not None):
        return fully_connected(g, x, weight, bias if bias is not None else g.scalar(0.0))
    rank = len(shape_of(x))
    found = matmul(g, x, g.reshape(turned(g, weight), (1,) * (rank - 2) + shape_of(weight)[::-1]))
    return found if bias is None else g.binary("ADD", found, _row(g, bias, rank))


def _row(g: Writer, x: Tensor, rank: int) -> Tensor:
    return g.reshape(x, (1,) * (rank - 1) + shape_of(x)[-1:])


def _clipped(call: Call, x: Tensor) -> Tensor:
    limit = call.attribute("clip")
    return call.g.clamp(x, -limit, limit) if limit else x


def _gates(g: Writer, x: Tensor, count: int) -> list[Tensor]:
    size = shape_of(x)[1] // count
    return [g.section(x, 1, i * size, size) for i in range(count)]


def _rnn(call: Call, now: Tensor, state: Tensor, cell: Tensor | None, d: Direction) -> tuple[Tensor, Tensor | None]:
    total = call.g.binary("ADD", now, _affine(call.g, state, d.hidden, d.bias_hidden))
    return d.functions[0](_clipped(call, total)), None


def _gru(call: Call, now: Tensor, state: Tensor, cell: Tensor | None, d: Direction) -> tuple[Tensor, Tensor | None]:
    g, size = call.g, shape_of(state)[1]
    f, h = d.functions
    now_z, now_r, now_h = _gates(g, now, 3)
    if call.attribute("linear_before_reset", 0):
        past_z, past_r, past_h = _gates(g, _affine(g, state, d.hidden, d.bias_hidden), 3)
        reset = f(_clipped(call, g.binary("ADD", now_r, past_r)))
        inner = g.binary("MUL", reset, past_h)
    else:
        pairs = [g.section(d.hidden, 0, 0, 2 * size), g.section(d.hidden, 0, 2 * size, size)]
        biases = [g.section(d.bias_hidden, 0, s, n) if d.bias_hidden is not None else None
                  for s, n in ((0, 2 * size), (2 * size, size))]  # fmt: skip
        past_z, past_r = _gates(g, _affine(g, state, pairs[0], biases[0]), 2)
        reset = f(_clipped(call, g.binary("ADD", now_r, past_r)))
        inner = _affine(g, g.binary("MUL", reset, state), pairs[1], biases[1])
    update = f(_clipped(call, g.binary("ADD", now_z, past_z)))
    new = h(_clipped(call, g.binary("ADD", now_h, inner)))
    step = g.binary("SUB", state, new)
    return g.binary("ADD", new, g.binary("MUL", update, step)), None


def _lstm(call: Call, now: Tensor, state: Tensor, cell: Tensor | None, d: Direction) -> tuple[Tensor, Tensor | None]:
    assert cell is not None
    g = call.g
    f, squash, last = d.functions
    met = state if d.rounded is None else d.rounded(state)
    total = g.binary("ADD", now, _affine(g, met, d.hidden, d.bias_hidden))
    into, out, forget, new = _gates(g, total, 4)

    def peeped(gate: Tensor, index: int, values: Tensor) -> Tensor:
        if not d.peepholes:
            return gate
        return g.binary("ADD", gate, g.binary("MUL", values, _row(g, d.peepholes[index], 2)))

    entered = f(_clipped(call, peeped(into, 0, cell)))
    if call.attribute("input_forget", 0):
        kept = lower.plus(g, g.negate(entered), 1.0)
    else:
        kept = f(_clipped(call, peeped(forget, 2, cell)))
    after = g.binary("ADD", g.binary("MUL", kept, cell), g.binary("MUL", entered, squash(_clipped(call, new))))
    shown = f(_clipped(call, peeped(out, 1, after)))
    return g.binary("MUL", shown, last(after)), after


STEPS: Final[Mapping[str, Callable[..., tuple[Tensor, Tensor | None]]]] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}
OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = dict.fromkeys(STEPS, recurrent)
