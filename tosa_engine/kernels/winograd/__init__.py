"""CONV2D with 3 x 3 weights by an exact integer Winograd transform."""
