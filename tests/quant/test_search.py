"""What each layer costs, and the cheapest precisions: on networks whose worst layer is known."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from quant_tools import Floats

from quant.calibration.calibrate import Scheme, attach
from quant.calibration.observe import collect
from quant.legalize.layers import FLOAT, activation_bits, layers_of
from quant.legalize.quantize import prepared
from quant.legalize.refusals import TABLE
from quant.metrics import Reading, Score, Targets, parse
from quant.search.cheapest import Search
from quant.search.cost import Cost, Costs
from quant.search.evaluate import Evaluator
from quant.search.journal import Scores, belongs_to
from quant.search.sensitivity import analyse, measurements
from quant.search.units import Unit, assigned, escaped, units_of
from tosa_engine import Session, serialize
from tosa_engine.errors import DataError, GraphError, Problems, Unsupported
from tosa_engine.samples.arrays import RandomSamples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tosa_engine.graph import Graph


def network() -> Graph:
    """first - gelu-like chain - worst - last: `worst` writes one channel 300 times as large as the one that counts."""
    rng = np.random.default_rng(1)

    def w(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32) / np.float32(math.sqrt(np.prod(shape[1:])))

    f = Floats()
    y = f.conv(f.input((1, 3, 3, 8)), w(8, 1, 1, 8), w(8), name="first")
    half = f.op("MUL", [y, f.const([[[[0.5]]]])], name="half")
    bent = f.op("MUL", [half, f.op("TANH", [y], name="tanh")], name="bent")
    large = w(6, 1, 1, 8)
    large[0] *= 300
    y = f.relu(f.conv(bent, large, np.zeros(6, np.float32), name="worst"))
    small = w(4, 1, 1, 6)
    small[:, :, :, 0] /= 300
    return f.outputs(f.conv(y, small, w(4), name="last"))


GRAPH = network()
SAMPLES = RandomSamples(12, 7, GRAPH.inputs)
STATISTICS = collect(GRAPH, SAMPLES.read(range(12)))
UNITS = units_of(attach(GRAPH, STATISTICS))
INT8 = Scheme()
ORDER: Final = ("int4", "int8", "int16", "float")
WORST = {"worst", "last"}  # between them is the tensor that 8 bits can't hold: both would have to round it
RULES = [[f"{name} = int16"] for name in sorted(WORST)]


def evaluator(**more: Any) -> Evaluator:
    return Evaluator(GRAPH, STATISTICS, INT8, SAMPLES, 6, **more)


BELONGS = belongs_to(evaluator())
MEASURED = Scores(None, BELONGS)  # what one test has measured in the engine, others need not measure again


class Sums:
    """An evaluator whose noise adds up exactly, by layer and precision."""

    NOISE: Final = {
        "first": (16.0, 2.0, 1.0, 0.0), "half": (0.0, 0.0, 0.0, 0.0), "tanh": (0.0, 0.0, 0.0, 0.0),
        "bent": (5.0, 5.0, 0.5, 0.0), "worst": (40.0, 30.0, 0.1, 0.0), "last": (3.0, 2.5, 2.0, 0.0),
    }  # fmt: skip

    def __init__(self, stop: int = 1000) -> None:
        self.ran, self.stop = 0, stop

    def score(self, precisions: Mapping[str, str]) -> Score:
        if self.ran == self.stop:
            raise KeyboardInterrupt
        self.ran += 1
        return Score(1e-3 * sum(self.NOISE[name][ORDER.index(own)] for name, own in precisions.items()))


def test_a_table_is_one_unit_and_a_convolution_with_its_clamp_another() -> None:
    assert [(u.name, u.layers, u.precisions) for u in UNITS] == [
        ("first", ("first",), ("int4", "int8", "int16")),
        ("bent", ("half", "tanh", "bent"), ("int8", "int16")),
        ("worst", ("worst",), ("int4", "int8", "int16")),
        ("last", ("last",), ("int4", "int8", "int16")),
    ]
    assert [u.op for u in UNITS] == ["CONV2D", "MUL and 2 before it", "CONV2D", "CONV2D"]


def test_layers_of_one_name_are_one_unit() -> None:
    graph = GRAPH.copy()
    from tosa_engine.graph import Location

    for op in graph.main.operators[-3:]:
        op.location = Location("net.nnef", 3, "block")
    names = [u.layers for u in units_of(attach(graph, collect(graph, SAMPLES.read(range(2)))))]
    assert names[-1] == ("block",)


def test_scores_are_those_of_the_networks_themselves() -> None:
    found = evaluator()
    assert found.score(assigned(UNITS, {}, FLOAT)) == Score(0.0)
    assert found.score(assigned(UNITS, {}, FLOAT)).sqnr == math.inf
    eight, sixteen = (found.score(assigned(UNITS, {}, precision)).sqnr for precision in ("int8", "int16"))
    assert 15 < eight < sixteen - 5


def test_the_ranking_begins_with_the_planted_layer_and_its_rules_mend_it() -> None:
    counted: list[int] = []
    found = analyse(evaluator(), MEASURED, UNITS, 0.5, lambda: counted.append(1))
    assert len(counted) == measurements(UNITS) == 14
    assert isinstance(found.whole, Score)
    assert isinstance(found.mended, Score)
    assert {row.unit.name for row in found.rows[:2]} == WORST
    assert found.rules() in RULES
    assert found.mended.sqnr > found.whole.sqnr + 3
    assert found.rows[0].wide == found.mended  # the same network
    assert all(isinstance(row.without, Score) and row.without.noise < 2 * found.whole.noise for row in found.rows)


def test_a_precision_that_a_layer_cannot_have_is_told_and_not_chosen() -> None:

    class Refusing(Sums):
        def score(self, precisions: Mapping[str, str]) -> Score:
            if "int16" in precisions.values():
                raise Unsupported("no TABLE for it", label=TABLE)
            return super().score(precisions)

    found = analyse(Refusing(), Scores(None, {}), UNITS)  # type: ignore[arg-type]
    assert {row.wide for row in found.rows} == {"QUANT.E11: no TABLE for it"}
    assert found.rules() == []


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, first, second = tmp_path / "journal", Sums(5), Sums()
    with pytest.raises(KeyboardInterrupt):
        analyse(first, Scores(path, BELONGS), UNITS)  # type: ignore[arg-type]
    path.write_bytes(path.read_bytes() + b'{"choice": "half a li')
    resumed = Scores(path, BELONGS, resume=True)
    assert len(resumed) == 5
    found = analyse(second, resumed, UNITS)  # type: ignore[arg-type]
    assert found == analyse(Sums(), Scores(None, {}), UNITS)  # type: ignore[arg-type]
    assert first.ran + second.ran == len(Scores(path, BELONGS, resume=True)) == len(path.read_text().splitlines()) - 1
    analyse(Sums(0), Scores(path, BELONGS, resume=True), UNITS)  # type: ignore[arg-type]  # nothing is measured again


def test_a_journal_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    Scores(path, BELONGS).score({}, lambda _: Score(0.5))
    with pytest.raises(DataError, match="made with another samples; without --resume it is begun anew"):
        Scores(path, belongs_to(Evaluator(GRAPH, STATISTICS, INT8, SAMPLES, 5)), resume=True)
    with path.open("a") as file:
        file.write('{"choice": 1}\n')
    with pytest.raises(DataError, match="not a journal of tosa-engine"):
        Scores(path, BELONGS, resume=True)
    for text in ("", "[]\n", "nonsense\n", "{}\n"):
        path.write_text(text)
        for resume in (False, True):
            with pytest.raises(DataError, match="not a journal of tosa-engine"):
                Scores(path, BELONGS, resume=resume)
        assert path.read_text() == text


def test_without_resume_a_journal_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    Scores(path, BELONGS).score({"a": "int8"}, lambda _: Score(0.5))
    assert Scores(path, BELONGS, resume=True).score({"a": "int8"}, lambda _: Score(9.0)) == Score(0.5)
    assert Scores(path, BELONGS).score({"a": "int8"}, lambda _: Score(0.25)) == Score(0.25)
    assert len(path.read_text().splitlines()) == 2


def test_only_refusals_of_quantization_are_scores() -> None:
    """Internal errors end the run, and errors of the data do."""

    def fail(problem: Exception) -> Callable[..., Score]:
        def score(precisions: Mapping[str, str]) -> Score:
            raise problem

        return score

    refusal, other = Unsupported("no TABLE for it", label=TABLE), GraphError("wrong rank", label="ADD.rank")
    kept = Scores(None, {})
    assert kept.score({"a": "int8"}, fail(Problems([refusal, refusal]))) == f"{refusal}\n{refusal}"
    for problem in (other, DataError("no sample"), Problems([refusal, other])):
        with pytest.raises(type(problem)):
            kept.score({"b": "int8"}, fail(problem))
    assert len(kept) == 1


def test_costs_by_hand() -> None:
    costs = Costs(prepared(GRAPH).main)
    macs = 9 * (8 * 8 + 6 * 8 + 4 * 6)
    weights = 64 + 48 + 24
    written = 9 * (8 + 8 + 8 + 8 + 6 + 4)
    assert costs.usual == Cost(macs, weights + written)
    four = costs.of(assigned(UNITS, {"worst": "int4"}, "int8"))
    assert four == Cost(macs - 9 * 48 / 2, weights + written - 24)
    wide = costs.of(assigned(UNITS, {"worst": "int16"}, "int8"))  # its input has 16 bits then, too
    assert wide == Cost(macs + 9 * 48, weights + written + 9 * (8 + 6))
    assert costs.of(assigned(UNITS, {}, "float")).macs == 16 * macs
    assert four.relative(costs.usual, "macs") == pytest.approx(1 - 9 * 24 / macs)
    assert wide.relative(costs.usual, "both") == pytest.approx(
        (wide.relative(costs.usual, "macs") + wide.relative(costs.usual, "bytes")) / 2
    )


def search(target: float, allowed: tuple[str, ...], measure: Any = None, journal: Scores | None = None) -> Any:
    costs = Costs(prepared(GRAPH).main)
    found = Search(measure or Sums(), journal or Scores(None, {}), UNITS, costs, allowed)
    return found.run(lambda score: score.sqnr >= target, 10 ** (-target / 10))


def test_the_search_raises_the_layer_that_needs_it_and_no_other() -> None:
    real = evaluator()
    whole = MEASURED.score(assigned(UNITS, {}, "int8"), real.score)
    assert isinstance(whole, Score)
    found = search(whole.sqnr + 2, ("int8", "int16"), real, MEASURED)
    assert found.reached
    assert found.score.sqnr >= whole.sqnr + 2
    assert found.score == real.score(assigned(UNITS, found.chosen, "int8"))  # of the network itself
    assert {name for name, precision in found.chosen.items() if precision == "int16"} < WORST
    assert 1 < found.cost < 1.6


def test_costs_agree_with_the_bits_of_the_graph() -> None:
    costs, block = Costs(prepared(GRAPH).main), prepared(GRAPH).main
    for choice in product(ORDER[1:3], repeat=4):
        precisions = assigned(UNITS, dict(zip((u.name for u in UNITS), choice, strict=True)), "float")
        bits = activation_bits(block, precisions)
        written = sum(block.tensors[layer.tensors[0]].size * bits[layer.tensors[0]] / 8 for layer in layers_of(block))
        assert costs.of(precisions).bytes == written + 64 + 48 + 24


@pytest.mark.parametrize("target", [11.8, 13.0, 14.5, 17.0, 20.0, 23.0, 24.4])
def test_where_noise_adds_up_nothing_cheaper_reaches_the_target(target: float) -> None:
    """Beside all 3 * 2 * 3 * 3 choices."""
    found, costs, best = search(target, ORDER[:3]), Costs(prepared(GRAPH).main), math.inf
    for choice in product(*(unit.precisions for unit in UNITS)):
        precisions = assigned(UNITS, dict(zip((u.name for u in UNITS), choice, strict=True)), "float")
        if Sums().score(precisions).sqnr >= target:
            best = min(best, costs.of(precisions).relative(costs.usual, "both"))
    assert found.reached
    assert found.score.sqnr >= target
    assert found.cost == pytest.approx(best)
    assert found == search(target, ORDER[:3])  # nothing random


def test_a_target_out_of_reach() -> None:
    found = search(25.0, ("int8", "int16"))
    assert not found.reached
    assert set(found.chosen.values()) == {"int16"}
    with pytest.raises(Unsupported, match=r"^QUANT\.E14: 'bent' can't have any of int4 \(node 'bent'\)"):
        search(25.0, ("int4",))


def test_accuracy_counts_right_answers() -> None:
    """Labels that the float network gets right in 4 of 6 samples; the output has 3 x 3 places of 4 classes."""
    session = Session(GRAPH)
    right = [int(np.argmax(session.run(None, sample)[0])) for _, sample in SAMPLES.read(range(6))]
    labels = np.array([*right[:4], right[4] ^ 1, right[5] ^ 1])
    found = evaluator(metric=parse("accuracy"), targets=Targets(labels, "labels"))
    assert found.judge.real == Reading("accuracy", pytest.approx(100 * 4 / 6))
    assert found.score(assigned(UNITS, {}, FLOAT)).reading == found.judge.real
    with pytest.raises(DataError, match="labels: 5 targets for 6 samples"):
        evaluator(metric=parse("accuracy"), targets=Targets(labels[:5], "labels"))


def test_selectors_of_names_with_signs_match_these_alone() -> None:
    unit = Unit("a[0]*", "ADD", ("a[0]*",), ())
    (rule,) = unit.rules("int16")
    assert escaped("a[0]*") == rule.selector
    layer = layers_of(prepared(GRAPH).main)[0]
    layer.names = ["a[0]*"]
    assert layer.matches(rule.selector)
    layer.names = ["a0x"]
    assert not layer.matches(rule.selector)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    serialize.write(GRAPH, tmp_path / "net.tosa")
    graph = serialize.read(tmp_path / "net.tosa")
    arrays = [sample["x"] for _, sample in SAMPLES.read(range(12))]
    np.save(tmp_path / "x.npy", np.stack(arrays))
    collect(graph, enumerate({"x": x} for x in arrays)).write(tmp_path / "stats.json")
    return tmp_path


def test_the_commands(command: Callable[..., Any], files: Path) -> None:
    """What is printed can be pasted: `quantize --layers` takes it, and 2 layers match."""
    common = [files / "net.tosa", "--statistics", files / "stats.json", "--data", files / "x.npy", "--samples", "2"]
    out = files / "layers.txt"
    done = command("sensitivity", *common, "-o", out, "--json", files / "s.json", "--journal", files / "journal")
    assert done.code == 0, done.err
    assert out.read_text().splitlines()[1:] in RULES
    assert out.read_text() in done.out
    content = json.loads((files / "s.json").read_text())
    assert {row["layer"] for row in content["layers"][:2]} == WORST
    assert content["rules"] in RULES
    done = command("quantize", files / "net.tosa", "--statistics", files / "stats.json", "--layers", out, "-o",
                   files / "int.tosa")  # fmt: skip
    assert done.out.splitlines()[0].startswith("precision: 5 layers int8, 1 int16 (")
    done = command("search", *common, "--sqnr", "12", "--json", files / "f.json", "--journal", files / "journal",
                   "--resume")  # fmt: skip
    assert (done.code, "parts are there already" in done.err) == (0, True)
    assert json.loads((files / "f.json").read_text())["reached"]
    done = command("search", *common, "--sqnr", "200", "--precisions", "int8")
    assert (done.code, "the target is out of reach; nearest: " in done.out) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--drop", "1"], "--goal and --drop are of a --metric, such as accuracy or r2"),
        (
            ["--goal", "1", "--metric", "f1"],
            "unknown metric 'f1'; choose from: accuracy, topK (top5), r2, rmse, psnr, or",
        ),
        (["--sqnr", "x"], "'x' isn't a number"),
        (["--sqnr", "30", "--precisions", "int8,int3"], "'int3': choose from int4, int8, int16"),
        (["--sqnr", "30", "--random", "3"], "samples to measure with come from one of --data and --random"),
    ],
)
def test_wrong_words(command: Callable[..., Any], files: Path, words: list[str], message: str) -> None:
    done = command(
        "search", files / "net.tosa", "--statistics", files / "stats.json", "--data", files / "x.npy", *words
    )
    assert (done.code, message in done.err) == (2, True), done.err
