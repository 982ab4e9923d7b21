"""The benchmarks run, measure what they say, and refuse to time wrong results. Speed itself isn't tested."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from nets import feeds_of, residual_net

from tosa_engine import Session, oracle, serialize
from tosa_engine.check import check

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch):
    """Imports a file of benchmarks/ the way they import each other."""
    monkeypatch.syspath_prepend(FOLDER)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    before = set(sys.modules)
    yield load
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "x").parent == FOLDER:
            del sys.modules[name]


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    """A folder with one network and a recorded case, and beside it the folder `perf` without any file of a peer."""
    folder = tmp_path / "tosa" / "residual.int8"
    folder.mkdir(parents=True)
    (tmp_path / "perf" / "residual").mkdir(parents=True)
    graph = residual_net()
    feeds = feeds_of(graph)
    serialize.write(graph, folder / "model.tosa")
    case: dict[str, list[str]] = {"ifm_name": [], "ifm_file": [], "ofm_name": [], "ofm_file": []}
    outputs = dict(zip(graph.main.outputs, Session(graph, 1).run(None, feeds), strict=True))
    for kind, arrays in (("ifm", feeds), ("ofm", outputs)):
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
            case[f"{kind}_name"].append(name)
            case[f"{kind}_file"].append(f"{name}.npy")
    (folder / "some_desc.json").write_text(json.dumps(case))
    return folder.parent


def compare(networks: Path, *flags: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, FOLDER / "compare.py", networks, "--runtimes", "tosa_engine", "--rounds", 2, *flags]
    return subprocess.run([*map(str, words), "--slot", "0.01"], capture_output=True, text=True, check=False)


@pytest.mark.slow("starts a process for each runtime, which compile")
def test_compare_without_peers(networks: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = compare(networks, "--batch", "1,2", "--json", out / "compare.json", "--svg", out / "compare.svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert "residual.int8: " in done.stdout
    assert "batch 2, 2 threads" in done.stdout
    record = json.loads((out / "compare.json").read_text())
    (network,) = record["networks"]
    ways = [(r["runtime"], r["batch"], r["threads"], r["note"]) for r in network["results"]]
    assert ways == [
        ("tosa_engine", 1, 1, ""),
        ("tosa_engine", 1, 2, ""),
        ("tosa_engine", 2, 1, "2 runs at once"),
        ("tosa_engine", 2, 2, "2 runs at once"),
        ("tosa_engine, by samples", 2, 2, "2 runs of one session, from 2 threads"),
    ]
    assert all(0 < r["best_seconds"] <= r["median_seconds"] for r in network["results"])
    assert network["tile_macs_per_second"] > 0
    assert network["macs"] == 2 * 12 * 12 * 24 * (27 + 9 + 24) + 2 * 36 * 36 * 24
    drawn = (out / "compare.svg").read_text()
    ET.fromstring(drawn)
    for text in (done.stdout, json.dumps(record), drawn):
        assert str(tmp_path) not in text
        assert str(Path.home()) not in text


def test_wrong_results_are_not_timed(networks: Path, tmp_path: Path) -> None:
    file = networks / "residual.int8" / "out.npy"
    np.save(file, np.load(file, allow_pickle=False) ^ 1)
    done = compare(networks, "--threads", 1, "--batch", 1, "--json", tmp_path / "compare.json")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^    tosa_engine \S+ +other bytes than recorded$", done.stdout, re.MULTILINE)
    (result,) = json.loads((tmp_path / "compare.json").read_text())["networks"][0]["results"]
    assert result["left_out"] == "other bytes than recorded"
    assert "best_seconds" not in result


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["nothing.int8"], "no such network: nothing.int8"),
        (
            ["--runtimes", "TVM"],
            "unknown runtime: TVM; choose from: tosa_engine, LiteRT, ONNX Runtime, OpenVINO, ",
        ),
    ],
)
def test_wrong_names_are_told(networks: Path, flags: list[str], message: str) -> None:
    done = compare(networks, *flags)
    assert done.returncode == 1
    assert done.stderr.startswith(message)


def test_runtimes_that_are_not_installed_are_named(module, monkeypatch: pytest.MonkeyPatch) -> None:
    runtimes, main = module("runtimes"), module("compare")

    def version(package: str) -> str:
        if package in ("openvino", "tosa-tools"):
            raise runtimes.metadata.PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr(runtimes.metadata, "version", version)
    versions, absent = main.chosen_runtimes(None)
    assert list(versions) == ["tosa_engine", "LiteRT", "ONNX Runtime"]
    assert absent == ["OpenVINO", "IREE", "tosa_reference_model"]


def test_a_worker_that_dies_is_told_and_the_others_go_on(
    module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rounds = module("rounds")
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import sys, json\n"
        "for line in sys.stdin:\n"
        "    do = json.loads(line)['do']\n"
        "    if do == 'run' and sys.argv[2] == '2':\n"
        "        sys.exit('no more')\n"
        "    many = [0.5] * json.loads(line).get('times', 0)\n"
        "    answer = {'seconds': many} if do == 'run' else {'seconds': 0.5, 'note': 'slowly', 'macs': 7}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    monkeypatch.setattr(rounds, "WORKER", worker)
    entries = [rounds.Entry("LiteRT", 1, 1), rounds.Entry("LiteRT", 2, 1)]
    with rounds.Pool(tmp_path / "scratch") as pool:
        rounds.go_round(entries, pool, {}, rounds=3, slot=1.0)
    alive, dead = entries
    assert (alive.seconds, alive.turns, alive.note, alive.macs) == ([0.5] * 6, [0.5] * 3, "slowly", 7)
    assert (dead.seconds, dead.left_out) == ([], "the process died with status 1: no more")


@pytest.fixture
def measured(module) -> Any:
    """A network whose times are known: a second runtime needs half of ours, in the second of three rounds a quarter."""
    entry, runtimes = module("rounds").Entry, module("runtimes")
    entries = [
        entry(runtimes.OURS, 1, 1, [4.0, 8.0, 4.0], [4.0, 8.0, 4.0]),
        entry("OpenVINO", 1, 1, [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]),
        entry("IREE", 1, 1, left_out=runtimes.DIFFERENT),
        entry("LiteRT", 1, 1, left_out=""),
        entry(runtimes.REFERENCE, 1, 1, [400.0, 500.0], [400.0, 500.0], "a process per run"),
        entry(runtimes.START_UP, 1, 1, [100.0], [100.0]),
        entry(runtimes.TILE, 1, 1, [0.5], [0.5], macs=10**9),
    ]
    return module("results").Measured("net.int8", 8 * 10**9, entries)


def test_ratios_speeds_and_reasons(measured: Any) -> None:
    record = measured.record()
    assert (record["tile_macs_per_second"], record["reference_start_seconds"]) == (2 * 10**9, 100.0)
    ours, peer, iree, reference = record["results"]
    assert (ours["best_seconds"], ours["median_seconds"], ours["macs_per_second"]) == (4.0, 4.0, 2 * 10**9)
    assert "ours_by_best" not in ours
    assert (peer["ours_by_best"], peer["ours_by_turn"], peer["exact"]) == (2.0, 2.0, False)
    assert iree == {"runtime": "IREE", "threads": 1, "batch": 1, "left_out": "other bytes than recorded"}
    assert reference["ours_by_best"] == 0.01


def test_the_table(measured: Any, module) -> None:
    lines = module("results").report(measured, {"OpenVINO": "2026"}).splitlines()[1:]
    assert lines[0] == "net.int8: 8,000.0 MMAC; the tile: 2 GMAC/s"
    assert " ".join(lines[1].split()) == "batch 1, 1 thread best ms median runs ours/best ours/turn GMAC/s bytes"
    assert " ".join(lines[2].split()) == "tosa_engine 4000.000 4000.000 3 2.0 equal"
    assert " ".join(lines[3].split()) == "OpenVINO 2026 2000.000 2000.000 3 2.00 2.00 4.0 other"
    assert " ".join(lines[4].split()) == "IREE other bytes than recorded"
    assert lines[5].endswith("0.0100    0.0130     0.0  equal  (a process per run, 100000 ms of it its start)")
    assert lines[6:] == ["    ours: 2.00 x the best of OpenVINO; 2.00 x OpenVINO, turn by turn"]


def test_tables_for_a_page(measured: Any, module) -> None:
    record = {"networks": [measured.record()]}
    head, rule, row = module("results").markdown(record).splitlines()
    assert head == (
        "| network | batch | threads | tosa_engine | OpenVINO | IREE | tosa_reference_model "
        "| ours / fastest other | reference / ours |"
    )
    assert rule.count("---") == 9
    assert row == (
        "| net.int8 | 1 | 1 | 4,000 (4,000) | 2,000 (2,000) | other bytes | 400,000 (450,000) | 2.00 (OpenVINO) | 100 |"
    )


def test_the_plot_has_a_mark_for_each_time(measured: Any, module) -> None:
    machine = {"processor": "A <fast> one", "cores": 2, "date": "2026-01-01"}
    record = {"environment": machine, "versions": {"OpenVINO": "2026"}, "networks": [measured.record()]}
    root = ET.fromstring(module("plot").draw(record))
    name = "{http://www.w3.org/2000/svg}"
    titles = [t.text for t in root.iter(f"{name}title")]
    assert titles == [
        "net.int8, OpenVINO, 1 threads: 2000.000 ms",
        "net.int8, tosa_reference_model, 1 threads: 450000.000 ms",
        "net.int8, tosa_engine, 1 threads: 4000.000 ms",
    ]
    places = [float(p.get("d")[1:].split()[0]) for p in root.iter(f"{name}path") if p.find(f"{name}title") is not None]
    assert places[0] < places[2] < places[1]
    texts = [t.text for t in root.iter(f"{name}text")]
    assert "A <fast> one, 2 cores; 2026-01-01" in texts
    assert any("IREE isn't shown for 1 of 1 networks: other bytes." in text for text in texts)


def test_every_line_of_the_operators_is_legal(module) -> None:
    for name, make in module("networks").LINES.items():
        assert check(make()) == [], name


def test_operators_run(tmp_path: Path) -> None:
    words = [sys.executable, FOLDER / "operators.py", "PAD", "TRANSPOSE 64x4x32", "--rounds", "1"]
    done = subprocess.run(
        [*map(str, words), "--json", str(tmp_path / "operators.json")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((tmp_path / "operators.json").read_text())
    assert [line["steps"] for line in found] == ["TRANSPOSE", "PAD"]
    assert all(line["seconds"] > 0 and 0 < line["of_bound"] for line in found)


def test_networks_of_floats_are_nnef_folders(module, networks: Path) -> None:
    compare = module("compare")
    (networks.parent / "perf" / "small" / "float.nnef").mkdir(parents=True)
    (found,) = compare.chosen_networks(compare.arguments([str(networks), "--floats"]))
    assert compare.name_of(found) == "small.fp32"
    job = module("runtimes").Job(found, found.parent, networks, 1, 1)
    assert job.floats
    with pytest.raises(SystemExit, match="no such network: residual"):
        compare.chosen_networks(compare.arguments([str(networks), "--floats", "residual"]))


def test_elementwise_operators_are_timed_beside_numpy(tmp_path: Path) -> None:
    words = [sys.executable, FOLDER / "elementwise.py", "BITWISE_AND", "CAST fp32, i8", "--rounds", "1"]
    done = subprocess.run(
        [*map(str, words), "--json", str(tmp_path / "elementwise.json")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((tmp_path / "elementwise.json").read_text())
    assert [line["name"] for line in found] == ["BITWISE_AND i8, i8", "CAST fp32, i8"]
    assert all(line["seconds"] > 0 and line["numpy"] > 0 for line in found)


def test_the_table_of_accuracies_tells_where_a_peer_is_nearer(module) -> None:
    module = module("accuracy")
    wanted = [np.array([3.0, 4.0]), np.array([0.0, 5.0])]
    assert module.sqnr(wanted, [np.array([3.0, 4.5]), np.array([0.5, 5.0])]) == pytest.approx(20.0)
    found = {"net": {"LiteRT": (20.0, 31.0), module.OURS: (21.0, 30.0), f"{module.OURS}, minmax": (40.0, np.nan)}}
    assert module.table(found) == [
        "| int8 | net: recorded input | other inputs |",
        "|---|---:|---:|",
        "| LiteRT | 20.00 | 31.00 |",
        "| tosa-engine | 21.00 | 30.00 |",
        "| tosa-engine, minmax | 40.00 | - |",
    ]
    assert module.behind(found) == ["net: LiteRT 31.00 dB on the other inputs, tosa-engine 30.00 dB"]
    found["net"][module.OURS] = np.nan, 32.0
    assert len(module.behind(found)) == 1  # no number is behind every number


def test_errors_of_elementary_functions(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    elementary = module("elementary")
    elementary.measure("EXP", 4099)
    assert re.fullmatch(
        r"EXP      0\.(49|50)\d+ at -?[\d.e-]+; \d\.\d of a million beyond 0\.5\n", capsys.readouterr().out
    )
    x = np.array([0, 0, 0, 100, 100, np.nan], np.float32)
    got = np.array([1, 1 + 2.0**-22, np.nan, np.inf, 3e38, np.nan], np.float32)
    assert elementary.units(got, [x], np.exp).tolist() == [0, 2, np.inf, 0, np.inf, 0]


def test_a_record_replaces_its_section_alone(module: Callable[[str], ModuleType], tmp_path: Path) -> None:
    pages, page = module("pages"), tmp_path / "RESULTS.md"
    page.write_text("# Measured\n\n## One\n\nold\n\n## Two\n\nkept\n")
    pages.record("One", "new", page)
    pages.record("Three", "more", page)
    assert page.read_text() == "# Measured\n\n## One\n\nnew\n\n## Two\n\nkept\n\n## Three\n\nmore\n"


def test_models_of_packages_have_samples_of_their_shapes(module: Callable[[str], ModuleType]) -> None:
    """Those that need no photograph; each package is one of ten."""
    models = module("package_models")
    assert len({model.package for model in models.MODELS}) == len(models.MODELS) == 10
    made = (models.waves, models.spectra, models.features, models.letters)
    for model in models.MODELS:
        if model.samples in made:
            for name, shape in model.shapes.items():
                sample = model.samples(np.random.default_rng(0), name, shape)
                assert sample.shape == shape
                assert np.isfinite(sample).all()


def test_layers_are_added_up(module: Callable[[str], ModuleType]) -> None:
    layers = module("layers")
    rows = [layers.Row("a", "CONV2D", 100, 5, 1, 2), layers.Row("b", "ADD", 300, 3, 0, 1)]
    assert layers.total(rows) == layers.Row("all layers", "", 400, 8, 1, 2)
    assert layers.markdown(rows).splitlines()[-1] == "| all layers |  | 400 | 8 | 99.750 % | 2 |"
    (row,) = [layers.Row("a", "CONV2D", 100, 5, 0, 1, 0)]
    assert layers.markdown([row]).splitlines()[-1] == "| all layers |  | 100 | 5 | 100.000 % | 1 | 0 |"


def test_the_overview_of_all_networks(module: Callable[[str], ModuleType], networks: Path, tmp_path: Path) -> None:
    """Ours alone, where no other runtime has the file; ratios and their means where one has."""
    overview = module("overview")
    found = list(overview.networks(networks.parent))
    assert {network.group for network in found} == {"tosa"}
    (mine,) = overview.contenders(found[0], tmp_path, set(), [])
    mine.rounds = [[0.002, 0.004], [0.001, 0.003]]
    other = overview.Times("peer", mine.run, [[0.004, 0.002], [0.008, 0.004]])
    alone, beside = (overview.Row(found[0], mine, one) for one in (None, other))
    assert (beside.ratio, beside.by_turn) == (0.5, (1 + 2 / 6) / 2)
    assert beside.cells()[1:] == ["1 ms", "2.5 ms", "peer", "2 ms", "4 ms", "0.50", "0.67"]
    assert overview.table([alone, beside])[-1] == "| **tosa, 1 networks** | | | | | | **0.50** | **0.67** |"
    assert overview.picture([alone, beside]).count("<rect") == 2


def test_skriptnd_before_a_network_runs(module: Callable[[str], ModuleType], tmp_path: Path, capsys: Any) -> None:
    skriptnd = module("skriptnd")
    for name, text in (("lowered", skriptnd.chain(20)), ("first_result", skriptnd.convolution())):
        path = tmp_path / f"{name}.sknd"
        path.write_text(text)
        skriptnd.WORK[name](path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" s, 23 operators of TOSA")
    assert len(lines) == 2


def test_checked_runs_of_all_networks(
    module: Callable[[str], ModuleType], networks: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A network is equal in every way to run it; one whose kernel is wrong is a fault."""
    checked = module("checked")
    assert checked.main([str(networks.parent), "residual.int8"]) == 0
    line, *_, summary = capsys.readouterr().out.splitlines()
    assert re.match(r"tosa \| residual.int8 \| \d+ \| all agree \| \d+ \| equal \|  \| ", line)
    assert summary.startswith("1 networks: 1 agree in every operator, 0 as far as the time went, 0 differ, ")
    right = oracle.run_operator
    monkeypatch.setattr(oracle, "run_operator", lambda *of: [array ^ array.dtype.type(1) for array in right(*of)])
    assert checked.main([str(networks.parent), "tosa"]) == 1
    assert "kernel and oracle of " in capsys.readouterr().out
    assert checked.relative(np.array([1.0, np.inf]), np.array([2.0, np.inf])) == 0.5
    assert checked.relative(np.array([1.0, np.nan]), np.array([2.0, 1.0])) == np.inf
