"""CONV3D and TRANSPOSE_CONV2D as uses of CONV2D, whose kernels do the sums, with copies before or after.

Unit of work: that of CONV2D's kernel, and a row of a copy; a step is a chain of loops.
Layout: a slice [n, od] of a CONV3D is an image whose channels are those of KD slices of the input. A TRANSPOSE_CONV2D
is CONV2Ds whose channels are neighbouring outputs.

Read: `conv2d` (the work of a CONV2D inside of another operator), `stacked`, `transposed`.
"""
