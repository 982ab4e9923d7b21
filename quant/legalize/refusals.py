"""What has no integer form: each rule of the quantize pass that refuses a graph, by its label.

docs/integer-forms.md says what to do about each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tosa_engine.errors import Problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.errors import TosaEngineError

RANGE, STORED, INPUT, OPERATOR, CONSTANT, WEIGHT_BITS, CAST = (f"QUANT.E{n}" for n in range(1, 8))
FINITE, CLASSES, VARIABLE, TABLE, SCALE, BOUND, PRECISION = (f"QUANT.E{n}" for n in range(8, 15))

REFUSALS: Final[Mapping[str, str]] = {
    RANGE: "an activation has quantization parameters",
    STORED: "an activation has at most 16 bits and one scale",
    INPUT: "a graph input is fp32, i32 or bool",
    OPERATOR: "an operator has an integer form",
    CONSTANT: "weights, biases, paddings and shapes are constants",
    WEIGHT_BITS: "weights of 4 bits are those of a convolution of 8-bit activations",
    CAST: "a CAST is between fp32 and i32",
    FINITE: "constants are finite numbers, but for those that a maximum takes out again, and a mask before softmax",
    CLASSES: "a softmax is over no more classes than its sum can count",
    VARIABLE: "a variable is read",
    TABLE: "a function has a value for some input that its range can hold",
    SCALE: "RESCALE can apply the scale between two tensors",
    BOUND: "no accumulator and no RESCALE can leave its bits",
    PRECISION: "a layer can have one of the precisions that it may",
}


def is_refusal(problem: TosaEngineError) -> bool:
    """Whether quantization found that a network has no integer form, by a rule of its own."""
    if isinstance(problem, Problems):
        return all(map(is_refusal, problem.problems))
    return problem.label in REFUSALS
