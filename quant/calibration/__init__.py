"""Calibration: samples, statistics of activations, and the ranges chosen from them."""
