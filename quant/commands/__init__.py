"""The verbs that quantization adds to the command `tosa-engine`."""
