"""Integers that stand for real numbers: the arithmetic of scales and zero points, and the file that holds them."""
