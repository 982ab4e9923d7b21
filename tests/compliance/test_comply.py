"""`tosa-engine comply`: engines with planted faults are found out, made small and named; a right one passes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from planted import FAULTS, UNREPORTED, Planted

from tosa_engine import cli
from tosa_engine.compliance.campaign import Budget, Campaign, Results, Settings, run
from tosa_engine.compliance.judge import Status
from tosa_engine.compliance.suite import Selection

if TYPE_CHECKING:
    from tosa_engine.compliance.campaign import Failure

# fault, what is enough to meet it, how many tests, what must be said of it
FOUND: list[tuple[str, tuple[str, ...], int, str]] = [
    ("negative_ties", ("RESCALE",), 12, "ties away from zero instead of SINGLE_ROUND"),
    ("one_channel", ("RESCALE",), 60, "multiplier off by one ([1] is"),
    ("pool_zero_point", ("AVG_POOL2D",), 8, "input zero point"),
    ("resize_off_by_one", ("RESIZE",), 7, "RESIZE: offset ["),
    ("hangs", ("MATMUL",), 30, "hangs on MATMUL("),
    ("unreported", ("CONCAT",), 40, f"{UNREPORTED} isn't reported"),
]
HERE = Path(__file__).parent


def tried(fault: str, operators: tuple[str, ...], tests: int, folder: Path, **more: Any) -> Results:
    settings = Settings(fault, Selection(operators), **more)
    return run(Campaign(settings, Budget(tests=tests), folder, door=Planted(fault)))


def first_of(results: Results, text: str) -> Failure:
    found = [failure for failure in results.failures if text in failure.cause]
    assert found, [failure.cause for failure in results.failures]
    return found[0]


@pytest.mark.parametrize(("fault", "operators", "tests", "text"), FOUND, ids=[one[0] for one in FOUND])
def test_a_planted_fault_is_found_and_named(
    fault: str, operators: tuple[str, ...], tests: int, text: str, tmp_path: Path
) -> None:
    results = tried(fault, operators, tests, tmp_path)
    assert not results.good
    failure = first_of(results, text)
    assert failure.operators == operators
    assert failure.elements <= 16
    assert (tmp_path / "failures" / failure.folder / "graph.tosa").is_file()


def test_faults_between_operators_are_found_in_chains(tmp_path: Path) -> None:
    from tosa_engine.compliance.campaign import work
    from tosa_engine.compliance.campaign.failures import explain

    settings, door = Settings("wraps_before_clamp"), Planted("wraps_before_clamp")
    found = work.work(settings, [f"graphs/chain/-/{n}" for n in range(4)], door)
    assert {one.status for one in found} > {Status.WRONG}
    (failure,) = explain(settings, found, tmp_path, door, None)
    assert failure.operators == ("RESCALE", "CLAMP")
    assert failure.elements <= 16
    assert "no saturation" in failure.cause


def test_all_faults_have_a_test() -> None:
    assert {one[0] for one in FOUND} | {"wraps_before_clamp"} == {*FAULTS, "unreported"}


def test_a_right_engine_passes(tmp_path: Path) -> None:
    """One of 41 tests of the first 6,000; INEXACT_ROUND, rules, graphs and floats are among them."""
    from itertools import islice

    from tosa_engine.compliance.campaign.work import work
    from tosa_engine.compliance.suite import schedule

    names = list(islice(schedule(Selection()), 0, 6000, 41))
    kinds = {(name.split("/")[2] if name[0] != "g" else name.split("/")[1]) for name in names}
    assert {"aimed", "drawn", "chain", "int", "float"} <= kinds
    found = work(Settings("unplanted"), names, Planted("unplanted"))
    assert [one for one in found if not one.status.good] == []


def test_the_same_seed_gives_the_same_file_after_a_kill(tmp_path: Path) -> None:
    whole = tried("pool_zero_point", ("AVG_POOL2D",), 9, tmp_path / "whole").data()
    tried("pool_zero_point", ("AVG_POOL2D",), 9, tmp_path / "cut")
    journal = tmp_path / "cut" / "journal.jsonl"
    lines = journal.read_text(encoding="utf-8").split("\n")
    journal.write_text("\n".join(lines[:5]) + '\n{"name": "RES', encoding="utf-8")  # as a kill leaves it
    settings = Settings("pool_zero_point", Selection(("AVG_POOL2D",)))
    campaign = Campaign(settings, Budget(tests=9), tmp_path / "cut", door=Planted("pool_zero_point"))
    assert run(campaign, resume=True).data() == whole


def test_a_budget_of_time_is_held_within_batches_and_while_shrinking(tmp_path: Path) -> None:
    class Slow(Planted):
        def run(self, graph: Any, feeds: Any) -> Any:
            time.sleep(0.1)
            return super().run(graph, feeds)

    begun = time.monotonic()
    campaign = Campaign(
        Settings("slow", Selection(("AVG_POOL2D",))), Budget(seconds=0.6), tmp_path, door=Slow("pool_zero_point")
    )
    results = run(campaign)
    assert time.monotonic() - begun < 1.5
    assert 1 <= len(results.records) <= 6


def test_what_an_engine_says_of_this_run_alone_is_left_out(tmp_path: Path) -> None:
    from tosa_engine.compliance.campaign.work import one
    from tosa_engine.compliance.doors import Answer, Ending

    class Dying(Planted):
        def run(self, graph: Any, feeds: Any) -> Any:
            return Answer(
                Ending.CRASH, "at 0x7fff50f73cf8 of process 19996: /tmp/tosa-comply-p2yvj_cy/graph.tosa:0:0: error 17"
            )

    found = one(Settings("dying"), "ADD/i32/aimed/0", Dying("unplanted"))
    assert found.text == "at ... of process ...: .../graph.tosa:0:0: error 17"


ENGINE = """
import sys, time
from tosa_engine import check, oracle, serialize

