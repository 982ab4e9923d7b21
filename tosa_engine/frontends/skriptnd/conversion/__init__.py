"""Models from NNEF 1 to SkriptND and back, operator by operator: the same graph, tensors under the same names."""
