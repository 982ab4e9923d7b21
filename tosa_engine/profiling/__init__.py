"""Profiles for people: which steps take the time, and how far each is from what the machine allows.

Read: `machine` (the bounds), `figures` (a profile as plain data), `table` (as text), `picture`, `page`.
"""

from .figures import figures
from .machine import Machine
from .page import page
from .picture import picture
from .table import table

__all__ = ["Machine", "figures", "page", "picture", "table"]
