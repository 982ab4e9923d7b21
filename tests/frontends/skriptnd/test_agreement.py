"""Operators of the standard library: their own way to TOSA, the general way, and the interpreter agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontends.skriptnd.models import assert_agree, graph_of

X = "x: real[2,3,4];"
CASES = {
    "math.neg(x)": (X, "y: real[2,3,4];"),
    "math.rcp(x)": ("x: real[5];", "y: real[5];"),
    "math.sign(x)": (X, "y: real[2,3,4];"),
    "math.sign(x) ": ("x: int[7];", "y: int[7];"),
    "math.abs(x)": ("x: int[7];", "y: int[7];"),
    "math.round(x)": (X, "y: real[2,3,4];"),
    "math.tanh(x)": (X, "y: real[2,3,4];"),
    "math.asinh(x)": (X, "y: real[2,3,4];"),
    "math.add{rhs_align=1}(x, b)": ("x: real[2,3,4]; b: real[3];", "y: real[2,3,4];"),
    "math.sub{lhs_align=-1}(b, x)": ("x: real[2,3,4]; b: real[3];", "y: real[2,3,4];"),
    "math.mul(x, 2)": ("x: int[7];", "y: int[7];"),
    "math.div(x, 3)": ("x: int[7];", "y: int[7];"),
    "math.mod(x, -3)": ("x: int[7];", "y: int[7];"),
    "math.mod(x, 0.7)": ("x: real[7];", "y: real[7];"),
    "math.pow(x, 3)": ("x: int[7];", "y: int[7];"),
    "math.lt(x, b)": ("x: int[2,3]; b: real[3];", "y: bool[2,3];"),
    "math.ne(x, c)": ("x: int[2,3]; c: bool[3];", "y: bool[2,3];"),
    "math.xor(x, c)": ("x: bool[2,3]; c: bool[3];", "y: bool[2,3];"),
    "math.select(c, x, 0.5)": ("c: bool[2,1]; x: real[2,3];", "y: real[2,3];"),
    "math.clamp(x, -1.0, 0.5)": (X, "y: real[2,3,4];"),
    "math.axpby(a, x, 2.0, x)": ("a: real[4]; x: real[2,4];", "y: real[2,4];"),
    "math.sum_n([x, x, x])": (X, "y: real[2,3,4];"),
    "math.argmax_n([x, y, x])": ("x: real[2,3]; y: real[2,3];", "z: int[2,3];"),
    "math.sum_reduce{axes=[-1,0]}(x)": (X, "y: real[1,3,1];"),
    "math.max_reduce{axes=[1], squeeze=true}(x)": (X, "y: real[2,4];"),
    "math.prod_reduce{axes=[1]}(x)": ("x: int[2,5];", "y: int[2,1];"),
    "math.mean_reduce{axes=[0,2]}(x)": (X, "y: real[1,3,1];"),
    "math.lp_reduce{axes=[2], p=3.0}(x)": (X, "y: real[2,3,1];"),
    "math.any_reduce{axes=[1]}(x)": ("x: bool[2,3];", "y: bool[2,1];"),
    "math.argmin{axis=1}(x)": (X, "y: int[2,1,4];"),
    "math.argmax_nd{axes=[1,2]}(x)": (X, "y: int[2,1,1,2];"),
    "math.moments{axes=[1], squeeze=true}(x)": (X, "m: real[2,4]; v: real[2,4];"),
    "math.cumsum{axis=1, exclusive=true, reverse=true}(x)": (X, "y: real[2,3,4];"),
    "layout.cast<int>(x)": (X, "y: int[2,3,4];"),
    "layout.tensor{shape=[2,2], value=[1,2,3,4]}()": ("x: real[1];", "y: int[2,2];"),
    "layout.range{first=1, last=8, stride=3}()": ("x: real[1];", "y: int[3];"),
    "layout.shape(x)": (X, "y: int[3];"),
    "layout.reshape{axis=1, shape=[2,-1]}(x)": (X, "y: real[2,2,6];"),
    "layout.squeeze{axes=[0,-1]}(x)": ("x: real[1,3,1];", "y: real[3];"),
    "layout.unsqueeze{axes=[0,-1]}(x)": ("x: real[3];", "y: real[1,3,1];"),
    "layout.concat{axis=-1}([x, b])": ("x: real[2,3]; b: real[2,1];", "y: real[2,4];"),
    "layout.stack{axis=-1}([x, x])": ("x: real[2,3];", "y: real[2,3,2];"),
    "layout.tile{axes=[0,2], repeats=[2,3]}(x)": (X, "y: real[4,3,12];"),
    "layout.broadcast{axes=[1], shape=[4]}(x)": ("x: real[2,1];", "y: real[2,4];"),
    "layout.slice{axes=[1,2], begin=[2,0], end=[0,4], stride=[-1,3]}(x)": (X, "y: real[2,2,2];"),
    "layout.pad{padding=[1,0,0,1], method='REFLECT'}(x)": ("x: real[2,3];", "y: real[3,4];"),
    "layout.pad{padding=[2,0,0,1], method='SYMMETRIC'}(x)": ("x: real[2,3];", "y: real[4,4];"),
    "layout.pad{padding=[1,2,0,1]}(x, 7.0)": ("x: real[2,3];", "y: real[3,6];"),
    "layout.transpose{axis=1, perm=[2,1]}(x)": (X, "y: real[2,4,3];"),
    "layout.space_to_depth{block_size=[2,2]}(x)": ("x: real[1,2,4,4];", "y: real[1,8,2,2];"),
    "layout.depth_to_space{block_size=[2,2], blocks_first=false}(x)": ("x: real[1,8,2,2];", "y: real[1,2,4,4];"),
    "layout.space_to_batch{block_size=[2,2], data_format='NXC'}(x)": ("x: real[1,4,4,2];", "y: real[4,2,2,2];"),
    "layout.batch_to_space{block_size=[2,2]}(x)": ("x: real[4,1,2,2];", "y: real[1,1,4,4];"),
    "layout.shuffle{axis=1, groups=2}(x)": ("x: real[1,6,2];", "y: real[1,6,2];"),
    "linalg.matmul{transB=true}(x, w, c)": ("x: real[2,3,4]; w: real[5,4]; c: real[3,5];", "y: real[2,3,5];"),
    "linalg.matvec{transA=true}(w, x)": ("w: real[3,4]; x: real[3];", "y: real[4];"),
    "linalg.dot(x, z)": ("x: real[4]; z: real[4];", "y: real[];"),
    "linalg.outer(x, z)": ("x: real[4]; z: real[2,3];", "y: real[4,2,3];"),
    "nn.linear(x, w, b)": ("x: real[2,3]; w: real[4,3]; b: real[4];", "y: real[2,4];"),
    "nn.conv{stride=2, dilation=2}(x, w)": ("x: real[1,2,5,5]; w: real[3,2,2,2];", "y: real[1,3,2,2];"),
    "nn.conv{groups=2, padding=[1,0,0,1], data_format='NXC', filter_format='XCN'}(x, w)": (
        "x: real[1,4,3,4]; w: real[2,2,2,4];", "y: real[1,4,3,4];"
    ),
    "nn.deconv{stride=2, padding=[1,0]}(x, w, b)": ("x: real[1,2,4]; w: real[2,3,3]; b: real[3];", "y: real[1,3,8];"),
    "nn.max_pool{size=2, stride=2, padding=[1,0,0,1]}(x)": ("x: real[1,1,3,3];", "y: real[1,1,2,2];"),
    "nn.avg_pool{size=3}(x)": ("x: real[1,1,4,4];", "y: real[1,1,4,4];"),
    "nn.lp_pool{size=2, p=2.0, padding=0}(x)": ("x: real[1,1,3,3];", "y: real[1,1,2,2];"),
    "nn.rms_pool{size=2, padding=0, ignore_border=false}(x)": ("x: real[1,1,3,3];", "y: real[1,1,2,2];"),
    "nn.relu{alpha=0.1}(x)": (X, "y: real[2,3,4];"),
    "nn.relu{max=1.0}(x)": (X, "y: real[2,3,4];"),
    "nn.prelu(x, a)": ("x: real[2,3]; a: real[3];", "y: real[2,3];"),
    "nn.thresholded_relu{theta=1.0}(x)": (X, "y: real[2,3,4];"),
    "nn.elu(x)": (X, "y: real[2,3,4];"),
    "nn.gelu(x)": (X, "y: real[2,3,4];"),
    "nn.gelu{approximate='TANH'}(x)": (X, "y: real[2,3,4];"),
    "nn.silu(x)": (X, "y: real[2,3,4];"),
    "nn.softmax{axes=[1]}(x)": (X, "y: real[2,3,4];"),
    "nn.l2_norm{axes=[1], epsilon=0.1}(x)": (X, "y: real[2,3,4];"),
    "nn.local_response_norm{size=[3]}(x)": ("x: real[1,4,2];", "y: real[1,4,2];"),
    "nn.mean_variance_norm(x)": ("x: real[2,3,4];", "y: real[2,3,4];"),
    "layer.linear{channels=2}(x)": ("x: real[2,3];", "y: real[2,2];"),
    "layer.batch_norm(x)": ("x: real[2,3,2];", "y: real[2,3,2];"),
    "image.nearest_upsample{axes=[2], factor=[2]}(x)": ("x: real[1,1,3];", "y: real[1,1,6];"),
    "image.area_downsample{axes=[2,3], factor=[2,2]}(x)": ("x: real[1,1,4,4];", "y: real[1,1,2,2];"),
    "image.linear_upsample{axes=[2,3], factor=[2,2]}(x)": ("x: real[1,1,3,3];", "y: real[1,1,6,6];"),
    "image.linear_upsample{axes=[2], factor=[3], replicate_border=false}(x)": ("x: real[1,1,3];", "y: real[1,1,9];"),
    "image.linear_upsample{axes=[2], factor=[2], symmetric=false}(x)": ("x: real[1,1,3];", "y: real[1,1,6];"),
    "image.nearest_resize{axes=[1], size=[5]}(x)": ("x: real[1,3];", "y: real[1,5];"),
    "image.linear_resize{axes=[1], size=[5], coordinate_transform='ALIGNED'}(x)": ("x: real[1,3];", "y: real[1,5];"),
    "image.grid_sample{padding='REFLECT'}(x, g)": ("x: real[1,1,3,3]; g: real[1,2,2,2];", "y: real[1,1,2,2];"),
    "image.grid_sample{mode='NEAREST'}(x, g)": ("x: real[1,1,3,3]; g: real[1,2,2,2];", "y: real[1,1,2,2];"),
    "quant.min_max_linear_quantize{min=-1.0, max=2.0, bits=4}(x)": (X, "y: real[2,3,4];"),
    "quant.zero_point_linear_quantize{scale=0.05, zero_point=3, bits=8}(x)": (X, "y: real[2,3,4];"),
}  # fmt: skip
INDEXED = {
    "layout.gather{axis=1}(x, i)": ("x: real[2,3]; i: int[2,2];", "y: real[2,2,2];"),
    "layout.gather_nd{batch_dims=1}(x, i)": ("x: real[2,3,3]; i: int[2,4,2];", "y: real[2,4];"),
    "layout.scatter{axis=1}(x, i, u)": ("x: real[2,3]; i: int[2,2]; u: real[2,2];", "y: real[2,3];"),
    "layout.scatter_nd(x, i, u)": ("x: real[3,2]; i: int[2,1]; u: real[2,2];", "y: real[3,2];"),
}


@pytest.mark.parametrize("invocation", CASES)
def test_three_ways_agree(invocation: str) -> None:
    inputs, outputs = CASES[invocation]
    assert_agree(graph_of("", invocation.strip(), inputs, outputs))


@pytest.mark.parametrize("invocation", INDEXED)
def test_indices_that_are_data(invocation: str) -> None:
    inputs, outputs = INDEXED[invocation]
    assert_agree(graph_of("", invocation, inputs, outputs), low=0.0, high=2.0)


@settings(max_examples=15, deadline=None)
@given(
    size=st.integers(1, 3), stride=st.integers(1, 3), dilation=st.integers(1, 2), before=st.integers(0, 2),
    after=st.integers(0, 2), ceil=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_random_convolutions(
    size: int, stride: int, dilation: int, before: int, after: int, ceil: bool, seed: int
) -> None:
    reach, mode = (size - 1) * dilation + 1, str(ceil).lower()
    free = 5 + before + after - reach
    output = (-(-free // stride) if ceil else free // stride) + 1
    attributes = f"stride={stride}, dilation={dilation}, padding=[{before},{after}], ceil_mode={mode}"
    text = graph_of(
        "", f"nn.conv{{{attributes}}}(x, w)", f"x: real[1,2,5]; w: real[2,2,{size}];", f"y: real[1,2,{output}];"
    )
    assert_agree(text, seed=seed)


@settings(max_examples=15, deadline=None)
@given(data=st.data(), rank=st.integers(1, 3))
def test_random_reductions_and_alignments(data: st.DataObject, rank: int) -> None:
    shape = data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    axes = data.draw(st.lists(st.integers(0, rank - 1), min_size=1, unique=True))
    name = data.draw(st.sampled_from(("sum", "min", "max", "mean")))
    left = ["1" if i in axes else str(n) for i, n in enumerate(shape)]
    inputs, output = f"x: real[{','.join(map(str, shape))}];", f"y: real[{','.join(left)}];"
    assert_agree(graph_of("", f"math.{name}_reduce{{axes={axes}}}(x)", inputs, output))
