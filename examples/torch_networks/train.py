"""Training: seeded, on one thread, less than a minute each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from data import Data


def fit(network: nn.Module, data: Data, loss: nn.Module, epochs: int, rate: float, batch: int = 50) -> None:
    """Train `network` in place with Adam, whose rate falls to zero; it is left in evaluation mode."""
    x, y = torch.from_numpy(data.train_x), torch.from_numpy(data.train_y)
    optimizer = torch.optim.AdamW(network.parameters(), rate, weight_decay=1e-2)
    steps = epochs * -(-len(x) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    network.train()
    for _ in range(epochs):
        for chosen in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            loss(network(x[chosen]), y[chosen]).backward()
            optimizer.step()
            schedule.step()
    network.eval()
