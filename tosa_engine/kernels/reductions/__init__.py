"""The REDUCE operators and ARGMAX, over [left, axis, right]; and a REDUCE_SUM whose sums are scaled.

Unit of work: an index of `left`, so that the order of a sum never depends on how work is split.
Layout: arrays in one dimension; of floats, 16 sums run side by side where the axis is the last one.

Read: `loops`, then `prepare`. (`kernels.reduction` prepares the operators of that name.)
"""
