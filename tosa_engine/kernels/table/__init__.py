"""TABLE of int8 and of int16, and the latter with a RESCALE after it.

Unit of work: `work.BLOCK` elements.
Layout: 256 entries of int8 as they are. Of 513 entries of int16, 512 and their slopes, then the bytes of both, as
vector units look them up (`prepare.entries_and_slopes`); tables whose slopes don't fit int16 are looked up by
`scale.exact_loops`.

Read: `prepare`, `loops` (with the plain code), `emit` (the look-ups of vector units).
"""
