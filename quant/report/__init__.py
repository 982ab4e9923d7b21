"""How well an integer graph stands for the float graph it was made from, layer by layer."""

from __future__ import annotations

from .errors import LayerError, layer_errors

__all__ = ["LayerError", "layer_errors"]
