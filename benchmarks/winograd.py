"""CONV2D 3 x 3 of ResNet-18 with a fused RESCALE: the Winograd transform beside the direct form, one thread.

    python benchmarks/winograd.py [--rounds N]

Both forms run in turn in one process, the best of all rounds counts, and their bytes are compared first. GMAC/s count
the multiplications of the definition, 9 for each input and output channel and pixel.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np

from tosa_engine import types
from tosa_engine.kernels import tensor_ops
from tosa_engine.kernels._jit.variants import variant
from tosa_engine.kernels.winograd import prepare as winograd
from tosa_engine.kernels.work import Epilogue, Work, aligned
from tosa_engine.plan.proofs import prove_alone
from tosa_engine.spec import bind_operator
from tosa_engine.spec.case import Case

LAYERS = {"64 x 56 x 56": (64, 56), "128 x 28 x 28": (128, 28), "256 x 14 x 14": (256, 14), "512 x 7 x 7": (512, 7)}


def layer(channels: int, size: int):
    rng = np.random.default_rng(channels)
    shape = (1, size, size, channels)
    case = Case("CONV2D").input("input", types.i8, shape)
    case.const("weight", types.i8, rng.integers(-60, 61, (channels, 3, 3, channels)))
    case.const("bias", types.i32, rng.integers(-999, 999, channels)).const("input_zp", types.i8, [-5])
    case.const("weight_zp", types.i8, [0]).set(pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1))
    main = case.set(acc_type=types.i32, local_bound=False).output("output", types.i32, shape).graph().main
    scale = np.full(channels, 1518500250, np.int32), np.full(channels, 41, np.int8)
    epilogue = Epilogue(*scale, double_round=False, output_zp=-3, low=-128, high=127)
    return (
        prove_alone(bind_operator(main.operators[-1], main)),
        epilogue,
        rng.integers(-128, 128, shape).astype(np.int8),
    )


def runner(work: Work, x: np.ndarray):
    out = aligned(x.size, np.int8)
    run, scratch = work.bind([x], [out]), work.carve(aligned(work.scratch_bytes, np.uint8))
    return (lambda: run(0, work.units, scratch)), out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500)
    rounds = parser.parse_args().rounds
    print(f"kernels: {variant().name}")
    print("| layer | direct | Winograd | faster | estimated | chosen |\n|---|---|---|---|---|---|")
    for name, (channels, size) in LAYERS.items():
        call, epilogue, x = layer(channels, size)
        with mock.patch.object(winograd, "chosen", return_value=False):
            forms = [runner(tensor_ops.conv2d_int(call, epilogue), x)]
        transformed = winograd.conv2d(call, epilogue)
        forms.append(runner(transformed, x))
        best = [np.inf, np.inf]
        for _ in range(rounds):
            for i, (run, _) in enumerate(forms):
                start = time.perf_counter()
                run()
                best[i] = min(best[i], time.perf_counter() - start)
        assert np.array_equal(forms[0][1], forms[1][1])
        work = size * size * channels * channels * 9
        cells = [f"{b * 1e3:.3f} ms, {work / b / 1e9:.0f} GMAC/s" for b in best]
        ratio, estimate = best[0] / best[1], transformed.cost / 1e6
        print(f"| {name} | {' | '.join(cells)} | {ratio:.2f} | {estimate:.3f} ms | {winograd.chosen(call)} |")


if __name__ == "__main__":
    main()
