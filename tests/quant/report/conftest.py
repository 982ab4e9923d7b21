"""The measurement of a small network, which is made once a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from report_tools import network, samples

from quant.report import measure

if TYPE_CHECKING:
    from quant.report import Measurement


@pytest.fixture(scope="module")
def found() -> Measurement:
    return measure(*network(), samples())
