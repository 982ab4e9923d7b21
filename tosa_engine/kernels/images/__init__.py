"""Loops over output rows of images: pools and RESIZE."""
