"""Writes docs/methods.md: what every method of quantization gives. A few minutes: python docs/generate_methods.py

Rows are flags of `tosa-engine quantize`. All networks run in integers; nothing is fake quantization.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from quant.commands.calibrate import add_scheme
from quant.commands.quantize_flags import add_layers, add_methods, options_of
from quant.improve.post_training import quantize_from_samples
from quant.improve.runs import IntegerNetwork, judged_tensors, subgraph_for
from quant.legalize.layers import stay_float
from quant.legalize.quantize import prepared
from tosa_engine import Session
from tosa_engine.compare.agreement import Agreement
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.graph import Graph

    Sample = Mapping[str, Any]

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = Path(__file__).with_name("methods.md")
SHARED: Final = ROOT.parent / "shared" / "models" / "perf"

DIGITS: Final = (
    "--method minmax", "--method average", "--method percentile", "--method entropy", "--method mse",
    "--symmetric", "--power-of-two", "--weights per-tensor", "--weights per-tensor --equalize", "--equalize",
    "--bias-correction", "--rounding adaround", "--rounding adaround --bias-correction",
    "--bits 16", "--bits 16 --rounding adaround", "--layer op:softmax=int16 --layer logits=int16",
    "--layer n2=int16 --layer n3=int16", "--layer n2=int16 --layer output=int16 --layer n5=int4",
    "--weight-bits 4", "--weight-bits 4 --bias-correction", "--weight-bits 4 --rounding adaround",
    "--weight-bits 4 --rounding adaround --bias-correction", "--weight-bits 4 --layer n1=int8 --layer logits=int8",
    "--layer n[1345]=int4 --layer logits=int4", "--layer n[1345]=int4 --layer logits=int4 --rounding adaround",
)  # fmt: skip
LAYERS: Final = ("", "--equalize", "--bits 16")
BLOCK: Final = (
    "", "--smooth 0.25", "--smooth 0.5", "--smooth 0.75", "--rounding adaround", "--smooth --rounding adaround",
    "--bias-correction", "--bits 16", "--bits 16 --smooth",
)  # fmt: skip
PLAIN_BLOCK: Final = ("", "--smooth 0.5", "--rounding adaround", "--bits 16")
INTRODUCTION: Final = """# What the methods give

Made by `python docs/generate_methods.py` (processor time: {minutes} min): change that, not this page. Each row is what
`tosa-engine quantize MODEL --data DATA FLAGS` does; every number is of the integer network, run by this engine.
*SQNR*: the power of the float outputs over the power of the difference, in dB, before a softmax at the end.

| flags | what they do |
|---|---|
| `--method ...` | how ranges are chosen from the statistics ([calibration](calibration.md)) |
| `--equalize` | channels between layers are scaled so that both use their ranges; floats stay the same, bit by bit |
| `--smooth ALPHA` | the same before matrix products, by the activations: their outliers move into the weights |
| `--rounding adaround` | each weight rounds up or down so that the layer's results on the samples change least |
| `--bias-correction` | the mean error of each channel is taken off the bias where this helps on held-back samples |
| `--bits 16` | 16-bit activations, 8-bit weights (16x8) |
| `--weight-bits 4` | 4-bit weights, 8-bit activations, where TOSA has such an operator |
| `--layer SELECTOR=PRECISION` | `int8`, `int16`, `int4` or `float` for single layers |

    tosa-engine quantize net.nnef --data samples.npz --equalize --rounding adaround --bias-correction -o net.tosa

```python
from quant import Options, quantize_from_samples
from tosa_engine.load import load

options = Options(equalize=True, rounding="adaround", bias_correction=True)
result = quantize_from_samples(load("net.nnef"), samples, options)
print(result.graph.outputs, result.precisions, *result.notes, sep="\\n")
```

The methods are applied in this order: equalisation, balancing, calibration, rounding, bias correction. What each did to
each layer is printed. It is also recorded in `net.config.json`, with all options, the samples and the versions. The
same samples, options and seed (`--rounding-seed`) give the same bytes.

- Scales move through what is positively homogeneous and the same for every channel: ReLU, leaky ReLU, pools, means,
  moves of values, sums of two layers. They don't move through a clamp at another number (ReLU6), a function, a CONCAT,
  or a graph output. They are powers of two, so that floats don't change in a single bit; the cost is up to half a step
  of scale.
- AdaRound's weights become the integer below or above. Layers are done one after the other, on the inputs that the
  integer network gives them, from two matrices of taps x taps per layer: memory doesn't grow with the samples. Layers
  of more than 8192 taps keep the nearest integers, and say so.
- Equalisation and balancing say for each set of channels what they scaled, or why they found nothing. Each set is tried
  as integers on samples that are held out (every fourth of the first 32), and dropped where these get worse.
- Every fourth sample is held back from AdaRound and from bias correction, to judge each layer by the outputs of the
  whole integer network. On real int8 what a layer gets often gains nothing, or loses. It is dropped then: without
  AdaRound a layer keeps the nearest integers.
- A selector is a layer's name, with `*` and `?`, or `op:OPERATOR`. Of several rules the last one that matches a layer
  wins, and a rule that matches none is an error. `--layers FILE` reads them from a file, one `SELECTOR = PRECISION` a
  line. An `int16` layer reads and writes 16 bits; TOSA has no operator of 16-bit activations and 4-bit weights, nor a
  MATMUL of 4-bit weights. `--rounding-layers` and `--bias-layers` limit those methods.
