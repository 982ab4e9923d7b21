"""Directed stimuli: inputs for which the layers of an integer graph reach their corners.

Read: `goals` (what there is to reach), `layers` (the layers of a graph), `slopes` (which inputs move a value),
`search`, `output` (as text and data).
"""

from .layers import Layer, layers_of
from .output import report, to_json
from .search import Search

__all__ = ["Layer", "Search", "layers_of", "report", "to_json"]
