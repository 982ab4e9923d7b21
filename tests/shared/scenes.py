"""Command lines that read files which `fuzz_commands.py` breaks; `scene_files.py` makes the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Scene:
    """`broken`: the files that are broken, one at a time. `commands`: command lines, in the folder."""

    name: str
    broken: tuple[str, ...]
    commands: tuple[str, ...]


READS: Final = (
    "check {}",
    "check {} --ranges",
    "inspect {}",
    "inspect {} --plan",
    "convert {} -o out.json",
    "convert {} -o out.tosa",
)
FLOATS: Final = (
    *READS,
    "convert {} -o out.nnef",
    "quantize {} --random 2 -o out.tosa",
    "calibrate {} --random 2 -o out.quant",
)
DATA: Final = "--statistics net.stats.json --random 2 --samples 2"
ROUNDING: Final = (
    "quantize net.nnef --data samples.npy --rounding adaround --bias-correction --journal rounding.jsonl -o out.tosa"
)


def lines(templates: tuple[str, ...], model: str) -> tuple[str, ...]:
    return tuple(template.format(model) for template in templates)


SCENES: Final = (
    Scene(
        "tosa",
        ("int.tosa",),
        (
            *lines(READS, "int.tosa"),
            "run int.tosa -i x.npz",
            "run int.tosa -i x.npz --checked",
            "warmup int.tosa",
            "compare int.tosa device.npz -i x.npz",
            "run int.tosa -i x.npz --dump-intermediates dump",
        ),
    ),
    Scene(
        "json",
        ("int.json",),
        (
            *lines(READS, "int.json"),
            "run int.json -i x.npz",
        ),
    ),
    Scene(
        "words",
        ("words.tosa",),
        (
            *lines(READS, "words.tosa"),
            "run words.tosa -i words.npz",
        ),
    ),
    Scene(
        "loops",
        ("loops.tosa", "variables.json"),
        (
            *lines(READS, "loops.tosa"),
            "run loops.tosa -i n.npy",
            *lines(READS, "variables.json"),
            "run variables.json",
        ),
    ),
    Scene(
        "operators",
        ("operators/*.tosa",),
        (
            *lines(READS, "{broken}"),
            "quantize {broken} --random 2 -o out.tosa",
            "convert {broken} -o out.nnef",
            "run {broken} -i {broken}.npz",
        ),
    ),
    Scene(
        "float",
        ("float.tosa",),
        (
            *lines(FLOATS, "float.tosa"),
            "run float.tosa -i input.npy",
        ),
    ),
    Scene(
        "nnef",
        ("net.nnef/graph.nnef", "net.nnef/filter.dat", "net.nnef/bias.dat"),
        (
            *lines(FLOATS, "net.nnef"),
            "check net.nnef --flat",
            "check net.nnef --strict",
            "run net.nnef -i input.npy",
        ),
    ),
    Scene(
        "archive",
        ("net.nnef.tgz",),
        (
            *lines(FLOATS, "net.nnef.tgz"),
            "run net.nnef.tgz -i input.npy",
        ),
    ),
    Scene(
        "quant",
        ("quantized.nnef/graph.quant",),
        (
            *lines(FLOATS[:6], "quantized.nnef"),
            "quantize quantized.nnef -o out.tosa",
            "run quantized.nnef -i input.npy",
            "quantize net.nnef --quant quantized.nnef/graph.quant -o out.tosa",
            "compare net.nnef q.tosa -i input.npy --quant quantized.nnef/graph.quant",
        ),
    ),
    Scene(
        "arrays",
        ("input.npy", "x.npz", "x.npy"),
        (
            "run net.nnef -i input.npy",
            "run net.nnef -i input=@input.npy",
            "run int.tosa -i x.npz",
            "run int.tosa -i x=@x.npy",
            "run int.tosa -i x.npz --expect x.npz",
            "compare int.tosa device.npz -i x.npz",
        ),
    ),
    Scene(
        "data",
        ("samples.npz", "samples.npy"),
        (
            "calibrate net.nnef --data samples.npz -o out.quant",
            "calibrate net.nnef --data samples.npy -o out.quant",
            "quantize net.nnef --data samples.npy -o out.tosa",
            "compare net.nnef q.tosa --data samples.npz",
            "report net.nnef q.tosa --data samples.npz -o out.json",
            "run net.nnef -i samples.npz",
        ),
    ),
    Scene("pictures", ("pictures/*",), ("calibrate net.nnef --data pictures -o out.quant",)),
    Scene(
        "onnx",
        ("net.onnx", "ops.onnx", "weights.onnx", "weights.bin"),
        (
            *lines(FLOATS, "net.onnx"),
            "run net.onnx -i input.npy",
            *lines(READS, "ops.onnx"),
            "run ops.onnx -i vector.npy",
            *lines(READS, "weights.onnx"),
            "run weights.onnx -i vector.npy",
        ),
    ),
    Scene(
        "common_ir",
        ("net.cir.json", "small.cir.json", "library.cir.json"),
        (
            *lines(FLOATS, "net.cir.json"),
            "convert net.cir.json -o out.onnx",
            "convert net.cir.json -o out.cir.json",
            "run net.cir.json -i input.npy",
            *lines(READS, "small.cir.json --dim n=2"),
            "convert small.cir.json -o out.onnx",
            "run small.cir.json -i pair.npy --dim n=2",
        ),
    ),
    Scene(
        "tflite",
        ("net.tflite",),
        (
            *lines(READS, "net.tflite"),
            "run net.tflite -i row.npy",
            "convert net.tflite --shape x=3,2 -o out.tosa",
        ),
    ),
    Scene(
        "sidecar",
        ("q.qparams.json", "q.json"),
        (
            "report net.nnef q.json --random 2 -o out.html -o out.json -o out.csv",
            "compare net.nnef q.json -i input.npy",
            "compare net.nnef q.json --random 2",
            "run q.json -i codes.npy",
            "convert q.json -o out.tosa",
        ),
    ),
    Scene(
        "scales",
        ("q.tosa",),
        (
            "report net.nnef q.tosa --random 2 -o out.html -o out.json -o out.csv",
            "compare net.nnef q.tosa -i input.npy",
            "compare net.nnef q.tosa --random 2",
            "run q.tosa -i codes.npy",
            "convert q.tosa -o out.json",
        ),
    ),
    Scene(
        "statistics",
        ("net.stats.json",),
        (
            "quantize net.nnef --statistics net.stats.json -o out.tosa",
            "calibrate net.nnef --merge net.stats.json -o out.quant",
            "calibrate net.nnef --random 3 --resume --statistics net.stats.json -o out.quant",
            f"sensitivity net.nnef {DATA}",
        ),
    ),
    Scene(
        "journal",
        ("journal.jsonl", "search.jsonl", "rounding.jsonl"),
        (
            f"sensitivity net.nnef {DATA} --journal journal.jsonl --resume",
            f"search net.nnef {DATA} --sqnr 20 --journal search.jsonl --resume",
            f"{ROUNDING} --resume",
        ),
    ),
    Scene(
        "labels",
        ("labels.npy", "labels.npz"),
        (
            f"sensitivity net.nnef {DATA} --labels labels.npy",
            f"search net.nnef {DATA} --labels labels.npz:y --accuracy 10",
        ),
    ),
    Scene("layers", ("layers.txt",), ("quantize net.nnef --random 2 --layers layers.txt -o out.tosa",)),
    Scene(
        "dumps",
        ("device.npz", "device/index.json", "device/*.npy", "map.json"),
        (
            "compare int.tosa device.npz -i x.npz",
            "compare int.tosa device -i x.npz",
            "compare device.npz device",
            "compare int.tosa device.npz -i x.npz --map map.json",
            "compare int.tosa device --format json -i x.npz",
            "compare int.tosa device.npz --map order",
        ),
    ),
)
