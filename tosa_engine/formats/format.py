"""What a format says of itself before a model is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ..graph import Graph, QParams
    from .source import Source


@dataclass(frozen=True, eq=False)
class Option:
    """Something to say about a model: `--two-words` on the command line, the keyword `two_words` in Python.

    With `words`, one of them follows the flag; each stands for a value, the first is the default. With `parse`, any
    text follows, and `parse` makes the value of it (None without the flag); it raises ValueError for what is wrong.
    With neither the flag stands alone.
    """

    name: str
    help: str
    words: Mapping[str, Any] = field(default_factory=dict)
    parse: Callable[[str], Any] | None = None
    metavar: str | None = None
    verbs: tuple[str, ...] = ()  # that have the flag; none named: all that open a model
    needs: str = ""  # another option, without which this one says nothing
    repeated: bool = False  # with `parse`: the flag may be given several times, the value is a list

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class HintFile:
    """A file of QParams by tensor name. `read` takes its path and the options of the format."""

    name: str
    suffix: str
    read: Callable[..., Mapping[str, QParams]]
    write: Callable[[Mapping[str, QParams], Path], None]


@dataclass(frozen=True)
class Bridge:
    """A way from a model of one format to a file, without a graph: `write` says in words what was written."""

    source: str  # the name of the model's format
    suffix: str
    write: Callable[[Source, Path], str]
    options: tuple[str, ...] = ()  # of the source's format that tell what is written


@dataclass(frozen=True)
class Format:
    """A format of models. `open` takes a path and, as keywords, the `options`; it imports the front end."""

    name: str
    help: str  # for people, with an article: "a .tosa or a .json file"
    suffixes: tuple[str, ...]
    open: Callable[..., Source]
    article: str = "a"
    folder: str = ""  # the file that makes a folder a model of this format
    options: tuple[Option, ...] = ()
    group: str = "the model"  # the title under which --help shows the options
    writes: tuple[str, ...] = ()  # suffixes of what `convert` can write
    write: Callable[[Graph, Path], None] | None = None  # any graph; without it only `Source.rewrite` writes
    rewriting: tuple[Option, ...] = ()  # of `Source.rewrite`
    listing: tuple[Option, ...] = ()  # of `check`: print `Source.listing` instead
    hints: HintFile | None = None
    bridges: tuple[Bridge, ...] = ()

    @property
    def called(self) -> str:
        return f"{self.article} {self.name}"

    def matches(self, name: str) -> int:
        """The length of the suffix that a file's name has; 0 where it has none of them."""
        return max((len(suffix) for suffix in self.suffixes if name.endswith(suffix)), default=0)

    def source(self, path: Path, options: Mapping[str, Any]) -> Source:
        """Open a model; options of other formats are passed over."""
        return self.open(path, **self.own(options))

    def own(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {option.name: options[option.name] for option in self.options if option.name in options}
