"""Calibration data from a folder of pictures, read by Pillow (extra `images`)."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import DataError, UsageError
from .arrays import sha256

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from ..graph import Tensor
    from ..types import Array
    from .arrays import Sample

SUFFIXES: Final = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
LAYOUTS: Final = ("NHWC", "NCHW")
MODES: Final = {1: "L", 3: "RGB", 4: "RGBA"}
MOST_PIXELS: Final = 1 << 26


@dataclass(frozen=True)
class Preparation:
    """From pixels of 0 to 255 to what the network takes: (pixel - mean) / std, one number or one per channel.

    `layout` is NHWC or NCHW, None to see from the input's shape where the 1 or 3 channels are. Pictures are scaled
    to `size` (height, width; None: that of the input) bilinearly, and the input's size is cut from the middle. `order`
    of colours: RGB (None, too) or BGR; means and deviations are in the same order.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (255.0,)
    size: tuple[int, int] | None = None
    layout: str | None = None
    order: str | None = None


@dataclass(frozen=True)
class ImageSamples:
    """One picture per sample, by file name; of a folder of class folders one of each class in turn."""

    files: list[Path]
    tensor: Tensor
    preparation: Preparation
    layout: str
    folder: Path

    def __str__(self) -> str:
        """What is done to the pictures, in one line."""
        how = self.preparation
        height, width, channels = _dimensions(self.tensor.shape or (), self.layout)
        size = how.size or (height, width)
        cut = f", {height} x {width} cut from the middle" if size != (height, width) else ""
        folders = len({file.parent for file in self.files})
        where = f" in {folders} class folders" if self.files[0].parent != self.folder else ""
        mean, std = (", ".join(f"{v:g}" for v in values) for values in (how.mean, how.std))
        return (
            f"{len(self.files)} pictures{where}: resized to {size[0]} x {size[1]} (bilinear){cut}; channels "
            f"{_ordered(channels, how.order)} as {self.layout}; (pixel - [{mean}]) / [{std}]"
        )

    @property
    def total(self) -> int:
        return len(self.files)

    def describe(self) -> dict[str, Any]:
        how = self.preparation
        return {
            "kind": "images",
            "mean": list(how.mean), "std": list(how.std), "size": how.size and list(how.size), "layout": self.layout,
            "channels": how.order or "RGB",
            "files": [
                {"name": file.relative_to(self.folder).as_posix(), "sha256": sha256(file)} for file in self.files
            ],
        }  # fmt: skip

    def read(self, numbers: Iterable[int]) -> Iterator[tuple[int, Sample]]:
        for number in numbers:
            yield number, {self.tensor.name: self._sample(self.files[number])}

    def _sample(self, file: Path) -> Array:
        shape = self.tensor.shape or ()
        height, width, channels = _dimensions(shape, self.layout)
        pixels = _pixels(file, (height, width), self.preparation.size, MODES[channels])
        if self.preparation.order == "BGR":
            pixels[..., :3] = pixels[..., 2::-1].copy()
        mean, std = (np.asarray(v, np.float64) for v in (self.preparation.mean, self.preparation.std))
        prepared = ((pixels.reshape(height, width, channels) - mean) / std).astype(np.float32)
        if self.layout == "NCHW":
            prepared = prepared.transpose(2, 0, 1)
        return np.ascontiguousarray(prepared).reshape(shape)


def is_image_folder(path: str | os.PathLike[str]) -> bool:
    found = Path(path)
    return found.is_dir() and bool(_pictures(found) or _classes(found))


def _pictures(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())


def _classes(folder: Path) -> list[Path]:
    """The pictures of folders in a folder, one of each in turn, so that the first ones are of all classes."""
    each = [_pictures(inside) for inside in sorted(folder.iterdir()) if inside.is_dir()]
    return [file for row in zip_longest(*each) for file in row if file is not None]


