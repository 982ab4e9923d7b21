"""The arithmetic helpers of the specification: formula, meaning and reason of each, in plain Python on exact integers.

The kernels compile these very functions where a scalar form will do, and state next to their vector forms which of
these they must equal.
"""
