"""Quantization: from a float network and samples to an integer network, and what that costs.

    from quant import calibrate, attach, quantize

These names are for users and stay; the modules behind them are the package's own. A name is imported when it is first
used, so that importing the package loads neither numpy nor numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tosa_engine.formats import read_hints, write_hints
    from tosa_engine.journal import Journal
    from tosa_engine.qparams import sidecar
    from tosa_engine.qparams.arrays import dequantize_array, quantize_array

    from . import metrics, report
    from .calibration.calibrate import Calibration, Scheme, attach, calibrate, from_statistics
    from .calibration.methods import Method
    from .calibration.range_rules import RangeRule
    from .improve.post_training import Options, Result, quantize_from_samples
    from .legalize.layers import LayerRule
    from .legalize.multiplier import MULTIPLIER_VERSION
    from .legalize.quantize import Report, quantize

__all__ = [
    "MULTIPLIER_VERSION", "Calibration", "Journal", "LayerRule", "Method", "Options", "RangeRule", "Report",
    "Result", "Scheme", "attach", "calibrate", "dequantize_array", "from_statistics", "metrics", "quantize",
    "quantize_array", "quantize_from_samples", "read_hints", "report", "sidecar", "write_hints",
]  # fmt: skip

_MODULES = {
    "metrics": "quant.metrics",
    "report": "quant.report",
    "sidecar": "tosa_engine.qparams.sidecar",
}
_HOMES = {
    "tosa_engine.formats": ("read_hints", "write_hints"),
    "tosa_engine.qparams.arrays": ("dequantize_array", "quantize_array"),
    "quant.calibration.calibrate": ("Calibration", "Scheme", "attach", "calibrate", "from_statistics"),
    "quant.calibration.methods": ("Method",),
    "quant.calibration.range_rules": ("RangeRule",),
    "quant.improve.post_training": ("Options", "Result", "quantize_from_samples"),
    "tosa_engine.journal": ("Journal",),
    "quant.legalize.layers": ("LayerRule",),
    "quant.legalize.multiplier": ("MULTIPLIER_VERSION",),
    "quant.legalize.quantize": ("Report", "quantize"),
}

if not TYPE_CHECKING:  # the type checker knows the names above, and no other

    def __getattr__(name: str) -> Any:
        found: Any
        if name in _MODULES:
            found = import_module(_MODULES[name])
        elif home := next((home for home, names in _HOMES.items() if name in names), None):
            found = getattr(import_module(home), name)
        else:
            raise AttributeError(f"module 'quant' has no attribute '{name}'")
        globals()[name] = found
        return found