def image_samples(path: str | os.PathLike[str], inputs: Sequence[Tensor], preparation: Preparation) -> ImageSamples:
    """The pictures of a folder, sorted by name, for a model with one input of 1, 3 or 4 channels.

    Raises:
        UsageError: Pillow isn't installed, or `preparation` doesn't fit the input.
        DataError: the model has more than one input, or its shape is that of no picture.
    """
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UsageError("pictures need Pillow; try: pip install 'tosa-engine[images]'") from None
    if len(inputs) != 1:
        raise DataError(f"pictures are for models with one input; this one has {len(inputs)}")
    tensor = inputs[0]
    layout = preparation.layout or _layout(tensor)
    channels = _dimensions(tensor.shape or (), layout)[2]
    for name, values in (("mean", preparation.mean), ("std", preparation.std)):
        if len(values) not in (1, channels):
            raise UsageError(f"--image-{name} has {len(values)} numbers; '{tensor.name}' has {channels} channels")
    if preparation.order == "BGR" and channels == 1:
        raise UsageError(f"--image-channels BGR: '{tensor.name}' has 1 channel")
    if 0.0 in preparation.std:
        raise UsageError("--image-std can't be 0")
    folder = Path(path)
    return ImageSamples(_pictures(folder) or _classes(folder), tensor, preparation, layout, folder)


def _ordered(channels: int, order: str | None) -> str:
    """The names of the channels in their order."""
    return MODES[channels].replace("RGB", order or "RGB")


def _layout(tensor: Tensor) -> str:
    shape = tensor.shape or ()
    found = [layout for layout in LAYOUTS if _is_picture(shape, layout) and _split(shape, layout)[2] != 4]
    if len(found) == 1:
        return found[0]
    why = "either way" if found else "no way: it has 1 or 3 channels and a batch of 1"
    raise DataError(f"shape {list(shape)} can be read as a picture {why}; say --image-layout", tensor=tensor.name)


def _is_picture(shape: tuple[int, ...], layout: str) -> bool:
    return len(shape) in (3, 4) and (len(shape) == 3 or shape[0] == 1) and _split(shape, layout)[2] in MODES


def _dimensions(shape: tuple[int, ...], layout: str) -> tuple[int, int, int]:
    """Height, width and channels of the input. Raises DataError where it takes no picture."""
    if not _is_picture(shape, layout):
        raise DataError(f"shape {list(shape)} as {layout} isn't that of one picture with 1, 3 or 4 channels")
    return _split(shape, layout)


def _split(shape: tuple[int, ...], layout: str) -> tuple[int, int, int]:
    a, b, c = shape[-3:]
    return (a, b, c) if layout == "NHWC" else (b, c, a)


@contextmanager
def _strictly() -> Iterator[None]:
    """What Pillow warns of in a picture is an error, but for telephones' second pictures, which aren't read."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "Image appears to be a malformed MPO")
        yield


def _pixels(file: Path, target: tuple[int, int], size: tuple[int, int] | None, mode: str) -> Array:
    """Float64 [height, width, channels] of a picture: scaled, then cut from its middle."""
    from PIL import Image, UnidentifiedImageError

    height, width = size or target
    if height < target[0] or width < target[1]:
        raise UsageError(f"--image-size {height}x{width} is smaller than the input, {target[0]}x{target[1]}")
    try:
        with _strictly(), Image.open(file) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise DataError(f"{file}: {picture.width} x {picture.height} pixels; at most {MOST_PIXELS} are read")
            scaled = picture.convert(mode).resize((width, height), Image.Resampling.BILINEAR)
    except (UnidentifiedImageError, OSError, ValueError, UserWarning, Image.DecompressionBombError) as problem:
        raise DataError(f"{file}: not a picture that Pillow can read: {problem}") from problem
    top, left = (height - target[0]) // 2, (width - target[1]) // 2
    cut: Array = np.asarray(scaled.crop((left, top, left + target[1], top + target[0])), np.float64)
    return cut