def right(path, feeds):
    graph = serialize.read(path)
    check.validate(graph)
    return oracle.run(graph, feeds)

def hanging(path, feeds):
    time.sleep(99)

def dying(path, feeds):
    import os
    os._exit(9)

def lacking(path, feeds):
    raise NotImplementedError("no such operator")

def hungry(path, feeds):
    return bytearray(1 << 40)

if __name__ == "__main__":
    import json, numpy
    from pathlib import Path
    graph, inputs, outputs = map(Path, sys.argv[1:])
    read = serialize.read(graph)
    feeds = {}
    for t in read.inputs:
        feeds[t.name] = numpy.frombuffer((inputs / (t.name + ".bin")).read_bytes(), t.dtype.storage).reshape(t.shape)
    try:
        for name, array in right(graph, feeds).items():
            (outputs / (name + ".bin")).write_bytes(array.tobytes())
    except Exception as error:
        sys.exit({"RequireViolation": 1}.get(type(error).__name__, 2))
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of engines, which is the working folder."""
    (tmp_path / "mydut.py").write_text(ENGINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def comply(*words: str) -> int:
    return cli.main(["comply", *words])


def test_a_program_and_its_page_of_results(engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"{sys.executable} mydut.py {{graph}} {{inputs}} {{outputs}}"
    code = comply("--engine", command, "--files", "bin", "--operators", "ADD", "--budget", "3", "-o", "out")
    assert code == 0, capsys.readouterr().err
    assert "3 tests: 3 passed; see out/index.html" in capsys.readouterr().out
    assert {path.name for path in Path("out").iterdir()} == {
        "coverage.json", "index.html", "journal.jsonl", "junit.xml", "results.json", "results.md",
    }  # fmt: skip
    assert json.loads(Path("out/results.json").read_text())["coverage"]["rows"] == {"seen": 5, "there": 389}
    page = Path("out/index.html").read_text(encoding="utf-8")
    assert "<h2>Coverage</h2>" in page
    assert "5 of 389" in page
    assert ET.parse("out/junit.xml").getroot().find("testsuite").attrib["tests"] == "3"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("function", "status"),
    [("hanging", "hung"), ("dying", "crashed"), ("lacking", "not covered"), ("hungry", "too much memory")],
)
def test_bad_ends_are_verdicts_of_their_own(function: str, status: str, engine: Path) -> None:
    """In one process that is started again after each of them."""
    from tosa_engine.compliance.campaign.work import one
    from tosa_engine.compliance.doors import Limits, open_door

    settings = Settings(f"mydut:{function}", limits=Limits(seconds=0.2, memory=4 << 30, start=20))
    door = open_door(settings.engine, engine / "files", limits=settings.limits)
    try:
        if function == "hanging":
            door.limits = Limits(seconds=2.5, start=0)  # type: ignore[attr-defined]
        assert one(settings, "ADD/i32/aimed/0", door).status.value == status
    finally:
        door.close()


@pytest.mark.slow("three campaigns")
def test_failures_are_told_and_a_baseline_forgives_them(engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (engine / "off.py").write_text(
        "import mydut\ndef run(path, feeds):\n    found = mydut.right(path, feeds)\n"
        "    return {name: array + 1 for name, array in found.items()}\n"
    )
    words = ["--engine", "off:run", "--operators", "BITWISE_NOT", "--budget", "3", "-o", "out"]
    assert comply(*words) == 1
    said = capsys.readouterr().out
    assert "BITWISE_NOT: wrong" in said
    assert "probably: results one too large" in said
    page = Path("out/index.html").read_text(encoding="utf-8")
    assert "results one too large" in page
    assert "src=" not in page
    Path("out/results.json").rename("before.json")
    assert comply(*words, "--baseline", "before.json") == 0
    assert "0 new failures, 0 gone" in capsys.readouterr().out


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_all_and_keeps_what_is_done(engine: Path, sent: signal.Signals, code: int) -> None:
    words = [sys.executable, "-m", "tosa_engine.cli", "comply", "--engine", "mydut:right", "--budget", "100000"]
    child = subprocess.Popen(
        [*words, "--operators", "ADD", "-o", "out"], stderr=subprocess.DEVNULL, start_new_session=True
    )
    journal, until = Path("out/journal.jsonl"), time.monotonic() + 30
    while time.monotonic() < until and (not journal.exists() or journal.read_text().count("\n") < 9):
        time.sleep(0.05)
    os.kill(child.pid, sent)
    assert child.wait(20) == code
    with pytest.raises(ProcessLookupError):  # the engine's process has ended, too
        os.killpg(child.pid, 0)
    assert all(json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines())


@pytest.mark.slow("two workers of dask are started")
def test_two_workers_of_dask_give_the_same_file(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(engine))
    words = ["--engine", "mydut:right", "--operators", "CLZ", "CONCAT", "--budget", "40"]
    assert comply(*words, "-o", "here") == 0
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        assert comply(*words, "-o", "there", "--workers", f"dask:{cluster.scheduler_address}") == 0
    assert Path("here/results.json").read_text() == Path("there/results.json").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--engine says what is tested"),
        (["--engine", "mydut"], "names no file"),
        (["--engine", "mydut:right", "--operators", "FOO"], "no operator FOO"),
        (["--engine", "mydut:right", "--rows", "foo"], "no row foo"),
        (["--engine", "mydut:right", "--budget", "soon"], "not 'soon'"),
        (["--engine", "mydut:right", "--workers", "slurm"], "is not dask, dask:PROCESSES"),
        (["--engine", "mydut:right", "--known", "nothing"], "no list of known differences"),
        (["--engine", "mydut:right", "--resume"], "there is no"),
    ],
)
def test_wrong_calls(words: list[str], message: str, engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert comply(*words) == 2
    assert message in capsys.readouterr().err


def test_folders_for_arms_runner(tmp_path: Path) -> None:
    """Arm's runner reads such folders (docs/comply.md)."""
    from tosa_engine.compliance import ENGINES, Description, run_test
    from tosa_engine.target import Target

    words = ["--operators", "RESCALE", "CONCAT", "--profile", "PRO-INT", "--extension", "EXT-INEXACTROUND"]
    assert comply("--write", str(tmp_path), "--budget", "60", *words) == 0
    found = sorted(tmp_path.rglob("desc.json"))
    assert len(found) > 40
    kinds = set()
    for path in found:
        description = Description.read(path)
        said = json.loads(path.read_text(encoding="utf-8"))
        verdict = run_test(description, ENGINES["oracle"], Target()).verdict
        assert verdict is not None
        assert (verdict.value == "error") is said["expected_failure"]
        kinds |= {tensor["mode"] for tensor in said.get("meta", {}).get("compliance", {}).get("tensors", {}).values()}
    assert kinds == {"EXACT", "RESCALE_INEXACT"}
    assert comply("--write", str(tmp_path), "--budget", "1m") == 2


