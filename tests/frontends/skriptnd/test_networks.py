"""Whole networks in SkriptND: parsed, run, calibrated, quantized, and run in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.frontends.skriptnd.same_graph import drawn
from tests.frontends.skriptnd.test_from_nnef import DIGITS
from tosa_engine.cli import main
from tosa_engine.frontends.nnef.files.dat import write_dat
from tosa_engine.frontends.skriptnd.source import SkriptndSource
from tosa_engine.load import load

if TYPE_CHECKING:
    from pathlib import Path


def test_digits_ends_in_the_same_integers_as_from_nnef_1(tmp_path: Path) -> None:
    """The .tosa files differ in names only."""
    new, scales, samples = tmp_path / "digits.nnef2", tmp_path / "graph.quant", tmp_path / "samples.npy"
    with np.load(DIGITS.parent / "digits_data.npz", allow_pickle=False) as data:
        np.save(samples, data["calibration_images"][:8])
    assert main(["convert", str(DIGITS), "-o", str(new)]) == 0
    assert main(["calibrate", str(DIGITS), "--data", str(samples), "-o", str(scales)]) == 0
    files = []
    for model in (DIGITS, new):
        files.append(tmp_path / f"{model.suffix[1:]}.tosa")
        assert main(["quantize", str(model), "--quant", str(scales), "-o", str(files[-1])]) == 0
    first, second = map(load, files)
    assert len(first.main.operators) > 20
    assert drawn(first) == drawn(second)


# The network of the draft's section 2.1 with conv7 reading flat1, and attributes for its extents: `share` divides the
# channels, `last` is the extent that the last pool leaves.
CHANNELS = (64, 192, 384, 384, 256, 4096)
BODY = """
    conv1 = nn.conv{padding=0, stride=4}(input, kernel1, bias1);    relu1 = nn.relu(conv1);
    pool1 = nn.max_pool{padding=0, size=3, stride=2}(relu1);
    conv2 = nn.conv{padding=2}(pool1, kernel2, bias2);              relu2 = nn.relu(conv2);
    pool2 = nn.max_pool{padding=0, size=3, stride=2}(relu2);
    conv3 = nn.conv{padding=1}(pool2, kernel3, bias3);              relu3 = nn.relu(conv3);
    conv4 = nn.conv{padding=1}(relu3, kernel4, bias4);              relu4 = nn.relu(conv4);
    conv5 = nn.conv{padding=1}(relu4, kernel5, bias5);              relu5 = nn.relu(conv5);
    pool3 = nn.max_pool{padding=0, size=3, stride=2}(relu5);
    conv6 = nn.conv{padding=0}(pool3, kernel6, bias6);              relu6 = nn.relu(conv6);
    flat1 = layout.flatten{axis=1}(relu6);
    conv7 = nn.linear(flat1, kernel7, bias7);                       relu7 = nn.relu(conv7);
    conv8 = nn.linear(relu7, kernel8, bias8);                       output = nn.softmax(conv8);
"""


def alexnet(place: Path, **attributes: int) -> list[str]:
    """The model with random weights; the flags that say its attributes."""
    sizes = ("11, 11", "5, 5", "3, 3", "3, 3", "3, 3", "last, last")
    inputs = ("3", *(f"{n} / share" for n in CHANNELS))
    lines = [f"kernel{i}: real[{inputs[i]}, {inputs[i - 1]}, {size}];" for i, size in enumerate(sizes, 1)]
    lines += [f"kernel7: real[{inputs[6]}, {inputs[6]}];", f"kernel8: real[classes, {inputs[6]}];"]
    lines += [f"bias{i}: real[{n}];" for i, n in enumerate((*inputs[1:], inputs[6], "classes"), 1)]
    given = "batch: int = 1; classes: int = 1000; size: int = 224; share: int = 1; last: int = 5;"
    text = f"""import nn
        import layout
        graph AlexNet {{
            @attrib {{ {given} }}
            @input {{ input: real[batch, 3, size, size]; }}
            @output {{ output: real[batch, classes]; }}
            @variable {{ {" ".join(lines)} }}
            @compose {{ {BODY} }}
        }}"""
    place.mkdir()
    (place / "main.sknd").write_text(text)
    generator = np.random.default_rng(0)
    source = SkriptndSource(place, attribute={name: str(value) for name, value in attributes.items()})
    for ref in source.composed.variables:
        spread = np.sqrt(2.0 / np.prod(ref.shape[1:])) if len(ref.shape) > 1 else 0.1
        data = generator.normal(scale=spread, size=ref.shape).astype(np.float32)
        (place / source.file_of(ref)).write_bytes(write_dat(data))
    return [part for name, value in attributes.items() for part in ("--attribute", f"{name}={value}")]


def through_all_verbs(place: Path, flags: list[str], size: int, samples: int) -> None:
    """From the text to integers, whose scores are close to those of floats."""
    data, scales, integers = (place.with_name(name) for name in ("data.npy", "graph.quant", "net.tosa"))
    np.save(data, np.random.default_rng(1).uniform(0, 1, (samples, 1, 3, size, size)).astype(np.float32))
    assert main(["check", str(place), *flags]) == 0
    assert main(["calibrate", str(place), *flags, "--data", str(data), "-o", str(scales)]) == 0
    assert main(["quantize", str(place), *flags, "--quant", str(scales), "-o", str(integers)]) == 0
    scores = []
    for number, (model, more) in enumerate(((place, flags), (integers, ["--real"]))):
        found = place.with_name(f"scores{number}.npz")
        assert main(["run", str(model), *more, "--data", str(data), "-o", str(found)]) == 0
        with np.load(found, allow_pickle=False) as arrays:
            scores.append(next(iter(arrays.values())))
    wanted, found = scores
    assert wanted.std() > 0
    assert 10 * np.log10(np.square(wanted).sum() / np.square(found - wanted).sum()) > 10


def test_alexnet_of_the_draft_with_fewer_channels(tmp_path: Path) -> None:
    flags = alexnet(tmp_path / "net.nnef2", size=95, share=16, last=1, classes=10)
    through_all_verbs(tmp_path / "net.nnef2", flags, 95, 4)


@pytest.mark.slow("62 million weights")
def test_alexnet_of_the_draft(tmp_path: Path) -> None:
    alexnet(tmp_path / "net.nnef2")
    through_all_verbs(tmp_path / "net.nnef2", [], 224, 2)
