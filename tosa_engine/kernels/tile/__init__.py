"""CONV2D and MATMUL of integers as matrix products: a tile of some rows times one or two panels of columns, all of K at
once, with the accumulators in registers; then the epilogue, from registers, too.

Computes: CONV2D of int8 and int16 whose sums fit int32, and MATMUL of int8.
Unit of work: a block of output rows of one image, times a group of panels. The worker packs the input rows of a unit
(zero point subtracted, padding filled in), unless tiles can read them where they lie.
Layout: columns come in panels of NR = 16 channels, each as [step, NR, group]: `group` is the number of neighbours along
K that one instruction multiplies, 4 bytes (quads) or 2 words (pairs). Rows are any places in memory: each has its
start, and all have the same distances from there. Sizes travel in one int64 array, whose places `geometry` names.

Read: `geometry`, `micro_kernel` (what a tile is, in plain code), `micro_kernel_emit` (the same for vector units),
`loops`, `packing` (units and panels), `conv2d`, `matmul` with `matmul_loops` and `quad_panels`, `constant_product`;
`trim` cuts dead kernel positions.
"""