def test_the_drop_in_has_the_reference_models_files_and_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import numpy as np

    from tosa_engine import serialize
    from tosa_engine.compliance.reference import main
    from tosa_engine.compliance.suite import make

    for name, code in (("ADD/-/ADD.R1/at", 0), ("ADD/-/ADD.R1/beyond", 1), ("ADD/i32/ADD.E1/error", 2)):
        test = make(name, 0)
        serialize.write(test.graph, tmp_path / "test.tosa")
        names = test.graph.main.inputs
        for one in names:
            np.save(tmp_path / f"{one}.npy", test.feeds[one])
        description = {
            "tosa_file": "test.tosa", "ifm_name": names, "ifm_file": [f"{one}.npy" for one in names],
            "ofm_name": ["output"], "ofm_file": ["out.npy"], "expected_failure": False,
        }  # fmt: skip
        (tmp_path / "desc.json").write_text(json.dumps(description), encoding="utf-8")
        words = ["--tosa_level", "EIGHTK", "--operator_fbs", "tosa.fbs", "--test_desc", str(tmp_path / "desc.json")]
        assert main(words) == code
        files = ",".join(f"{one}.npy" for one in names)
        flags = ["--tosa_file", "test.tosa", "--ifm_name", ",".join(names), "--ifm_file", files, "--ofm_name", "output"]
        folders = ["--ofm_file", "flags.npy", "--flatbuffer_dir", str(tmp_path), "--output_dir", str(tmp_path)]
        assert main([*flags, *folders]) == code
    assert (np.load(tmp_path / "out.npy") == np.load(tmp_path / "flags.npy")).all()
    assert main(["--test_desc", str(tmp_path / "nothing.json")]) == 3
    assert main([]) == 3
    assert "no graph" in capsys.readouterr().err


