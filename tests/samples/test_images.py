"""Folders of class folders, and what is said of pictures before they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import types
from tosa_engine.errors import DataError
from tosa_engine.graph import Tensor
from tosa_engine.samples.images import Preparation, image_samples, is_image_folder

if TYPE_CHECKING:
    from pathlib import Path

INPUT = [Tensor("x", types.fp32, (1, 3, 4, 4))]


def classes(folder: Path) -> Path:
    from PIL import Image

    for name, count in (("cat", 3), ("dog", 1)):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            Image.fromarray(np.full((6, 8, 3), 10 * i, np.uint8)).save(folder / name / f"{i}.png")
    return folder


def test_class_folders_give_a_picture_of_each_class_in_turn(tmp_path: Path) -> None:
    folder = classes(tmp_path / "pictures")
    assert is_image_folder(folder)
    assert not is_image_folder(tmp_path)
    found = image_samples(folder, INPUT, Preparation())
    names = [entry["name"] for entry in found.describe()["files"]]
    assert names == ["cat/0.png", "dog/0.png", "cat/1.png", "cat/2.png"]
    assert [round(255 * float(sample["x"].max())) for _, sample in found.read(range(4))] == [0, 0, 10, 20]


def test_colours_in_the_order_that_the_network_takes(tmp_path: Path) -> None:
    from PIL import Image

    from tosa_engine.errors import UsageError

    Image.fromarray(np.full((4, 4, 3), (10, 20, 30), np.uint8)).save(tmp_path / "a.png")
    for order, wanted in ((None, [10, 20, 30]), ("RGB", [10, 20, 30]), ("BGR", [30, 20, 10])):
        how = Preparation((1.0, 2.0, 3.0), (2.0,), None, None, order)
        found = image_samples(tmp_path, INPUT, how)
        ((_, sample),) = found.read([0])
        assert sample["x"][0, :, 0, 0].tolist() == [(v - m) / 2 for v, m in zip(wanted, (1, 2, 3), strict=True)]
        assert f"channels {order or 'RGB'} as NCHW" in str(found)
        assert found.describe()["channels"] == (order or "RGB")
    with pytest.raises(UsageError, match="--image-channels BGR: 'x' has 1 channel"):
        image_samples(tmp_path, [Tensor("x", types.fp32, (1, 1, 4, 4))], Preparation(order="BGR"))


def test_what_is_done_to_pictures_is_printed_before_they_are_used(command: Any, tmp_path: Path) -> None:
    from quant_tools import Floats

    from tosa_engine import serialize

    f = Floats()
    serialize.write(f.outputs(f.op("ABS", [f.input((1, 3, 4, 4))], name="y")), tmp_path / "net.tosa")
    flags = ("--image-channels", "BGR", "--image-size", "5x6", "--image-mean", "1,2,3", "--image-std", 4)
    folder = classes(tmp_path / "pictures")
    done = command("quantize", tmp_path / "net.tosa", "--data", folder, *flags, "-o", tmp_path / "int.tosa")
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == (
        "4 pictures in 2 class folders: resized to 5 x 6 (bilinear), 4 x 4 cut from the middle; channels BGR as NCHW; "
        "(pixel - [1, 2, 3]) / [4]"
    )


def test_a_picture_with_a_damaged_field_is_refused(tmp_path: Path) -> None:
    from PIL import Image

    Image.fromarray(np.full((6, 8, 3), 10, np.uint8)).save(tmp_path / "a.tiff")
    content = bytearray((tmp_path / "a.tiff").read_bytes())
    at = content.index(b"\x02\x01\x03\x00\x03\x00\x00\x00")  # BitsPerSample, three of them
    content[at + 4 : at + 8] = b"\xff\xff\xff\x7f"
    (tmp_path / "a.tiff").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.tiff: not a picture that Pillow can read: Tag data larger than file"):
        list(image_samples(tmp_path, INPUT, Preparation()).read([0]))
