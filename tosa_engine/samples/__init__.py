"""Samples of real data for the inputs of a model: arrays in files, pictures, random numbers."""
