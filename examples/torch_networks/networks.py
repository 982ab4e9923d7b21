"""The five networks, written as one writes them in PyTorch: nothing here knows what will become of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class SqueezeExcite(nn.Module):
    """Channels weighed by a small network that sees the mean of each."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.excite(functional.relu(self.squeeze(self.pool(x)))))


class SqueezeExciteClassifier(nn.Module):
    """A convolutional network for pictures of 8 x 8 whose stride of 2 pads on one side only."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.SiLU())
        self.down = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, bias=False), nn.BatchNorm2d(32), nn.SiLU())
        self.depthwise = nn.Sequential(
            nn.Conv2d(32, 32, 3, padding=1, groups=32, bias=False), nn.BatchNorm2d(32), nn.SiLU()
        )
        self.attend = SqueezeExcite(32, 8)
        self.project = nn.Sequential(nn.Conv2d(32, 32, 1, bias=False), nn.BatchNorm2d(32))
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.down(functional.pad(self.stem(x), (0, 1, 0, 1)))
        x = x + self.project(self.attend(self.depthwise(x)))
        return self.head(x.mean(dim=(2, 3)))


class VisionTransformer(nn.Module):
    """Sixteen patches of 2 x 2 and a class token through two encoder layers of torch."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, width, 2, stride=2)
        self.token = nn.Parameter(0.1 * torch.randn(1, 1, width))
        self.position = nn.Parameter(0.1 * torch.randn(1, 17, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        return self.head(self.norm(self.encoder(x)[:, 0]))


class RowReader(nn.Module):
    """A GRU that reads a picture row by row."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.gru = nn.GRU(8, width, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        rows, _ = self.gru(x)
        return self.head(rows[:, -1])


class Regressor(nn.Module):
    """A multilayer perceptron of raw measurements, which it normalises itself."""

    def __init__(self, mean: Tensor, deviation: Tensor, target_mean: float, target_deviation: float) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)
        self.target_mean, self.target_deviation = target_mean, target_deviation
        self.layers = nn.Sequential(nn.Linear(len(mean), 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers((x - self.mean) / self.deviation) * self.target_deviation + self.target_mean


class Denoiser(nn.Module):
    """A small U-Net of grey pictures: strides of 2 going down, transposed convolutions coming up."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.deep = nn.Conv2d(2 * width, 4 * width, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.join = nn.Conv2d(4 * width, 2 * width, 3, padding=1)
        self.out = nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1)
        self.last = nn.Conv2d(2 * width, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        fine = functional.relu(self.enter(x))
        middle = functional.relu(self.down(fine))
        coarse = functional.relu(self.up(functional.relu(self.deep(middle))))
        middle = functional.relu(self.join(torch.cat([coarse, middle], dim=1)))
        rest = self.last(torch.cat([functional.relu(self.out(middle)), fine], dim=1))
        return x - rest