- Long methods show their progress on a terminal. What they found for a layer is kept in `OUTPUT.journal` (`--journal`:
  elsewhere) until the output is written. After an interrupt, the same command with `--resume` goes on from there and
  writes the bytes of a run without interrupt; a journal of another model, data or other options is refused, and begun
  anew without `--resume`.
- `--accept METRIC=LOSS` refuses to write a network that loses more of a [metric](precision.md#metrics) than that.
"""


@dataclass(frozen=True)
class Network:
    """A float network, samples to quantize it with and others to judge by."""

    graph: Graph
    fit: Sequence[Sample]
    judge: Sequence[Sample]
    labels: Any = None


def measured(network: Network, flags: str) -> tuple[float, float]:
    """SQNR in dB, and with labels the accuracy in per cent (else 0)."""
    parser = argparse.ArgumentParser()
    for add in (add_scheme, add_layers, add_methods):
        add(parser)
    result = quantize_from_samples(network.graph, network.fit, options_of(parser.parse_args(flags.split())))
    floats = stay_float(prepared(network.graph).main, result.precisions)
    judged = judged_tensors(prepared(network.graph))
    real = Session(subgraph_for(prepared(network.graph), *judged))
    integers, whole = IntegerNetwork(subgraph_for(result.ready, *judged), floats), IntegerNetwork(result.ready, floats)
    agreement, right = Agreement(), 0
    for i, sample in enumerate(network.judge):
        for wanted, found in zip(real.run(None, sample), integers.run(sample), strict=True):
            agreement.add_floats(found, wanted)
        if network.labels is not None:
            right += int(whole.run(sample)[0].argmax() == network.labels[i])
    return agreement.sqnr, 100 * right / len(network.judge)


def digits() -> Network:
    folder = ROOT / "examples" / "digits"
    with np.load(folder / "digits_data.npz", allow_pickle=False) as data:
        fit = [{"input": image[None]} for image in data["calibration_images"][:64]]
        judge = [{"input": image[None]} for image in data["test_images"]]
        return Network(load(folder / "digits.nnef"), fit, judge, data["test_labels"])


def accuracy_of_floats(network: Network) -> float:
    session = Session(network.graph)
    found = [session.run(None, sample)[0].argmax() for sample in network.judge]
    return 100 * float(np.mean(np.array(found) == network.labels))


def of_random_inputs(graph: Graph) -> Network:
    """16 random inputs to quantize with, 8 others to judge by."""
    (into,) = graph.inputs
    assert into.shape is not None
    samples = [{into.name: np.random.default_rng(i).normal(size=into.shape).astype(np.float32)} for i in range(24)]
    return Network(graph, samples[:16], samples[16:])


def tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def digits_table() -> str:
    network = digits()
    wanted = accuracy_of_floats(network)
    lines = [f"| *float* | {wanted:.2f} % | | |"]
    for flags in DIGITS:
        sqnr, accuracy = measured(network, flags)
        lines.append(f"| `{flags}` | {accuracy:.2f} % | {accuracy - wanted:+.2f} | {sqnr:.1f} dB |")
        tell(lines[-1])
    head = "| flags | accuracy | points | SQNR |\n|---|---|---|---|\n"
    return head + "\n".join(lines) + "\n"


def table(network: Network, rows: Sequence[str]) -> str:
    lines = []
    for flags in rows:
        lines.append(f"| {f'`{flags}`' if flags else 'none'} | {measured(network, flags)[0]:.1f} dB |")
        tell(lines[-1])
    return "| flags | SQNR |\n|---|---|\n" + "\n".join(lines) + "\n"


def example_networks() -> Any:
    """The module examples/methods/networks.py."""
    spec = importlib.util.spec_from_file_location("method_networks", ROOT / "examples" / "methods" / "networks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections() -> list[str]:
    networks = example_networks()
    with tempfile.TemporaryDirectory() as folder:
        pair = of_random_inputs(load(networks.two_layers(Path(folder) / "two.nnef")))
        block = of_random_inputs(load(networks.block(Path(folder) / "block.nnef")))
        found = [
            "## Digits\n\nThe network of `examples/digits`, 597 test images; 64 others to quantize with. "
            "Mixed precisions are those that [`sensitivity` and `search`](precision.md) found, among others.\n\n"
            + digits_table(),
            "## Two layers, 1000 to 1\n\nHalf of the channels between two convolutions are 1000 times larger than the "
            "others, and all count the same for the result (`examples/methods/networks.py`). One scale for all of them "
            "loses the small ones; with 16 bits for activations the weights of the second layer, 1000 to 1 as well, "
            "still lose theirs.\n\n" + table(pair, LAYERS),
            "## A transformer block with outliers\n\nAttention and a feed-forward layer over 64 tokens of 64 channels; "
            "six channels of the normalizations are 30 times larger than the others, as trained transformers have "
            "them, their weights 8 times smaller (`examples/methods/networks.py`).\n\n" + table(block, BLOCK),
        ]
    if SHARED.is_dir():
        real = of_random_inputs(load(SHARED / "encoder_block_T64_D128" / "float.nnef"))
        found.append(
            "## The encoder block of the benchmarks\n\n`encoder_block_T64_D128`, 64 tokens of 128 channels, random "
            "weights without outliers; measured where the folder of that network is there.\n\n"
            + table(real, PLAIN_BLOCK)
        )
    return found


def main() -> None:
    start = time.process_time()
    found = sections()
    minutes = max(round((time.process_time() - start) / 60), 1)
    PAGE.write_text(INTRODUCTION.format(minutes=minutes) + "\n" + "\n".join(found), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
