"""Convolutions and matrix products of int16 with int48 accumulators."""