def test_the_drop_in_writes_the_bounds_of_inexact_round(tmp_path: Path) -> None:
    """With --precise_mode 1, as Arm's runner asks it: least and greatest; both ends by the exact interval."""
    import numpy as np

    from tosa_engine import serialize
    from tosa_engine.builder import Builder
    from tosa_engine.compare.rounding import inexact_interval
    from tosa_engine.compliance.reference import main
    from tosa_engine.types import i8, i32

    values = np.array([4, -4, 6, 2**31 - 1, -(2**31), 20, 3, 1003], np.int32)
    multiplier, shift, zero = 1 << 30, 33, -3
    made = Builder()
    numbers = [
        np.array([multiplier], np.int32),
        np.array([shift], np.int8),
        np.zeros(1, np.int32),
        np.array([zero], np.int8),
    ]
    modes = {"scale32": True, "rounding_mode": "INEXACT_ROUND", "per_channel": False}
    signs = {"input_unsigned": False, "output_unsigned": False}
    made.output(
        made.op("RESCALE", made.input(i32, (8,), "input"), *numbers, dtype=i8, output="output", **modes, **signs)
    )
    serialize.write(made.graph(), tmp_path / "test.tosa")
    np.save(tmp_path / "input.npy", values)
    description = {
        "tosa_file": "test.tosa", "ifm_name": ["input"], "ifm_file": ["input.npy"], "ofm_name": ["output"],
        "ofm_file": ["result.npy"], "test_requirements": {"bounds_file_required": True},
    }  # fmt: skip
    (tmp_path / "desc.json").write_text(json.dumps(description), encoding="utf-8")
    assert main(["--test_desc", str(tmp_path / "desc.json"), "--precise_mode", "1"]) == 0
    ends = np.clip([inexact_interval(int(value), multiplier, shift, zero) for value in values], -128, 127).tolist()
    assert np.load(tmp_path / "result.npy").tolist() == [least for least, _ in ends]
    assert np.load(tmp_path / "bounds_result.npy").tolist() == [most for _, most in ends]
    assert main(["--test_desc", str(tmp_path / "desc.json")]) == 0
    assert np.load(tmp_path / "result.npy").tolist() != [least for least, _ in ends]


def test_products_below_the_normal_numbers_are_known_of_the_reference_model() -> None:
    """What an hour of `comply` found; the same difference without such a product isn't explained."""
    import numpy as np

    from tosa_engine.builder import Builder
    from tosa_engine.compliance.judge import Judgement, Status
    from tosa_engine.compliance.known import REFERENCE_MODEL
    from tosa_engine.types import fp32

    made = Builder()
    made.output(
        made.op("REDUCE_PRODUCT", made.input(fp32, (1, 4), "input"), axis=1, nan_mode="PROPAGATE", output="output")
    )
    found = Judgement(Status.WRONG, "1 of 1 elements", "", "output")
    for first, why in ((2.0**-149, "underflow in REDUCE_PRODUCT"), (2.0**-100, "")):
        feeds = {"input": np.array([[first, -12885.774, -0.75303376, -6567.252]], np.float32)}
        assert REFERENCE_MODEL.explains(made.graph(), feeds, found) == why


@pytest.mark.slow("the commands of a page")
def test_the_ten_lines_from_a_binary_to_a_page(
    engine: Path, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines of docs/comply.md as they stand there, but for a shorter budget."""
    import re
    import shlex

    program = engine / "mydut"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {engine / "mydut.py"} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{engine}{os.pathsep}{os.environ['PATH']}")
    text = (root / "docs" / "comply.md").read_text(encoding="utf-8")
    lines = re.findall(
        r"^    (\S.*)$", text.split("## From a binary to a page of results")[1].split("\n## ")[0], re.MULTILINE
    )
    assert len(lines) <= 10
    assert lines[0].split("#")[0].split() == ["mydut", "GRAPH.tosa", "INPUTS", "OUTPUTS"]
    assert lines[1] == "pip install tosa-engine"
    _, *words = shlex.split(lines[2])
    words[words.index("10m")] = "2"
    assert cli.main(words) == 0, capsys.readouterr().err
    assert Path(lines[3].split()[1]).is_file()
    assert len(lines) == 4
