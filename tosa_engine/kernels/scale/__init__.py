"""RESCALE: how accumulators, and elements, become what is stored.

Computes: the epilogue of convolutions and matrix products (bias, scale, zero point, clip), for sums of int32 and int48;
RESCALE alone; ADD, SUB and MUL between RESCALEs.
Unit of work: epilogues have none of their own, loops of other families call them for some rows of a panel; the others
take `work.BLOCK` elements.
Layout: an epilogue reads three arrays (`epilogue.Parameters`), one column per channel; elementwise scales read one
array of numbers (`numbers`).

Read: `places` and `epilogue`, then `accumulators` (and `columns` and `wide`, for parts of a panel and for int48);
`numbers`, `exact_loops` (where a REQUIRE may fail), `loops` and `emit` (where none can).
"""
