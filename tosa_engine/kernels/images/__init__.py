"""MAX_POOL2D, AVG_POOL2D and RESIZE.

Unit of work: an output row of an image.
Layout: [N, H, W, C] as it is; vectors run over the channels. Sizes travel in one int64 array.

Read: `pool` with `pool_loops`; `resize_loops`, which `kernels.image` prepares.
"""
