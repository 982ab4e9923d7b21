"""Tensor operators of floats, and number formats of floats in compiled code."""
