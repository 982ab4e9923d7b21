"""How well an integer graph stands for the float graph it was made from, layer by layer.

`measure` runs both and each layer alone, `measure_effects` says what the error of a layer alone does to the outputs,
`try_changes` makes and runs changes that may help; `page`, `to_json` and `to_csv` write what they found. `layer_errors`
is the short form: distances in LSB.
"""

from __future__ import annotations

from .advice import Advice, Files, advise, lints
from .data import to_csv, to_json
from .effects import measure_effects
from .errors import LayerError, layer_errors
from .measure import Measurement, measure
from .measured import Measured
from .page import page
from .trials import Suggestions, Trial, Workshop, try_changes

__all__ = [
    "Advice", "Files", "LayerError", "Measured", "Measurement", "Suggestions", "Trial", "Workshop", "advise",
    "layer_errors", "lints", "measure", "measure_effects", "page", "to_csv", "to_json", "try_changes",
]  # fmt: skip
