"""Convolutions and matrix products in the specification's order with sums of 64 bits, every partial sum tested: for
operators of which it isn't proved that no REQUIRE can fail.

Unit of work: an output position; of MATMUL an output row.
Layout: tensors as they are; sizes travel in one int64 array.

Read: `loops` and `loops_3d`, then `prepare`. They are slow, and a loop returns where the first REQUIRE fails.
"""
