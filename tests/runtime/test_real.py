"""Real numbers in and out of a quantized network; copies of sessions; feeds that aren't given by name."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import Session, arrays, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.errors import DataError, Problems, UsageError
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph

X = np.array([[0.5, -1.26, 300.0]])
INDICES = np.array([[2, 0]], np.int32)
WANTED = np.array([[127 * 0.5, 0.5]], np.float32).reshape(1, 2, 1)


def picked() -> Graph:
    """values[indices], quantized: two inputs, of which one has no scale, and an output with a scale."""
    b = Builder()
    values = b.input(types.i8, (1, 3, 1), "values")
    b.output(b.op("GATHER", values, b.input(types.i32, (1, 2), "indices"), output="y"))
    graph = b.graph()
    for name in ("values", "y"):
        graph.main.tensors[name].quant = QParams((0.5,), (0,))
    return graph


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_real_numbers_in_and_out(dtype: type) -> None:
    session = Session(picked(), 1)
    assert [port.quant is None for port in (*session.inputs, *session.outputs)] == [False, True, False]
    (found,) = session.run_real(None, {"values": X.reshape(1, 3, 1).astype(dtype), "indices": INDICES})
    np.testing.assert_array_equal(found, WANTED, strict=True)
    stored = np.array([1, -3, 127], np.int8).reshape(1, 3, 1)
    np.testing.assert_array_equal(session.run_real(["y"], {"values": stored, "indices": INDICES})[0], WANTED)


def test_what_cannot_be_real_is_refused_at_once() -> None:
    session = Session(picked(), 1)
    with pytest.raises(Problems) as found:
        session.run_real(None, {"values": np.full((1, 3, 1), np.nan), "indices": INDICES.astype("f4")})
    text = [str(problem) for problem in found.value.problems]
    assert text[0] == "DATA.real: NaN can't be quantized (tensor 'values')"
    assert text[1].startswith("DATA.real: no scale is known, so real numbers can't become its integers; `quantize`")
    with pytest.raises(DataError, match=r"wanted int8\[1, 3, 1\] for i8, got int8\[3\]"):
        session.run_real(None, {"values": X[0], "indices": INDICES})


def test_the_flag_real(command, tmp_path: Path) -> None:
    serialize.write(picked(), tmp_path / "m.tosa")
    np.savez(tmp_path / "in.npz", values=X.reshape(1, 3, 1), indices=INDICES)
    np.savez(tmp_path / "real.npz", y=WANTED.astype(np.float64))
    np.savez(tmp_path / "stored.npz", y=np.array([127, 1], np.int8).reshape(1, 2, 1))
    line = ["run", tmp_path / "m.tosa", "-i", tmp_path / "in.npz", "--real"]
    assert command(*line, "-o", tmp_path / "out.npz").code == 0
    np.testing.assert_array_equal(arrays.read_bundle(tmp_path / "out.npz")["y"], WANTED, strict=True)
    for expected in ("real.npz", "stored.npz"):
        done = command(*line, "--expect", tmp_path / expected)
        assert (done.code, done.out) == (0, "EQUAL: 1 of 1 outputs, 2 elements, bit for bit\n"), done.err


@pytest.mark.parametrize(
    ("off", "said"),
    [
        (6e-8, "SQNR of what differs: 151.5 dB; --atol 6.3e-08 or --rtol 2.5e-07 accepts that"),
        (1.0, "SQNR of what differs: 8.2 dB"),
    ],
)
def test_floats_that_differ_say_how_far(off: float, said: str, command, tmp_path: Path) -> None:
    b = Builder()
    b.output(b.op("IDENTITY", b.input(types.fp32, (3,), "x"), output="y"))
    serialize.write(b.graph(), tmp_path / "m.tosa")
    x = np.array([0.25, 2.0, -1.0], np.float32)
    expected = x.copy()
    expected[0] = np.float32(0.25 + off)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", expected)
    line = ["run", tmp_path / "m.tosa", "-i", tmp_path / "x.npy", "--expect", tmp_path / "y.npy"]
    done = command(*line)
    assert done.code == 1
    assert done.out.splitlines()[1] == said
    if "--atol" in said:
        words = said.split()
        for flag in ("--atol", "--rtol"):
            assert command(*line, flag, words[words.index(flag) + 1]).code == 0


def delayed() -> Graph:
    """y = x of the run before."""
    b = Builder()
    b.op("VARIABLE", name="v", var_shape=(2,), type=types.i8, initial_value=np.zeros(2, np.int8))
    b.output(b.op("VARIABLE_READ", name="v", dtype=types.i8, output="y"))
    b.op("VARIABLE_WRITE", b.input(types.i8, (2,), "x"), name="v")
    return b.graph()


def test_a_copy_of_a_session_has_its_variables_and_goes_its_own_way() -> None:
    session = Session(delayed(), 1)
    session.run(None, {"x": np.array([1, 2], np.int8)})
    copies = [copy.deepcopy(session), copy.copy(session)]
    for value, one in enumerate((*copies, session)):
        assert one.run(None, {"x": np.full(2, value, np.int8)})[0].tolist() == [1, 2]
    assert [one.run(None, {"x": np.zeros(2, np.int8)})[0][0] for one in (*copies, session)] == [0, 1, 2]
    assert copies[0].graph is not session.graph


def test_a_session_goes_to_another_process(tmp_path: Path) -> None:
    """By the protocol that copies for other processes; a multiprocessing pool uses the same."""
    script = tmp_path / "each.py"
    script.write_text(
        "import multiprocessing, numpy as np\n"
        "from tosa_engine import Session, types\n"
        "from tosa_engine.builder import Builder\n"
        "def run(session):\n"
        "    return session.run(None, {'x': np.array([3], np.int32)})[0].tolist()\n"
        "if __name__ == '__main__':\n"
        "    b = Builder()\n"
        "    x = b.input(types.i32, (1,), 'x')\n"
        "    b.output(b.op('ADD', x, x, output='y'))\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(run, [Session(b.graph(), 1)]))\n"
    )
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert found.stdout == "[[6]]\n", found.stderr


@pytest.mark.parametrize("feeds", [[X], (X,), X, None])
@pytest.mark.parametrize("run", ["run", "run_each", "run_real"])
def test_feeds_without_names_are_one_line(run: str, feeds: object) -> None:
    wanted = r"^feeds are arrays by the names of inputs, \{'values': array, 'indices': array\}; got a "
    with pytest.raises(UsageError, match=wanted + type(feeds).__name__):
        getattr(Session(picked(), 1), run)(None, feeds)


def test_a_name_in_place_of_names() -> None:
    with pytest.raises(UsageError, match=r"names are a list of outputs, \['y'\]; got a str"):
        Session(picked(), 1).run("y", {})
