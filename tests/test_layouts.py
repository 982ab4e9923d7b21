"""Tensors as they lie in the memory of devices: every form gives back what it was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosa_engine import types
from tosa_engine.layouts import ENDIANS, LAYOUTS, Form, arrange, pack, restore, unpack
from tosa_engine.serialize.data import ValueProblem

DTYPES = (types.bool_, types.i4, types.i8, types.i16, types.i32, types.i48, types.fp32, types.bf16)
FORMS = st.builds(Form, st.sampled_from(LAYOUTS), st.sampled_from((1, 16, 24, 32)), st.sampled_from(ENDIANS))
SHAPES = st.one_of(
    st.tuples(*(st.integers(1, n) for n in (2, 3, 3, 40))), st.lists(st.integers(1, 5), max_size=5).map(tuple)
)


def values(dtype: types.DType, shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(5)
    if dtype.is_float:
        return rng.normal(size=shape).astype(dtype.storage)
    return rng.integers(dtype.minimum, dtype.maximum, shape, endpoint=True).astype(dtype.storage)


@given(dtype=st.sampled_from(DTYPES), shape=SHAPES, form=FORMS)
def test_packed_and_unpacked(dtype: types.DType, shape: tuple[int, ...], form: Form) -> None:
    array = values(dtype, shape)
    raw = pack(array, dtype, form)
    assert len(raw) == form.size(dtype, shape)
    np.testing.assert_array_equal(unpack(raw, dtype, shape, form), array, strict=True)
    np.testing.assert_array_equal(restore(arrange(array, form).reshape(-1), shape, form), array, strict=True)


def test_bytes_of_a_form() -> None:
    array = np.arange(6, dtype=np.int16).reshape(1, 1, 2, 3)
    assert pack(array, types.i16, Form("NCHW", endian="big")).hex() == "000000030001000400020005"
    assert Form("NHCWB16", channels=32).stored((1, 2, 3, 17)) == (1, 2, 2, 3, 16)
    assert Form("NHCWB16", channels=24).stored((1, 2, 3, 17)) == (1, 2, 3, 3, 16)
    assert pack(array, types.i16, Form("NHCWB16"))[:6].hex() == "000001000200"
    assert pack(np.array([-2, 1], np.int64), types.i48, Form(endian="big")).hex() == "fffffffffffe000000000001"


def test_another_number_of_bytes() -> None:
    with pytest.raises(ValueProblem) as caught:
        unpack(b"123", types.i8, (1, 1, 2, 3), Form("NHCWB16"))
    assert str(caught.value) == (
        "i8[1, 1, 2, 3], which lies as NHCWB16 [1, 1, 1, 2, 16], takes 32 bytes, the file has 3"
    )
