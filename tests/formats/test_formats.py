"""The door for models: formats that are added from outside work with every verb; each model is read once."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import toy_format

from tosa_engine import formats, frontends, load, plugins, serialize
from tosa_engine.builder import Builder
from tosa_engine.errors import UsageError
from tosa_engine.formats import registry
from tosa_engine.types import i32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Outcome

    Command = Callable[..., Outcome]

ROOT = Path(__file__).parents[2]


def forget() -> None:
    plugins._all.cache_clear()
    registry._own.cache_clear()
    registry._added.cache_clear()


@pytest.fixture
def found_anew() -> Iterator[None]:
    """What a test adds is forgotten after it."""
    forget()
    yield
    forget()


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **entries: str) -> None:
    """A distribution with entry points for formats, as pip leaves it."""
    folder = tmp_path / "installed" / "toys-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
    (folder / "entry_points.txt").write_text(f"[{formats.GROUP}]\n{lines}")
    monkeypatch.syspath_prepend(str(folder.parent))
    forget()


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found_anew: None) -> Path:
    """A toy model; its format comes through an entry point."""
    install(tmp_path, monkeypatch, toy="toy_format:FORMAT")
    path = tmp_path / "net.toy"
    path.write_text("chains 3 4 2\n")
    rng = np.random.default_rng(1)
    np.save(tmp_path / "x.npy", rng.standard_normal((1, 2, 2, 3)).astype(np.float32))
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((4, 2, 2, 3)).astype(np.float32))
    toy_format.READS.clear()
    return path


def done(outcome: Outcome) -> str:
    assert outcome.code == 0, outcome.err
    return outcome.out


def test_a_format_from_an_entry_point_works_with_the_verbs_that_read(toy: Path, command: Command) -> None:
    folder = toy.parent
    assert "a .tosa or a .json file, a .toy file" in " ".join(done(command("check", "--help")).split())
    assert done(command("check", toy)).splitlines() == [
        "toy step 1, words: 4 words",
        f"{toy}: no problem; operators: 12; target: all profiles and extensions, level 8K",
    ]
    assert done(command("check", toy, "--backwards")) == "2 4 3 chains\n"
    assert "MACs       80" in done(command("inspect", toy))
    assert "MACs       320" in done(command("inspect", toy, "--toy-size", "4x4"))
    assert done(command("convert", toy, "-o", folder / "turned.toy", "--turned")) == (
        f"{folder / 'turned.toy'}: 4 words\n"
    )
    assert (folder / "turned.toy").read_text() == "2 4 3 chains\n"
    done(command("convert", toy, "-o", folder / "net.tosa"))
    done(command("run", toy, "-i", folder / "x.npy", "-o", folder / "y.npz"))
    for model in (toy, folder / "net.tosa"):
        assert done(command("run", model, "-i", folder / "x.npy", "--expect", folder / "y.npz")).startswith("EQUAL")
    turned = command("run", toy, "-i", folder / "x.npy", "--expect", folder / "y.npz", "--upside-down", "yes")
    assert turned.code == 1
    assert command("compare", toy, folder / "net.tosa", "-i", folder / "x.npy").code == 0
    warm = command("warmup", toy)
    assert warm.code == 0, warm.err


def test_a_format_from_an_entry_point_works_with_the_verbs_that_quantize(toy: Path, command: Command) -> None:
    folder = toy.parent
    data = ("--data", folder / "data.npz")
    kept = ("--statistics", folder / "s.json")
    done(command("calibrate", toy, *data, *kept, "-o", folder / "toy.quant"))
    for flags in (("--quant", folder / "toy.quant"), kept, data):
        done(command("quantize", toy, *flags, "-o", folder / "int.tosa"))
        assert any(t.dtype.name == "i8" for t in serialize.read(folder / "int.tosa").main.tensors.values())
    done(command("report", toy, folder / "int.tosa", *data, "-o", folder / "r.json"))
    assert "SQNR" in done(command("compare", toy, folder / "int.tosa", *data))
    assert "all layers in int8" in done(command("sensitivity", toy, *kept, *data))
    assert "layers" in done(command("search", toy, *kept, *data, "--sqnr", "5"))
    refused = command("quantize", toy, "-o", folder / "int.tosa")
    assert refused.err == (
        f"error: '{toy}' has no graph.quant inside: give one with --quant (calibrate makes one), or samples with "
        "--data\n"
    )


def test_a_command_opens_a_model_once(toy: Path, command: Command) -> None:
    folder = toy.parent
    data = ("--data", folder / "data.npz")
    kept = ("--statistics", folder / "s.json")
    done(command("calibrate", toy, *data, *kept, "-o", folder / "toy.quant"))
    done(command("quantize", toy, "--quant", folder / "toy.quant", "-o", folder / "int.tosa"))
    toy_format.READS.clear()
    lines: list[tuple[Any, ...]] = [
        ("check", toy), ("inspect", toy), ("convert", toy, "-o", folder / "net.tosa"),
        ("run", toy, "-i", folder / "x.npy"), ("calibrate", toy, *data, "-o", folder / "again.quant"),
        ("quantize", toy, "--quant", folder / "toy.quant", "-o", folder / "again.tosa"),
        ("quantize", toy, *kept, "-o", folder / "again.tosa"), ("quantize", toy, *data, "-o", folder / "again.tosa"),
        ("report", toy, folder / "int.tosa", *data, "-o", folder / "r.json"),
        ("compare", toy, folder / "int.tosa", "-i", folder / "x.npy"), ("sensitivity", toy, *kept, *data),
        ("search", toy, *kept, *data, "--sqnr", "5"),
    ]  # fmt: skip
    for line in lines:
        done(command(*line))
        assert toy_format.READS == [toy], line
        toy_format.READS.clear()


def test_a_package_among_the_front_ends_is_a_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found_anew: None
) -> None:
    """One folder, and nothing else."""
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "__init__.py").write_text("")
    (tmp_path / "shapes" / "format.py").write_text("from toy_format import FORMAT\n")
    monkeypatch.setattr(frontends, "__path__", [*frontends.__path__, str(tmp_path)])
    forget()
    (tmp_path / "net.toy").write_text("chains 3 2")
    try:
        assert [one.name for one in formats.formats()] == [
            "Common IR",
            "NNEF",
            "ONNX",
            "toy",
            "SkriptND",
            "StableHLO",
            "TFLite",
            "TOSA",
        ]
        assert load.load(tmp_path / "net.toy", upside_down=True).inputs[0].shape == (1, 2, 2, 3)
    finally:
        for name in [n for n in sys.modules if n.startswith("tosa_engine.frontends.shapes")]:
            del sys.modules[name]


def test_a_format_that_cannot_be_used_is_named_where_it_may_be_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, found_anew: None
) -> None:
    install(tmp_path, monkeypatch, gone="no_such_module:FORMAT", odd="toy_format:READS")
    model = tmp_path / "net.gone"
    model.write_text("")
    found = command("inspect", model)
    assert found.code == 2
    assert found.err == (
        f"error: can't tell what '{model}' is by its name: a model is a .cir.json file, an .nnef folder, "
        "an .nnef.tgz or .tar, an .onnx file, an .nnef2 folder or archive, a .sknd file, "
        "an .mlir, .mlirbc, .jax, .hlo or .pb file, a .tflite file, "
        "a .tosa or a .json file; "
        "the format 'gone' (no_such_module:FORMAT) can't be imported: "
        "No module named 'no_such_module'; the format 'odd' (toy_format:READS) is no tosa_engine.formats.Format\n"
    )


def test_a_name_of_our_own_formats_needs_no_entry_points(tmp_path: Path) -> None:
    """Looking for them takes longer than opening a small model; a suffix of ours stays ours."""
    builder, model = Builder(), tmp_path / "net.tosa"
    builder.output(builder.op("ABS", builder.input(i32, (3,))))
    formats.write_graph(builder.graph(), model)
    code = "from tosa_engine.load import load; load(sys.argv[1]); print('importlib.metadata' in sys.modules)"
    line = [sys.executable, "-c", f"import sys; {code}", str(model)]
    assert subprocess.run(line, check=True, capture_output=True, text=True).stdout == "False\n"


def test_two_formats_with_one_suffix_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy: Path
) -> None:
    other = formats.Format("game", "a .toy file", (".toy",), toy_format._open)
    before = formats.formats()
    monkeypatch.setattr(registry, "formats", lambda: (*before, other))
    with pytest.raises(UsageError, match=r"'net\.toy' may be a toy or a game model: both end like that"):
        formats.format_of(toy)


def test_a_flag_that_a_verb_has_already_is_refused(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    clash = formats.Format(
        "game", "a .game file", (".game",), toy_format._open, options=(formats.Option("format", ""),)
    )
    before = formats.formats()
    monkeypatch.setattr(registry, "formats", lambda: (*before, clash))
    assert command("inspect", "x.game").err == (
        "error: the command 'inspect' (tosa_engine.commands.inspect:command) and its formats: argument --format: "
        "conflicting option string: --format\n"
    )


def test_options_are_those_of_the_format(toy: Path, command: Command) -> None:
    with pytest.raises(UsageError, match="a toy model has no option 'wide'; its options: toy_size, upside_down"):
        formats.open_model(toy, wide=True)
    assert command("check", toy, "--strict").err == "error: --strict needs an NNEF model\n"
    assert command("check", toy, "--flat").err == "error: --flat needs an NNEF model\n"
    assert command("convert", toy, "-o", toy, "--primitive").err == "error: --primitive needs an NNEF output\n"
    assert command("inspect", toy, "--toy-size", "wide").code == 2


# NNEF


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often texts are parsed, and files of folders read."""
    from tosa_engine.frontends.nnef import source
    from tosa_engine.frontends.nnef.files import container, quantfile

    count: Counter[str] = Counter()

    def watch(where: Any, name: str) -> None:
        real = getattr(where, name)

        def counting(*args: Any) -> Any:
            count[name] += 1
            return real(*args)

        monkeypatch.setattr(where, name, counting)

    watch(source, "open_container")
    watch(source, "parse_document")
    watch(quantfile, "parse_quant")
    real = container.Folder._read

    def reading(self: Any, name: str) -> bytes:
        count[name] += 1
        return real(self, name)

    monkeypatch.setattr(container.Folder, "_read", reading)
    return count


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Its graph.quant has scales that are upside down."""
    from tosa_engine.frontends import nnef

    folder = tmp_path / "model.nnef"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in ("w1", "w2"):
        (folder / f"{name}.dat").write_bytes(nnef.write_dat((rng.standard_normal((4, 4, 1, 1)) * 0.1).astype("f4")))
    (folder / "graph.nnef").write_text(
        "version 1.0;\ngraph g(x) -> (y)\n{\n x = external(shape = [1,4,4,4]);\n w1 = variable(shape=[4,4,1,1], "
        "label='w1');\n w2 = variable(shape=[4,4,1,1], label='w2');\n a = conv(x, w1);\n y = conv(a, w2);\n}\n"
    )
    scales = {"x": 50.0, "w1": 400.0, "w2": 400.0, "a": 60.0, "y": 70.0}
    kind = "zero_point_linear_quantize(zero_point = 0, scale = {}, bits = 8, signed = true, symmetric = true)"
    (folder / "graph.quant").write_text("".join(f'"{n}": {kind.format(s)};\n' for n, s in scales.items()))
    np.savez(tmp_path / "x.npz", x=rng.standard_normal((4, 4, 4, 4)).astype("f4"))
    return folder


YES = ("--inverted-scales", "yes")


def verbs(document: Path, command: Command) -> list[tuple[Any, ...]]:
    """Command lines of all verbs that read a document, with what they need."""
    folder = document.parent
    data, kept = ("--data", folder / "x.npz"), ("--statistics", folder / "s.json")
    done(command("calibrate", document, *YES, *data, *kept, "-o", folder / "g.quant"))
    done(command("quantize", document, *YES, "-o", folder / "int.tosa"))
    return [
        ("check", document), ("inspect", document), ("convert", document, "-o", folder / "net.tosa"),
        ("calibrate", document, *data, "-o", folder / "g.quant"),
        ("quantize", document, "-o", folder / "o.tosa"),
        ("quantize", document, *kept, "-o", folder / "o.tosa"),
        ("quantize", document, *data, "-o", folder / "o.tosa"),
        ("report", document, folder / "int.tosa", *data, "-o", folder / "r.json"),
        ("compare", document, folder / "int.tosa", *data),
        ("sensitivity", document, *kept, *data),
        ("search", document, *kept, *data, "--sqnr", "5"),
    ]  # fmt: skip


def test_every_verb_reads_inverted_scales_as_it_is_told(document: Path, command: Command) -> None:
    for line in verbs(document, command):
        refused = command(*line)
        assert refused.code == 6, line
        assert "'--inverted-scales yes' reads them like that" in refused.err
        done(command(*line, *YES))


def test_every_verb_reads_and_parses_a_document_once(
    document: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = verbs(document, command)
    count = counted(monkeypatch)
    for line in lines:
        count.clear()
        done(command(*line, *YES))
        files = ("graph.nnef", "graph.quant", "w1.dat", "w2.dat")
        assert count == Counter(("open_container", "parse_document", "parse_quant", *files)), line


# the house


def names_nnef(source: str) -> list[int]:
    """The lines of code, comments left out, that name NNEF."""
    tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        words = [getattr(node, key, None) for key in ("id", "attr", "name", "arg", "module", "value")]
        if any(isinstance(word, str) and "nnef" in word.lower() for word in words):
            found.append(getattr(node, "lineno", 0))
    return found


def test_only_its_front_end_names_nnef() -> None:
    """SkriptND is NNEF 2.0, and its tensor files are those of NNEF 1."""
    homes = {ROOT / "tosa_engine" / "frontends" / name for name in ("nnef", "skriptnd")}
    for package in ("tosa_engine", "quant", "lut"):
        for path in (ROOT / package).rglob("*.py"):
            if homes.isdisjoint(path.parents):
                assert not names_nnef(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("source", ["from a.nnef import b", "x = '.nnef'", "nnef.load()", "def f(nnef): ..."])
def test_a_name_is_found(source: str) -> None:
    assert names_nnef(source)
