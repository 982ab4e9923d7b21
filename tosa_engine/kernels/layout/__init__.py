"""Loops that copy elements: along strided axes, by index, and along lines."""
