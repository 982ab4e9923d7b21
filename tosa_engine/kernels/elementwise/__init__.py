"""Elementwise operators: one formula for each, from which one loop is made.

Computes: any function of up to three numbers at the same place, with broadcasting. A formula is called with numpy's
arrays where the JIT is off, and with numbers that emit code where it is on; both give the same bytes.
Unit of work: `work.BLOCK` elements of the output.
Layout: arrays in one dimension, with the fewest axes that broadcasting needs; the strides of the last one are 0 or 1.

Read: `formula` (the words that formulas are written in), `loops` (the loop), `prepare`; `formula_emit` makes code of a
formula, `elementary` has EXP, LOG, SIN and others as formulas. `chain` and `chain_loops` make one of several.
"""
