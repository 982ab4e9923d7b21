"""The general way down: formulas of @lower as TOSA operators (section 2.12).

All points of a formula's loops are computed at once. An index that doesn't depend on data is an array that is known:
reads become slices, transpositions and gathers with constant indices; sums of products become MATMUL; other
accumulations reductions. What reads its own result goes step by step, over the loops for which that matters.
"""

from .formulas import lower_formulas

__all__ = ["lower_formulas"]
