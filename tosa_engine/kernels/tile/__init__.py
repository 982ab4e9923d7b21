"""Integer matrix products and convolutions on the tile micro-kernel: int8 and int4 weights, int32 sums."""
