"""Lowering: what models compute, written as TOSA operators, for every front end.

A lowering is a function of a graph writer (`writer.Writer`), of tensors, and of plain values: strides, padding, axes, a
border. Front ends parse, check what their format says, and call it.
"""
