"""The specification's precision requirements as functions (section 1.8.3, "Floating-Point Precision Requirements", and
the "Precision Requirements" of every operator).

`check_operator` judges one operator's outputs by the operator's own rule; the pieces are there for other uses:

- `bounds`: units in the last place, error bounds of single values, flushing of subnormal values
- `dot_product`: bounds of dot products, each alone and over a data set
- `data_sets`: the inputs S0 to S5 for operators that compute dot products
- `operators`: which rule belongs to which operator
"""

from __future__ import annotations

from .bounds import abs_error_bound, flushed, reference_ulp, within_bound, within_ulp
from .check import Accuracy, check_operator
from .data_sets import DATA_SETS, data_set, set_data
from .dot_product import MIN_DOT_PRODUCTS, DotProducts, check_dot_products, kernel_size, rounding_count
from .operators import RULES, Rule, rule_of

__all__ = [
    "DATA_SETS", "MIN_DOT_PRODUCTS", "RULES", "Accuracy", "DotProducts", "Rule", "abs_error_bound",
    "check_dot_products", "check_operator", "data_set", "flushed", "kernel_size", "reference_ulp", "rounding_count",
    "rule_of", "set_data", "within_bound", "within_ulp",
]  # fmt: skip
