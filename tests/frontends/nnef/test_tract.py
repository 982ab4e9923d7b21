"""Attention, embeddings, sums and orders in the operations of tract_core and tract_transformers.

Expected numbers are PyTorch 2.13's: of the function that a test names, for the inputs that it shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import check, oracle
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends import nnef

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tosa_engine.types import Array


def array(values: Any) -> Array:
    return np.array(values, np.float32)


EXTENSIONS = "extension tract_registry tract_transformers;\nextension tract_registry tract_core;\n"
COUNT = np.arange(24)
Q = np.sin(COUNT).astype(np.float32).reshape(1, 2, 3, 4)
K = np.cos(1.3 * COUNT).astype(np.float32).reshape(1, 2, 3, 4)
V = np.sin(0.7 * COUNT + 1).astype(np.float32).reshape(1, 2, 3, 4)
ROWS = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def ran(
    folder: Path, body: str, inputs: Mapping[str, Array], tensors: Mapping[str, Array] | None = None, *,
    outputs: str = "y", extensions: str = EXTENSIONS,
) -> list[Array]:  # fmt: skip
    """The outputs of a document."""
    kinds = {"f": "f32", "i": "i64", "b": "bool"}
    items = {"f": "scalar", "i": "integer", "b": "logical"}
    lines = [
        f"{name} = tract_core_external(shape = {list(x.shape)}, datum_type = '{kinds[x.dtype.kind]}');"
        for name, x in inputs.items()
    ]
    for name, x in (tensors or {}).items():
        lines.append(f"{name} = variable<{items[x.dtype.kind]}>(shape = {list(x.shape)}, label = '{name}');")
        (folder / f"{name}.dat").write_bytes(nnef.write_dat(x))
    graph_lines = "\n".join([*lines, body])
    text = f"version 1.0;\n{extensions}graph g({', '.join(inputs)}) -> ({outputs}) {{\n{graph_lines}\n}}"
    (folder / "graph.nnef").write_text(text)
    graph = nnef.load(folder)
    check.validate(graph)
    given = {name: x.astype(np.int32) if x.dtype.kind == "i" else x for name, x in inputs.items()}
    found = oracle.run(graph, given)
    return [found[name] for name in outputs.split(", ")]


PLAIN = [[0.270617, 0.4791546, 0.4623383, 0.2280772], [0.0943448, -0.006566, -0.1043888, -0.1531158]]
CAUSAL = [[0.2368013, 0.1723648, 0.0268623, -0.1312737], [-0.2206068, -0.0147972, 0.1979717, 0.3176316]]
SCALED = [[0.3669721, 0.7878082, 0.8381259, 0.4942599], [0.0244301, 0.1581568, 0.2174999, 0.1745494]]
ADDED = [[0.772693, 0.9733352, 0.7162026, 0.1222288], [0.1139086, -0.5348656, -0.9320846, -0.890929]]
SHARED = [PLAIN[0], [0.3280745, 0.4502954, 0.3607353, 0.1015159]]
TRUTHS = np.array([[True, False, True], [True, True, False], [False, False, True]])
NUMBERS = array([[0.5, -1, 0], [0.25, -np.inf, -2], [0, 0, 1]])
TYPES = "datum_type = 'f32', acc_datum_type = 'f32'"


@pytest.mark.parametrize(
    ("call", "mask", "heads", "expected"),
    [
        (f"q, k, v, {TYPES}, is_causal = false", None, 2, PLAIN),
        (f"q, k, v, {TYPES}, is_causal = true", None, 2, CAUSAL),
        (f"q, k, v, {TYPES}, is_causal = false, scale = 2.0", None, 2, SCALED),
        (f"q, k, v, m, {TYPES}, is_causal = false", TRUTHS, 2, CAUSAL),
        (f"q, k, v, m, {TYPES}, is_causal = false", NUMBERS, 2, ADDED),
        (f"q, k, v, {TYPES}, is_causal = false", None, 1, SHARED),
    ],
    ids=["plain", "causal", "scale", "truths", "numbers", "heads that share"],
)
@pytest.mark.parametrize("given", [False, True], ids=["constant mask", "mask as data"])
def test_attention(
    tmp_path: Path, call: str, mask: Array | None, heads: int, expected: list[list[float]], given: bool
) -> None:
    """torch.nn.functional.scaled_dot_product_attention: the second query of both heads."""
    inputs = {"q": Q, "k": K[:, :heads], "v": V[:, :heads]}
    masks = {} if mask is None else {"m": mask}
    body = f"y = tract_transformers_sdpa({call});"
    (found,) = ran(tmp_path, body, {**inputs, **(masks if given else {})}, {} if given else masks)
    np.testing.assert_allclose(found[0, :, 1], expected, atol=1e-6)


def test_attention_without_heads(tmp_path: Path) -> None:
    inputs = {"q": Q[0], "k": K[0], "v": V[0]}
    (found,) = ran(tmp_path, "y = tract_transformers_sdpa(q, k, v);", inputs)
    np.testing.assert_allclose(found[:, 1], PLAIN, atol=1e-6)


@pytest.mark.parametrize("mask", [TRUTHS, NUMBERS])
def test_softmax_with_a_mask(tmp_path: Path, mask: Array) -> None:
    body = "y = tract_transformers_scaled_masked_softmax(x, m, scale = 0.5, post_softmax_mask = false);"
    x = Q[0, :, :, :3]
    (found,) = ran(tmp_path, body, {"x": x}, {"m": mask})
    scores = np.where(mask, x * 0.5, -np.inf) if mask.dtype.kind == "b" else x * 0.5 + mask
    exponentials = np.exp(scores)
    np.testing.assert_allclose(found, exponentials / exponentials.sum(-1, keepdims=True), atol=1e-6)


def test_rotary_embedding(tmp_path: Path) -> None:
    angle = array(np.arange(3)[:, None] * [1.0, 0.1, 1.0, 0.1])[None, None]
    body = "y = tract_transformers_apply_rope(q, c, s);"
    (found,) = ran(tmp_path, body, {"q": Q}, {"c": np.cos(angle), "s": np.sin(angle)})
    expected = Q * np.cos(angle) + np.concatenate([-Q[..., 2:], Q[..., :2]], -1) * np.sin(angle)
    np.testing.assert_allclose(found, expected, atol=1e-6)


RMS = [[-1.5230893, -1.0879209, -0.6527525, -0.2175841], [0.2175841, 0.6527525, 1.0879209, 1.5230893]]
GELU = [[-0.0454023, -0.1096069, -0.1678309, -0.1107302], [0.174984, 0.6893119, 1.3189646, 1.9545977]]
SILU = [[-0.2384058, -0.2761734, -0.2553743, -0.1225867], [0.1631276, 0.6017686, 1.1523981, 1.761594]]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = tract_transformers_rms_norm(x, axis = 1, eps = 0.01);", RMS),
        ("y = tract_core_rms_norm(x, axis = 1, eps = 0.01);", RMS),
        ("y = tract_core_gelu_approx(x, fast_impl = false);", GELU),
        ("y = tract_transformers_gelu_approx(x, fast_impl = false);", GELU),
        ("y = tract_core_silu(x);", SILU),
        ("y = tract_transformers_silu(x);", SILU),
    ],
)
def test_functions(tmp_path: Path, body: str, expected: list[list[float]]) -> None:
    """RMSNorm(4, eps = 0.01), gelu(approximate = "tanh") and silu of linspace(-2, 2, 8).reshape(2, 4)."""
    np.testing.assert_allclose(ran(tmp_path, body, {"x": ROWS})[0], expected, atol=1e-6)


def test_halves_go_to_the_even_neighbour(tmp_path: Path) -> None:
    """torch.round"""
    x = array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.49999997, 8388609, 2.4999998, -7.7])
    (found,) = ran(tmp_path, "y = tract_core_round_even(x);", {"x": x})
    assert found.tolist() == [-2, -2, 0, 0, 2, 2, 0, 0, 8388609, 2, -8]


@pytest.mark.parametrize(
    ("how", "given", "expected"),
    [
        ("coord_transformer = 'pytorch_half_pixel', scales = s", [1, 1, 1, 2],
         [-0.1054688, 0.1210938, 0.4570312, 1.8554688, 3.5664062, 4.0390625, 3.0859375, 0.65625, -1.9375, -3.5273438]),
        ("coord_transformer = 'align_corners', scales = s", [1, 1, 1, 2],
         [0, 0.1906713, 0.7105616, 2.1666665, 3.6358023, 4.050068, 3.351852, 1.4087766, -0.9766819, -3]),
        ("coord_transformer = 'pytorch_half_pixel', sizes = s", [1, 1, 1, 3], [0.148149, 4, -1.537037]),
    ],
)  # fmt: skip
def test_cubic_resizing(tmp_path: Path, how: str, given: list[float], expected: list[float]) -> None:
    """torch.nn.functional.interpolate(mode = "bicubic")"""
    x = array([0, 1, 4, 2, -3]).reshape(1, 1, 1, 5)
    body = f"y = tract_core_resize(x, interpolator = 'cubic', {how});"
    (found,) = ran(tmp_path, body, {"x": x}, {"s": array(given)})
    np.testing.assert_allclose(found.reshape(-1), expected, atol=1e-5)


TIES = array([[3, -np.inf, 5, 1, 3], [0, 2, -np.inf, 7, 0]])


@pytest.mark.parametrize(
    ("largest", "size", "values", "indices"),
    [
        ("true", 4, [[5, 3, 3, 1], [7, 2, 0, 0]], [[2, 0, 4, 3], [3, 1, 0, 4]]),
        ("false", 3, [[-np.inf, 1, 3], [-np.inf, 0, 0]], [[1, 3, 0], [2, 0, 4]]),
    ],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_largest_and_least(
    tmp_path: Path, largest: str, size: int, values: list[list[float]], indices: list[list[int]], axis: int
) -> None:
    """torch.sort(stable = True), cut: of equal values the first comes first."""
    x = TIES if axis else TIES.T.copy()
    body = f"y, i = tract_core_topk(x, k = {size}, axis = {axis}, largest = {largest});"
    found, places = ran(tmp_path, body, {"x": x}, outputs="y, i")
    assert (found if axis else found.T).tolist() == values
    assert (places if axis else places.T).tolist() == indices


def test_an_embedding_takes_integers(tmp_path: Path) -> None:
    """torch.nn.Embedding, with positions from tract_core_range"""
    weight, tokens = np.arange(24, dtype=np.float32).reshape(6, 4), np.array([[1, 5, 0]])
    body = """places = tract_core_range(0, 3, step = 1); p = tract_core_gather(w, places, axis = 0);
    row = unsqueeze(p, axes = [0]); t = tract_core_gather(w, x, axis = 0); y = t + row;"""
    (found,) = ran(tmp_path, body, {"x": tokens}, {"w": weight})
    assert found.tolist() == (weight[tokens] + weight[:3]).tolist()


@pytest.mark.parametrize(
    ("indices", "op"),
    [
        ([3, 2, 1, 0], "REVERSE"),
        ([1, 2], "SLICE"),
        ([-1, 0, 2], "GATHER"),
        ([2], "SLICE"),
        ([[0, 2], [1, 1]], "GATHER"),
    ],
)
def test_constant_indices(tmp_path: Path, indices: list[int], op: str) -> None:
    """x.flip(1), x[:, 1:3], x[:, [-1, 0, 2]] ..."""
    (found,) = ran(tmp_path, "y = tract_core_gather(x, i, axis = 1);", {"x": ROWS}, {"i": np.array(indices)})
    assert found.tolist() == ROWS[:, indices].tolist()
    assert op in {operator.op for operator in nnef.load(tmp_path).main.operators}


def test_elements_by_index_in_one_axis(tmp_path: Path) -> None:
    """torch.gather"""
    index = np.array([[3, 0], [1, 1]])
    body = "y = tract_core_gather_elements(x, i, axis = 1);"
    assert ran(tmp_path, body, {"x": ROWS, "i": index})[0].tolist() == np.take_along_axis(ROWS, index, 1).tolist()
    index = np.array([[1, 0, 0]])
    body = "y = tract_core_gather_elements(x, i, axis = 0);"
    expected = np.take_along_axis(ROWS[:, :3], index, 0)
    assert ran(tmp_path, body, {"x": ROWS, "i": index})[0].tolist() == expected.tolist()


def test_small_operations(tmp_path: Path) -> None:
    index = np.array([2, 0])
    found = ran(tmp_path, "y = tract_core_one_hot(i, axis = 1, dim = 3);", {"i": index})[0]
    assert found.tolist() == [[0, 0, 1], [1, 0, 0]]
    found = ran(tmp_path, "y = tract_core_broadcast(x, shape = [3, 2, 4]);", {"x": ROWS[:1]})[0]
    assert found.tolist() == np.broadcast_to(ROWS[:1], (3, 2, 4)).tolist()
    found = ran(tmp_path, "y = tract_core_product_reduce(x, axes = [1]);", {"x": ROWS})[0]
    np.testing.assert_allclose(found, ROWS.prod(1, keepdims=True), rtol=1e-5)
    truths = {"a": np.array([[True, True, False]]), "b": np.array([[True, False, False]])}
    assert ran(tmp_path, "y = tract_core_xor(a, b);", truths)[0].tolist() == [[False, True, False]]


ATTENTION = """fragment attention(query: tensor<scalar>, key: tensor<scalar>, value: tensor<scalar>)
-> (out: tensor<scalar>)
{
    dot = tract_core_einsum(inputs = [query, key], expr = "bcij,bckj->bcik", acc = "f32");
    size = tract_core_cast(slice(tract_core_shape_of(query), axes = [0], begin = [3], end = [4]), to = "f32");
    weights = softmax(mul(dot, div(1.0, sqrt(size))), axes = [3]);
    out = tract_core_einsum(inputs = [weights, value], expr = "bcij,bcjk->bcik", acc = "f32");
}
"""


def test_tensors_in_arrays_of_numbers(tmp_path: Path) -> None:
    body = """s = tract_core_shape_of(x); n = slice(s, axes = [0], begin = [1], end = [2]);
    y = reshape(x, shape = [n, 2]);"""
    assert ran(tmp_path, body, {"x": ROWS})[0].tolist() == ROWS.reshape(4, 2).tolist()


def test_attention_of_parts(tmp_path: Path) -> None:
    """As exports for versions of tract before 0.22 have it, with the number of features from a shape."""
    inputs = {"q": Q, "k": K, "v": V}
    (found,) = ran(tmp_path, "y = attention(q, k, v);", inputs, extensions=EXTENSIONS + ATTENTION)
    np.testing.assert_allclose(found[0, :, 1], PLAIN, atol=1e-6)


def test_a_reciprocal_by_the_name_of_tract(tmp_path: Path) -> None:
    (found,) = ran(tmp_path, "y = recip(x);", {"x": ROWS})
    np.testing.assert_allclose(found, 1 / ROWS, rtol=1e-6)
    (warning,) = nnef.load(tmp_path).warnings
    assert "NNEF.A1: operation 'recip' isn't declared" in warning
    with pytest.raises(TosaEngineError, match="operation 'recip' isn't declared"):
        nnef.load(tmp_path, strict=True)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("k", [-1, 0, 2])
@pytest.mark.parametrize("constant", [True, False])
def test_triangles(tmp_path: Path, upper: bool, k: int, constant: bool) -> None:
    """torch.triu and torch.tril"""
    x = ROWS.reshape(1, 2, 4) + 9
    body = f"y = tract_core_trilu({'c' if constant else 'x'}, upper = {str(upper).lower()}, k = {k});"
    (found,) = ran(tmp_path, body, {"x": x}, {"c": x})
    assert found.tolist() == (np.triu if upper else np.tril)(x, k).tolist()


@pytest.mark.parametrize(
    ("expression", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("bqhd,bkhd->bhqk", [(1, 3, 2, 4), (1, 5, 2, 4)]),
        ("nctv,vw->nctw", [(1, 2, 3, 4), (4, 4)]),
        ("bij,bkj->ik", [(2, 3, 4), (2, 5, 4)]),
        ("bij,jk->bk", [(2, 3, 4), (4, 5)]),
        ("bi,bi->bi", [(2, 3), (2, 3)]),
        ("i,j->ji", [(3,), (4,)]),
        ("i,i->", [(4,), (4,)]),
        ("ij->ji", [(3, 4)]),
        ("ij->i", [(3, 4)]),
        ("ii->i", [(4, 4)]),
        ("ii->", [(4, 4)]),
        ("bii,bi->b", [(2, 3, 3), (2, 3)]),
        ("bi,kij,bj->bk", [(2, 3), (5, 3, 4), (2, 4)]),
        ("...ij, ...jk -> ...ik", [(2, 3, 4), (4, 5)]),
        ("...i,i", [(2, 3, 4), (4,)]),
        ("ba,cb", [(3, 4), (2, 3)]),
        ("ij,ij->ij", [(1, 4), (3, 4)]),
    ],
)
def test_einstein_sums(tmp_path: Path, expression: str, shapes: list[tuple[int, ...]]) -> None:
    """torch.einsum, which numpy's equals; the second operand is constant, too"""
    rng = np.random.default_rng(1)
    operands = {name: rng.normal(size=shape).astype(np.float32) for name, shape in zip("abc", shapes)}
    expected = np.einsum(expression, *operands.values())
    body = f"y = tract_core_einsum([{', '.join(operands)}], expr = '{expression}', acc = 'f32', output = '');"
    np.testing.assert_allclose(ran(tmp_path, body, operands)[0], expected, atol=1e-5)
    constant = {"b": operands.pop("b")} if "b" in operands else {}
    np.testing.assert_allclose(ran(tmp_path, body, operands, constant)[0], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = tract_transformers_sdpa(q, q, q, m, is_causal = true);", "has a mask and is causal, too"),
        ("y = tract_transformers_sdpa(q, h, h, is_causal = true);", "a causal mask of 3 queries and 6 keys, which"),
        ("y = tract_transformers_sdpa(q, x, x);", "keys [2, 4] and values [2, 4] don't fit together"),
        ("y = tract_transformers_sdpa(q, q, q, n);", "a mask that leaves nothing of a row"),
        ("y = tract_transformers_sdpa(q, q, q, x);", "a mask of shape [2, 4] doesn't fit scores of shape [1, 2, 3, 3]"),
        ("y = tract_core_einsum([x, x], expr = 'ij,jk->ik');", "axis 'j' of 'ij,jk->ik' has 4 elements and 2"),
        ("y = tract_core_einsum([x], expr = 'ij->iik');", "a result that isn't made of different axes"),
        ("y = tract_core_einsum([x], expr = 'ijk->i');", "'ijk->i' doesn't fit an operand of shape [2, 4]"),
        ("y, z = tract_core_topk(x, k = 5, axis = 1, largest = true);", "5 elements of an axis of 4"),
        ("y = tract_core_gather(x, i, axis = 1);", "an index 4 is beyond an axis of 4 elements"),
        ("y = tract_core_gather(x, f, axis = 1);", "an index 1.5 is beyond an axis of 4 elements"),
        ("y = tract_core_gather_elements(x, q, axis = 1);", "indices of shape [1, 2, 3, 4] don't fit"),
        ("y = tract_transformers_apply_rope(1.0, 1.0, 1.0);", "the last axis of shape [] has no halves"),
        ("y = tract_transformers_scaled_masked_softmax(1.0, m);", "softmax of a tensor without axes"),
        ("y = tract_core_broadcast(x, shape = [j, 4]);", "'shape' must be one number, 'j' has 2"),
        ("y = tract_core_broadcast(x, shape = [t, 4]);", "the value of 't' must be known before the graph runs"),
        ("y = tract_core_range(0, 3, step = -1);", "there are no elements"),
        ("y = tract_core_broadcast(x, shape = [2, 3]);", "shape [2, 4] can't become [2, 3]"),
        ("y = tract_transformers_gdn_recurrent(x);", "operation 'tract_transformers_gdn_recurrent' isn't supported"),
        ("y = tract_transformers_scaled_masked_softmax(x, m, post_softmax_mask = true);", "post_softmax_mask = true"),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path: Path, body: str, message: str) -> None:
    tensors = {"m": TRUTHS, "n": TRUTHS & [[True], [False], [True]], "i": np.array([0, 4]), "f": array([0, 1.5])}
    tensors["j"] = np.array([2, 4])
    inputs = {"q": Q, "x": ROWS, "t": np.array([2]), "h": np.concatenate([K, K], 2)}
    with pytest.raises(TosaEngineError) as caught:
        ran(tmp_path, body, inputs, tensors)
    assert message in str(caught.value)


