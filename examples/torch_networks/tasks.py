"""The five tasks: data, network, training and metric of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import data
import networks
import torch
from torch import nn
from train import fit

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Task:
    name: str
    words: str
    metric: str  # as `--metric` of tosa-engine names it
    samples: Callable[[], data.Data]
    network: Callable[[data.Data], nn.Module]
    loss: nn.Module
    epochs: int
    rate: float

    def train(self, samples: data.Data) -> nn.Module:
        torch.manual_seed(0)
        network = self.network(samples)
        fit(network, samples, self.loss, self.epochs, self.rate)
        return network


def regressor(samples: data.Data) -> nn.Module:
    x, y = samples.train_x, samples.train_y
    return networks.Regressor(torch.from_numpy(x.mean(0)), torch.from_numpy(x.std(0)), float(y.mean()), float(y.std()))


TASKS = (
    Task("squeeze_excite", "CNN with squeeze-and-excite, digits", "accuracy", lambda: data.digits(True),
         lambda _: networks.SqueezeExciteClassifier(), nn.CrossEntropyLoss(), 20, 1e-2),
    Task("transformer", "vision transformer, digits", "accuracy", lambda: data.digits(True),
         lambda _: networks.VisionTransformer(), nn.CrossEntropyLoss(), 40, 3e-3),
    Task("gru", "GRU over rows, digits", "accuracy", lambda: data.digits(False),
         lambda _: networks.RowReader(), nn.CrossEntropyLoss(), 30, 1e-2),
    Task("regressor", "regressor on raw features, diabetes", "r2", data.diabetes,
         regressor, nn.MSELoss(), 30, 3e-3),
    Task("denoiser", "denoiser with transposed convolutions, photographs", "psnr", data.photographs,
         lambda _: networks.Denoiser(), nn.MSELoss(), 12, 3e-3),
)  # fmt: skip
