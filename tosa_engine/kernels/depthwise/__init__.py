"""DEPTHWISE_CONV2D of int8 input whose sums fit int32.

Unit of work: a block of output rows that share their input rows, times a group of 16, 32 or 64 neighbouring channels.
Layout: quads, four input rows with their bytes side by side, so that one instruction multiplies what a kernel needs of
a column. Where there are fewer channels than a vector has, some neighbouring pixels become one pixel of many channels.
Weights and scales lie in the order in which the units read them, group after group.

Read: `places` (layouts and the geometry's places), `quads`, `quad_sums` (a tile in plain code), `quad_tiles` (the same
for vector units, and its end in registers), `loops`, `packing`, `prepare`; then `one_row`, `narrow_loops` and `narrow`
for few channels, `pixel_loops` and `pixel` for one output pixel, `sliced` for one that reads a part of a tensor.
"""
