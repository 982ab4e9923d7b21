"""What `report` suggests: changes that are made, run and ranked by what they gain at the output."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from quant_tools import Floats, operators

from quant.calibration.calibrate import Scheme, attach
from quant.calibration.methods import Method
from quant.calibration.observe import collect
from quant.improve.post_training import Options, quantize_from_samples
from quant.legalize.layers import LayerRule
from quant.legalize.quantize import quantize
from quant.legalize.refusals import OPERATOR
from quant.metrics import Judge, Score
from quant.report import Files, Workshop, advise, measure, measure_effects, page, to_json, try_changes
from quant.report.advice import another, with_flags
from quant.report.effects import with_errors
from quant.report.trials import EVERYWHERE
from tosa_engine import Session
from tosa_engine.errors import ErrorIf, Problems, Unsupported
from tosa_engine.samples.arrays import RandomSamples
from tosa_engine.watch import KeptTensors

if TYPE_CHECKING:
    from quant.report import Measurement, Suggestions
    from tosa_engine.errors import TosaEngineError
from report_tools import FILES, Page, network, samples


def tried(found: Measurement, seconds: float = 60) -> Suggestions:
    graph, _ = network(2)
    given = RandomSamples(6, 3, graph.inputs)
    calibration = [sample for _, sample in given.read(range(6))]
    workshop = Workshop(graph, calibration, Judge(graph, given, 3), seconds)
    return try_changes(workshop, Options(), found.layers, seconds)


@pytest.fixture(scope="module")
def suggested(found: Measurement) -> Measurement:
    result = measure(*network(2), samples())
    measure_effects(*network(2), result.layers, samples(), 60)
    result.suggestions = tried(result)
    return result


def test_changes_are_ranked_by_what_they_gain_at_the_output(suggested: Measurement) -> None:
    """The gain of every change is that of a network which the change alone makes."""
    made = suggested.suggestions
    assert made is not None
    assert [trial.gain for trial in made.tried] == sorted((trial.gain for trial in made.tried), reverse=True)
    graph, _ = network(2)
    given = RandomSamples(6, 3, graph.inputs)
    statistics = collect(graph, given.read(range(6)))
    judge = Judge(graph, given, 3)
    for trial in made.tried:
        if trial.change.layers:
            rules = [LayerRule(name, "int16") for name in trial.change.layers]
            assert judge.score(quantize(attach(graph, statistics, rules=rules))) == trial.after
            assert trial.gain == trial.after.sqnr - trial.before.sqnr
            assert made.gain_of(trial.change.layers[0]) == trial.gain
    single = [trial for trial in made.tried if trial.change.layers]
    assert len(single) == 4
    cards = advise(suggested, FILES)
    gains = [card.trial.gain for card in cards if card.trial is not None and card.title != EVERYWHERE]
    assert gains
    assert gains == sorted(gains, reverse=True)
    assert min(gains) >= 0.5
    content = json.loads(to_json(suggested, FILES))
    assert [entry.get("gain") for entry in content["next"]] == [card.trial and card.trial.gain for card in cards]
    assert f"{gains[0]:+.1f} dB" in Page(page(suggested, FILES)).words


def test_what_a_layer_alone_does_to_the_outputs(suggested: Measurement) -> None:
    """Beside the float network with one tensor shifted, by hand; the last layer's effect is its own error."""
    graph, integer = network(2)
    layers = {layer.stored: layer for layer in suggested.layers}
    assert layers["x"].effect is None
    assert layers["layer1"].effect is not None
    alone = measure(graph, integer, samples()[:2]).layers[-1]
    assert layers["layer1"].effect.sqnr == pytest.approx(alone.local.sqnr, abs=0.01)
    shifted, errors = with_errors(graph, ["x", "layer0"])
    assert errors.keys() == {"layer0"}
    session, exact = Session(shifted), KeptTensors(graph, ["layer0", "layer1"])
    kept = {name: array.copy() for name, array in exact.run(samples()[0]).items()}
    zero = np.zeros_like(kept["layer0"])
    assert np.array_equal(session.run(None, samples()[0] | {errors["layer0"]: zero})[0], kept["layer1"])
    weight, bias = (graph.main.tensors[name].data for name in graph.main.producers()["conv2d_1"].inputs[1:3])
    assert weight is not None
    assert bias is not None
    moved = np.tanh((kept["layer0"] + 0.5) @ weight.reshape(3, 3).T + bias)
    found = session.run(None, samples()[0] | {errors["layer0"]: zero + np.float32(0.5)})[0]
    assert np.allclose(found, moved, atol=1e-5)


class Planned(Workshop):
    """Every change gains, all in int16 but `layer0`, which has no such form."""

    def score(self, options: Options) -> Score:
        if LayerRule("layer0", "int16") in options.rules:
            raise Unsupported("no int16 for it", label=OPERATOR)
        if options.scheme.method.bits == 16:
            refusals = [Unsupported(text, label=OPERATOR) for text in ("first", "second")]
            raise Problems(refusals, "can't be had:")
        return Score(1 / (2 + len(options.rules)))


