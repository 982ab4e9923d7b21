"""CONV2D, DEPTHWISE_CONV2D and MATMUL of floats, and all that narrower formats need.

Computes: sums in float32 in the specification's order, every product fused with its addition; then bias, CLAMP, store.
fp16, bf16 and fp8 go through float32: in vector code (`halves`), or in loops before and after (`through_float32`).
Unit of work: as in `tile`, whose geometry and packing it shares; of DEPTHWISE_CONV2D, a block of output rows of an
image.
Layout: panels of 16 channels as [k, 16]; depthwise windows read the input itself. Arrays of narrow formats hold the
bits.

Read: `tile` (plain code), `tile_emit`, `loops`, `matmul_loops`; `depthwise_places`, `depthwise_loops`,
`depthwise_emit`; `tensor_ops` prepares them. `fma` is the one product; `codes` has the formats as formulas, `halves`
and `halves_emit` in loops.
"""
