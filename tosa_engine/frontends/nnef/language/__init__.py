"""The language of NNEF documents (chapters 3 and 6): from text to a checked list of operations."""