def test_a_layer_without_int16_is_tried_in_float_and_the_best_together(found: Measurement) -> None:
    graph, _ = network(2)
    given = RandomSamples(3, 3, graph.inputs)
    workshop = Planned(graph, [sample for _, sample in given.read(range(3))], Judge(graph, given, 1), 60)
    made = try_changes(workshop, Options(), found.layers, 60)
    titles = [trial.change.title for trial in made.tried]
    assert titles[0] == "4 layers together"
    assert "layer0 in float" in titles
    assert "layer0 in int16" not in titles
    assert ("--layer", "layer0=float") in [trial.change.flags for trial in made.tried]
    (note,) = made.notes
    assert re.fullmatch(r"all layers in int16: can't be had: .*first.*", note)


@pytest.mark.parametrize(
    "problem",
    [
        Unsupported("no kernel"), ErrorIf("a wrong graph"),
        Problems([Unsupported("refused", label=OPERATOR), ErrorIf("a wrong graph")], "both:"),
    ],
)  # fmt: skip
def test_what_goes_wrong_in_a_trial_and_is_no_refusal_is_an_error(found: Measurement, problem: TosaEngineError) -> None:
    class Failing(Workshop):
        def score(self, options: Options) -> Score:
            if options.rules:
                raise problem
            return Score(0.5)

    graph, _ = network(2)
    given = RandomSamples(3, 3, graph.inputs)
    workshop = Failing(graph, [sample for _, sample in given.read(range(3))], Judge(graph, given, 1), 60)
    with pytest.raises(type(problem)) as raised:
        try_changes(workshop, Options(), found.layers, 60)
    assert raised.value is problem


def test_changes_of_a_percentile_and_of_one_sample(found: Measurement) -> None:
    """Other methods of ranges have no percentile; with one sample none can be held back for scales of channels."""
    graph, _ = network(2)
    given = RandomSamples(1, 3, graph.inputs)
    workshop = Workshop(graph, [sample for _, sample in given.read(range(1))], Judge(graph, given, 1), 60)
    options = Options(Scheme(Method("percentile", percentile=99.0)))
    titles = {trial.change.title for trial in try_changes(workshop, options, found.layers, 60).tried}
    assert {"ranges by minmax", "ranges by mse"} <= titles
    assert "channels equalized between layers" not in titles


def test_without_time_nothing_is_tried_and_it_says_so(found: Measurement) -> None:
    made = tried(found, 0)
    assert (made.tried, made.left >= 4) == ([], True)
    found.suggestions = made
    assert any(f"{made.left} more had no time" in word for word in Page(page(found, FILES)).words)
    found.suggestions = None
    assert any("No change was tried" in word for word in Page(page(found, FILES)).words)


def test_commands_keep_the_options_and_write_another_file(suggested: Measurement) -> None:
    start = "tosa-engine quantize model.nnef --data 'calib data.npz'"
    for card in advise(suggested, FILES):
        assert card.command.startswith(start)
        assert card.command.endswith(" -o model-2.tosa")
        assert card.command.count("--method") == 1
    assert with_flags(["quantize", "m", "--method", "percentile", "--percentile", "99"], ["--method", "mse"]) == [
        "quantize", "m", "--method", "mse",
    ]  # fmt: skip
    assert with_flags(["quantize", "m", "--layer", "a=int16", "--smooth"], ["--layer", "b=int16"]) == [
        "quantize", "m", "--layer", "a=int16", "--smooth", "--layer", "b=int16",
    ]  # fmt: skip
    assert [another(name) for name in ("a/b.tosa", "b-2.tosa", "b-x.json")] == ["a/b-2.tosa", "b-3.tosa", "b-x-2.json"]
    assert Files("m.nnef", "m.tosa").command(()) == "tosa-engine quantize m.nnef --data CALIBRATION_DATA -o m-2.tosa"


def test_networks_are_made_as_quantize_makes_them_with_normalisation_in_weights() -> None:
    f = Floats()
    y = f.op("MUL", [f.input((1, 2, 2, 3)), f.const(np.full((1, 1, 1, 3), 1 / 255))], name="normal")
    graph = f.outputs(f.conv(y, np.ones((2, 1, 1, 3), np.float32), np.zeros(2, np.float32)))
    given = RandomSamples(2, 3, graph.inputs)
    calibration = [sample for _, sample in given.read(range(2))]
    workshop = Workshop(graph, calibration, Judge(graph, given, 1), 60)
    for options in (Options(), Options(rules=(LayerRule("normal", "int16"),))):
        made, wanted = workshop.make(options), quantize_from_samples(graph, calibration, options).graph
        assert operators(made) == operators(wanted)
    assert set(workshop.precisions(Options())) == {"conv2d"}
