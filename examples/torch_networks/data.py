"""The data: three sets that scikit-learn ships, each split into training, calibration and test samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets

Array = np.ndarray[Any, np.dtype[Any]]
CALIBRATION = 128
NOISE = 0.1


@dataclass(frozen=True)
class Data:
    """`x` are inputs, `y` labels, numbers or clean pictures. Calibration uses the first inputs of the training."""

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array

    @property
    def calibration(self) -> Array:
        return self.train_x[:CALIBRATION]


def digits(channel: bool) -> Data:
    """Handwritten digits of 8 x 8 pixels from 0 to 1; with an axis for the channel, or as sequences of rows."""
    pictures, labels = datasets.load_digits(return_X_y=True)
    x = (pictures / 16).astype(np.float32).reshape((-1, 1, 8, 8) if channel else (-1, 8, 8))
    return split(x, labels.astype(np.int64), 1200)


def diabetes() -> Data:
    """Ten measurements as they were taken (years, kg/m2, mmHg, mg/dl, ...) and the progression of the disease."""
    x, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    return split(x.astype(np.float32), y.astype(np.float32)[:, None], 300)


def photographs(side: int = 32) -> Data:
    """Grey crops with noise, and the same without; the left of each photograph is for training, the right for tests."""
    rng = np.random.default_rng(0)
    noisy: list[Array] = []
    clean: list[Array] = []
    for count, half in ((600, 0), (100, 1)):
        crops = []
        for name in ("china.jpg", "flower.jpg"):
            picture = datasets.load_sample_image(name).astype(np.float32).mean(axis=2) / 255
            picture = picture[:, half * 320 : half * 320 + 320]
            for _ in range(count):
                top, left = (rng.integers(0, size - side + 1) for size in picture.shape)
                crops.append(picture[None, top : top + side, left : left + side])
        order = rng.permutation(len(crops))
        clean.append(np.stack(crops)[order])
        noisy.append((clean[-1] + NOISE * rng.normal(size=clean[-1].shape)).astype(np.float32))
    return Data(noisy[0], clean[0], noisy[1], clean[1])


def split(x: Array, y: Array, train: int) -> Data:
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order], y[order]
    return Data(x[:train], y[:train], x[train:], y[train:])
