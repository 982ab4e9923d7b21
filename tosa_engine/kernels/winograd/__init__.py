"""CONV2D of int8 with kernels of 3 x 3 and stride 1 by the integer Winograd transform: exact, with a quarter of the
products.

Unit of work: a range of tiles of 4 x 4 outputs, times a panel of output channels.
Layout: inputs are transformed to [point, chunk of 32 channels, tile, channel] of int16, weights to [panel, point, pair
of channels, column, 2]. Products are made at each of the 36 points, and transformed back. Weights that would be too
large for the caches so are transformed in the run instead.

Read: `prepare` (why it is exact, and when it is chosen; docs/winograd.md says more), `matrices`, `places`, `steps`
(plain code), `loops`; `transforms`, `emit` and `product` are the same for vector units.
"""
