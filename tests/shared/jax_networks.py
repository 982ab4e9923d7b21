"""Ten networks in JAX, and their recordings: `python jax_networks.py FOLDER` writes a portable artefact, HLO as text,
and the arrays of inputs and outputs of each.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RNG = np.random.default_rng(0)
NHWC = ("NHWC", "HWIO", "NHWC")


def real(*shape: int, scale: float = 1.0) -> Any:
    return np.asarray(RNG.normal(size=shape) * scale, np.float32)


FIRST, DEPTHWISE, SQUEEZE, EXCITE, LAST = (
    real(3, 3, 3, 8, scale=0.3), real(3, 3, 1, 8, scale=0.4), real(8, 4, scale=0.4), real(4, 8, scale=0.4),
    real(8, 5, scale=0.4),
)  # fmt: skip
QUERY, KEY, VALUE, OUT = (real(16, 16, scale=0.25) for _ in range(4))
UP, DOWN = real(16, 32, scale=0.25), real(32, 16, scale=0.25)
OF_INPUT, OF_STATE, BIAS = real(6, 32, scale=0.4), real(8, 32, scale=0.4), real(32, scale=0.2)
GRU_INPUT, GRU_STATE = real(6, 24, scale=0.4), real(8, 24, scale=0.4)
BYTES, MATRIX = (RNG.integers(-127, 128, shape).astype(np.int8) for shape in ((3, 3, 4, 6), (6, 5)))
SMOOTH = real(3, 3, 2, 4, scale=0.3)


def convolved(x: Any, filters: Any, strides: tuple[int, int] = (1, 1), groups: int = 1) -> Any:
    return lax.conv_general_dilated(x, filters, strides, "SAME", dimension_numbers=NHWC, feature_group_count=groups)


def squeeze_and_excite(x: Any) -> Any:
    y = convolved(jax.nn.relu(convolved(x, FIRST, (2, 2))), DEPTHWISE, groups=8)
    share = jax.nn.sigmoid(jax.nn.silu(y.mean((1, 2)) @ SQUEEZE) @ EXCITE)
    return (y * share[:, None, None, :]).mean((1, 2)) @ LAST


def normed(x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def heads(x: Any) -> Any:
    return x.reshape(x.shape[0], x.shape[1], 4, 4).transpose(0, 2, 1, 3)


def scores(x: Any) -> Any:
    return heads(x @ QUERY) @ heads(x @ KEY).transpose(0, 1, 3, 2) / 2.0


def attended(x: Any, shares: Any) -> Any:
    return (shares @ heads(x @ VALUE)).transpose(0, 2, 1, 3).reshape(x.shape) @ OUT


def vit_block(x: Any) -> Any:
    y = x + attended(normed(x), jax.nn.softmax(scores(normed(x))))
    return y + jax.nn.gelu(normed(y) @ UP, approximate=False) @ DOWN


def causal_attention(x: Any) -> Any:
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    return attended(x, jax.nn.softmax(jnp.where(mask, scores(x), -1e9)))


def lstm(x: Any) -> Any:
    def step(state: Any, part: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(part @ OF_INPUT + h @ OF_STATE + BIAS, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], 8))
    return lax.scan(step, (zeros, zeros), x)[1]


def gru(x: Any) -> Any:
    def step(h: Any, part: Any) -> Any:
        a, b = part @ GRU_INPUT, h @ GRU_STATE
        update, reset = (jax.nn.sigmoid(a[:, i : i + 8] + b[:, i : i + 8]) for i in (0, 8))
        h = (1 - update) * jnp.tanh(a[:, 16:] + reset * b[:, 16:]) + update * h
        return h, h

    return lax.scan(step, jnp.zeros((x.shape[1], 8)), x)


def collatz(x: Any) -> Any:
    """Data say when it ends."""

    def more(state: Any) -> Any:
        return (state[0] != 1) & (state[1] < 500)

    def step(state: Any) -> Any:
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return lax.while_loop(more, step, (x, jnp.int32(0)))


def int8_products(x: Any) -> Any:
    y = lax.conv_general_dilated(
        x, BYTES, (1, 1), "SAME", dimension_numbers=NHWC, preferred_element_type=jnp.int32
    )  # fmt: skip
    y = jnp.clip(y >> 9, -128, 127).astype(jnp.int8)
    return lax.dot_general(y, MATRIX, (((3,), (0,)), ((), ())), preferred_element_type=jnp.int32)


def orders(x: Any) -> Any:
    values, places = lax.top_k(x, 3)
    return jnp.sort(x, -1), jnp.argsort(-x, -1), values, places, jnp.argmax(x, -1)


def resized(x: Any) -> Any:
    y = convolved(jax.image.resize(x, (1, 12, 12, 2), "bilinear"), SMOOTH)
    y = jax.image.resize(y, (1, 6, 6, 4), "nearest")
    return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cumulated(x: Any, n: Any) -> Any:
    return jnp.cumsum(x, -1), jnp.cumprod(x * 0.5, -1), jnp.cumsum(n, -1), lax.cummax(n, axis=1), jnp.flip(x, -1)


NETWORKS: dict[str, tuple[Any, list[Any]]] = {
    "squeeze_and_excite": (squeeze_and_excite, [real(1, 16, 16, 3)]), "vit_block": (vit_block, [real(1, 9, 16)]),
    "causal_attention": (causal_attention, [real(1, 9, 16)]), "lstm": (lstm, [real(7, 2, 6)]),
    "gru": (gru, [real(7, 2, 6)]), "collatz": (collatz, [np.asarray(6, np.int32)]),
    "int8_products": (int8_products, [RNG.integers(-128, 128, (1, 6, 6, 4)).astype(np.int8)]),
    "orders": (orders, [real(3, 9)]), "resized": (resized, [real(1, 6, 6, 2)]),
    "cumulated": (cumulated, [real(2, 10), RNG.integers(-(2**30), 2**30, (2, 10)).astype(np.int32)]),
}  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    options = HloPrintOptions()
    options.print_metadata, options.print_large_constants = False, True
    for name, (function, arrays) in NETWORKS.items():
        compiled = jax.jit(function)
        exported = jax.export.export(compiled)(*arrays)
        (folder / f"{name}.mlirbc").write_bytes(exported.mlir_module_serialized)
        hlo = compiled.lower(*arrays).compiler_ir("hlo")
        (folder / f"{name}.hlo").write_text(hlo.get_hlo_module().to_string(options) + "\n")
        outputs = [np.asarray(one) for one in jax.tree.leaves(compiled(*arrays))]
        kept = {f"i{k}": array for k, array in enumerate(arrays)} | {f"o{k}": array for k, array in enumerate(outputs)}
        np.savez_compressed(folder / f"{name}.npz", **kept)


if __name__ == "__main__":
    import jax.export
    from jaxlib._hlo import HloPrintOptions

    main()
