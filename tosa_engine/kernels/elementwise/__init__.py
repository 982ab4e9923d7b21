"""Elementwise operators: formulas as numpy and as code, and the loop over broadcast inputs."""
