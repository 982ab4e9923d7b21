"""A network of PyTorch becomes int8: python examples/recipes/pytorch.py [--out FOLDER]

A small network is trained on the digits that scikit-learn ships, exported by torch.onnx, calibrated, quantized, and run
on real numbers. docs/pytorch.md explains the steps. Needs the extra `torch`.
"""

from __future__ import annotations

import numpy as np
import steps
import torch
from sklearn.datasets import load_digits

from quant import Options, Scheme, quantize_from_samples
from tosa_engine import Session, serialize
from tosa_engine.load import load

TRAINING, CALIBRATION = 1200, 200
COMMANDS = """
tosa-engine run digits.onnx --dim batch=1 -i x.npy --expect y.npy --atol 1e-4
tosa-engine calibrate digits.onnx --dim batch=1 --data calibration.npz --statistics digits.json -o digits.quant
tosa-engine quantize digits.onnx --dim batch=1 --statistics digits.json -o digits.int8.tosa
tosa-engine run digits.int8.tosa -i x.npy --real --expect y.npy --atol 0.5
"""


class Network(torch.nn.Module):
    """Two convolutions, and a layer from averages to ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(1, 16, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(16)
        self.second = torch.nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.last = torch.nn.Linear(32 * 4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.first(x)))
        x = torch.nn.functional.gelu(self.second(x))
        x = torch.nn.functional.adaptive_avg_pool2d(x, 2)
        return self.last(torch.flatten(x, 1))


def trained(images: torch.Tensor, labels: torch.Tensor) -> Network:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(20):
        for batch in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(images[batch]), labels[batch]).backward()
            optimizer.step()
    return network.eval()


def export(network: Network, images: torch.Tensor) -> None:
    """ONNX for any number of images; one image with its result, and the calibration data, as arrays."""
    torch.onnx.export(
        network,
        (images[:2],),
        "digits.onnx",
        input_names=["x"],
        output_names=["y"],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        external_data=False,
        verbose=False,
    )
    with torch.no_grad():
        np.save("y.npy", network(images[:1]).numpy())
    np.save("x.npy", images[:1].numpy())
    np.savez("calibration.npz", x=images[:CALIBRATION].numpy())


def quantized(bits: int) -> Session:
    """The same in Python."""
    model = load("digits.onnx", dim={"batch": 1})
    with np.load("calibration.npz") as data:
        samples = [{"x": image[None]} for image in data["x"]]
    result = quantize_from_samples(model, samples, Options(scheme=Scheme().with_bits(bits)))
    serialize.write(result.graph, f"python.int{bits}.tosa")
    return Session(result.graph)


def main() -> None:
    steps.enter_folder(__doc__, "out/pytorch")
    digits = load_digits()
    images = torch.from_numpy(digits.images.astype(np.float32) / 16)[:, None]
    labels = torch.from_numpy(digits.target)
    network = trained(images[:TRAINING], labels[:TRAINING])
    export(network, images[:TRAINING])
    steps.run(COMMANDS)
    with torch.no_grad():
        found = {"PyTorch": network(images[TRAINING:]).numpy()}
    test = images[TRAINING:].numpy()
    found["float"] = Session(load("digits.onnx", dim={"batch": len(test)})).run(None, {"x": test})[0]
    for name, session in (
        ("int8", Session("digits.int8.tosa")),
        ("int8, Python", quantized(8)),
        ("int16", quantized(16)),
    ):
        found[name] = np.concatenate([session.run_real(None, {"x": image[None]})[0] for image in test])
    steps.show({name: (steps.accuracy(y, digits.target[TRAINING:]), y) for name, y in found.items()})


if __name__ == "__main__":
    main()
