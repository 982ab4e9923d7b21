"""The pass from a TOSA-FP graph with QParams to a TOSA-INT graph: one rule per operator."""
