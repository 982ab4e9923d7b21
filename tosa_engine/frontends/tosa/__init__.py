"""TOSA files as models: what `tosa_engine.serialize` reads is a graph already."""
