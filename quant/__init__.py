"""Quantization: calibration, graph.quant, and the pass that turns a TOSA-FP graph into a TOSA-INT graph."""
