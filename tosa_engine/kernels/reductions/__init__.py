"""Loops of the REDUCE operators and of ARGMAX."""
