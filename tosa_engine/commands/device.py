"""The flags of verbs that say in which form a device's files are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common import at_least

if TYPE_CHECKING:
    import argparse

# those of `tosa_engine.layouts`, which --help doesn't import, because it needs numpy
LAYOUTS = ("NHWC", "NCHW", "NHCWB16")
ENDIANS = ("little", "big")
DEVICE_HELP = (
    "how files of bare elements lie, in TOML: layout, channels, endian, and what is different for some tensors"
)


def add_device(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("files of devices")
    group.add_argument("--layout", choices=LAYOUTS, help="of dumped tensors with four axes (default: NHWC)")
    group.add_argument(
        "--channels", type=at_least(1), metavar="N", help="dumped tensors with four axes are padded to a multiple of N"
    )
    group.add_argument("--endian", choices=ENDIANS, help="order of an element's bytes in .bin (default: little)")
    group.add_argument("--device", metavar="FILE.toml", help=DEVICE_HELP)