def test_orders_of_too_many_elements_are_refused(tmp_path: Path) -> None:
    body = "y, z = tract_core_topk(x, k = 5, axis = 1, largest = true);"
    with pytest.raises(TosaEngineError, match="the order of 1 x 5000 elements, which takes 25000000 comparisons"):
        ran(tmp_path, body, {"x": np.zeros((1, 5000), np.float32)})


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("y = tract_core_trilu(x);", "a triangle of 10000000000 elements"),
        ("i = tract_core_range(0, 2000000000); y = copy(i);", "a range of 2000000000 elements"),
        (
            "q = transpose(x, axes = [1, 0]); y = tract_transformers_sdpa(q, q, q, is_causal = true);",
            "a causal mask of",
        ),
        ("i = tract_core_range(0, 3); y = tract_core_one_hot(i, axis = 1, dim = 2000000000);", "an axis of 2000000000"),
    ],
)
def test_small_documents_make_no_large_constants(tmp_path: Path, body: str, what: str) -> None:
    text = f"x = external(shape = [100000, 100000]); {body}"
    (tmp_path / "graph.nnef").write_text(f"version 1.0;\n{EXTENSIONS}graph g(x) -> (y) {{ {text} }}")
    with pytest.raises(TosaEngineError, match=rf"{what}.*at most 67108864 are made"):
        nnef.load(tmp_path)


def test_either_extension_brings_all_operations(tmp_path: Path) -> None:
    body, inputs = "y = tract_transformers_silu(x);", {"x": ROWS}
    for word in ("transformers", "core"):
        found = ran(tmp_path, body, inputs, extensions=f"extension tract_registry tract_{word};\n")
        np.testing.assert_allclose(found[0], SILU, atol=1e-6)
    with pytest.raises(TosaEngineError, match="without 'extension tract_registry tract_core;'"):
        ran(tmp_path, body, inputs, extensions="")
