"""The flags that say what the samples are: `--data`, `--random` and how pictures become numbers."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..text import say
from .common import at_least
from .told import warn

if TYPE_CHECKING:
    from ..graph import Graph
    from ..samples.arrays import Samples


def add_data(parser: argparse.ArgumentParser) -> None:
    """The flags that say what the samples are."""
    data = parser.add_argument_group("data")
    data.add_argument(
        "--data", metavar="FILE|DIR",
        help="an .npz with one array per input (first axis: samples), an .npy, a folder of them or of pictures (or of "
        "folders of pictures, one per class), or module:function, which gives samples",
    )  # fmt: skip
    data.add_argument(
        "--as-real", action="store_true", help="arrays of integers for a real input are the numbers that they are"
    )
    data.add_argument("--random", type=at_least(1), metavar="N", help="N samples of random numbers instead of data")
    data.add_argument("--seed", type=int, default=0, metavar="N", help="of --random; default: 0")
    data.add_argument("--samples", type=at_least(1), metavar="N", help="use N samples only")
    data.add_argument(
        "--image-mean", type=list_of_numbers, metavar="M[,M]", help="taken from pixels of 0 to 255; default: 0"
    )
    data.add_argument(
        "--image-std", type=list_of_numbers, metavar="S[,S]", help="what pixels are divided by; default: 255"
    )
    data.add_argument("--image-size", type=_size, metavar="HxW", help="scale to this, then cut the input's size")
    data.add_argument(
        "--image-channels", choices=("RGB", "BGR"), help="the order that the network takes colours in; default: RGB"
    )
    data.add_argument("--image-layout", choices=("NHWC", "NCHW"), help="default: by the input's shape")


def check_data(args: argparse.Namespace, *, counted: bool = False) -> None:
    """Flags of `add_data` that are about nothing here; `counted`: what --samples counts is elsewhere.

    Raises UsageError.
    """
    images = _picture_flags(args)
    if images and not args.data:
        raise UsageError(f"{' and '.join(images)}: there is no folder of pictures; give it with --data")
    if args.as_real and not args.data:
        raise UsageError("--as-real is about the arrays of --data, which isn't given")
    if args.seed and not args.random:
        raise UsageError("--seed is for --random")
    if args.samples is not None and not (args.data or args.random or counted):
        raise UsageError("--samples counts those of --data or --random, and neither is given")


def samples_of(args: argparse.Namespace, graph: Graph, *, integers: bool = False) -> Samples:
    """What the flags of `add_data` say. With `integers` arrays of them are samples, too."""
    from ..samples.arrays import RandomSamples, array_samples
    from ..samples.images import Preparation, image_samples, is_image_folder
    from ..samples.loader import LoaderSamples, is_loader

    inputs = graph.inputs
    if args.random:
        warn(["random numbers say nothing about the ranges of real data"])
        return RandomSamples(args.random, args.seed, inputs, rows_of_indices(graph))
    if not is_image_folder(args.data):
        if given := _picture_flags(args):
            raise UsageError(f"{' and '.join(given)}: '{args.data}' is no folder of pictures")
        if is_loader(args.data) and not Path(args.data).exists():
            return LoaderSamples(args.data, inputs)
        return array_samples(args.data, inputs, integers=integers and not args.as_real, as_real=args.as_real)
    how = Preparation(
        args.image_mean or (0.0,), args.image_std or (255.0,), args.image_size, args.image_layout, args.image_channels
    )
    found = image_samples(args.data, inputs, how)
    say(str(found), file=sys.stderr)
    return found


def _picture_flags(args: argparse.Namespace) -> list[str]:
    """The flags about pictures that are given."""
    names = ("mean", "std", "size", "channels", "layout")
    return [f"--image-{name}" for name in names if getattr(args, f"image_{name}") is not None]


def rows_of_indices(graph: Graph) -> dict[str, int]:
    """Of inputs that number the rows of a GATHER, as they are or reshaped: how many rows there are."""
    block, found = graph.main, dict[str, int]()
    stands_for = {name: name for name in block.inputs}
    for op in block.operators:
        if op.op in ("RESHAPE", "TRANSPOSE", "IDENTITY") and op.inputs[0] in stands_for:
            stands_for[op.outputs[0]] = stands_for[op.inputs[0]]
        shape = block.tensors[op.inputs[0]].shape if op.op == "GATHER" else None
        if shape is not None and op.inputs[1] in stands_for:
            name = stands_for[op.inputs[1]]
            found[name] = min(shape[1], found.get(name, shape[1]))
    return found


def list_of_numbers(text: str) -> tuple[float, ...]:
    """An argparse type: numbers with commas between them."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' isn't a number or a list of numbers with commas") from None
    if not all(math.isfinite(value) for value in found):
        raise argparse.ArgumentTypeError(f"'{text}' isn't finite")
    return found


def _size(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() and 0 < int(part) <= 65536 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' isn't a height and a width, such as 256x256")
    return int(parts[0]), int(parts[1])
