"""Front ends: each reads a model of another format and maps it to a TOSA-FP graph."""
