"""NNEF 2.0: models in SkriptND."""
