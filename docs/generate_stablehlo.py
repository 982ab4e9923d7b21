"""The table of operations in docs/stablehlo.md: way, formats, tests that passed, ULP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tosa_engine.frontends.stablehlo.operators import FAMILIES, OPERATORS, REFUSED
from tosa_engine.frontends.stablehlo.rules import RULES

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "stablehlo.md"
NUMBERS: Final = ROOT / "conformance" / "stablehlo.json"
START: Final = "<!-- made by docs/generate_stablehlo.py -->"
MEANT: Final = {
    "arithmetic": "ADD, SUB, MUL, INTDIV; of integers modulo their width",
    "calls": "nothing, CUSTOM, or an input", "control": "WHILE_LOOP, COND_IF, SELECT; unrolled where it is known",
    "conversion": "CAST, towards zero", "functions": "the operator of that name, or a formula",
    "indexing": "GATHER, SCATTER", "layout": "RESHAPE, TRANSPOSE, SLICE, PAD, CONCAT, REVERSE, TILE",
    "linear": "row by row", "logic": "BITWISE_, LOGICAL_, comparisons, SELECT",
    "normalization": "RSQRT, REDUCE_SUM, MUL, SUB, ADD", "products": "CONV2D, CONV3D, DEPTHWISE_CONV2D, MATMUL",
    "quantized": "RESCALE, TABLE", "reductions": "REDUCE_, ARGMAX; any other body over halves",
    "sorting": "ranks, SCATTER, GATHER", "windows": "MAX_POOL2D; any body by doubling",
}  # fmt: skip


def families() -> dict[str, str]:
    """The family of each operation."""
    return {name: one.__name__.rpartition(".")[2] for one in FAMILIES for name in one.OPERATORS}


def rows() -> list[str]:
    measured = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    known = families()
    found = []
    for name in sorted({*OPERATORS, *RULES, *REFUSED}):
        numbers = measured.get(f"stablehlo.{name}", {})
        tests = f"{numbers['passed']} of {numbers['tests']}" if numbers else ""
        ulp = str(numbers["ulp"]) if numbers.get("ulp") else ""
        way = f"refused: {REFUSED[name]}" if name in REFUSED else MEANT[known[name]] if name in known else "a constant"
        found.append(f"| {name} | {way} | {tests} | {ulp} |")
    return found


def section() -> str:
    head = [
        START,
        "",
        "Tests are those of openxla/stablehlo in which the operation occurs, as the",
        "[conformance page](../conformance/STABLEHLO.md) has them; most of those that don't pass are of f64 and",
        "complex numbers. ULP is the largest difference in a test of the operation alone that passed.",
        "",
        "| operation | way | tests passed | ULP |", "|---|---|---:|---:|",
    ]  # fmt: skip
    return "\n".join([*head, *rows()]) + "\n"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(START)] + section(), encoding="utf-8")


if __name__ == "__main__":
    main()
