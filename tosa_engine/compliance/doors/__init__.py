"""Doors to implementations under test: a program, a process that stays, a Python function, a module of Arm's runner.

`open_door` makes one of the text of `--engine`. A door takes a graph and its inputs and gives an `Answer`, whatever the
implementation does: crash, hang and too much memory are answers of their own.
"""

from __future__ import annotations

from .answer import Answer, Door, Ending, Limits
from .opening import open_door

__all__ = ["Answer", "Door", "Ending", "Limits", "open_door"]
