"""The syntax tree of SkriptND (section 2 of the draft): expressions, declarations, statements, operators, modules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ....errors import ParseError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Place(NamedTuple):
    """Line and column, from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Text:
    """A module's file, for errors that show its lines."""

    file: str
    lines: Sequence[str]

    def error(self, message: str, place: Place, label: str = "") -> ParseError:
        line = self.lines[place.line - 1] if 0 < place.line <= len(self.lines) else ""
        return ParseError(message, file=self.file, line=place.line, column=place.column, source_line=line, label=label)

    def unsupported(self, message: str, place: Place) -> Unsupported:
        return Unsupported(f"{self.file}:{place.line}:{place.column}: {message}")


@dataclass(slots=True)
class Expression:
    place: Place


@dataclass(slots=True)
class Literal(Expression):
    value: Any


@dataclass(slots=True)
class Formatted(Expression):
    """A string with expressions in braces."""

    parts: tuple[str | Expression, ...]


@dataclass(slots=True)
class Name(Expression):
    text: str


@dataclass(slots=True)
class Member(Expression):
    """`x.shape`, `x.rank` or `x.size`."""

    name: str
    what: str


@dataclass(slots=True)
class Default(Expression):
    """`int()`: the default value of a type."""

    type: str


@dataclass(slots=True)
class List(Expression):
    items: tuple[Expression, ...]


@dataclass(slots=True)
class Range(Expression):
    """In a list or between the brackets of an index; what is left out is None."""

    first: Expression | None
    last: Expression | None
    step: Expression | None


@dataclass(slots=True)
class Expand(Expression):
    """`x..` or `x..(n)`."""

    value: Expression
    count: Expression | None


@dataclass(slots=True)
class Zip(Expression):
    """`(a, b)..`"""

    items: tuple[Expression, ...]


@dataclass(slots=True)
class Bounded(Expression):
    """`|i|` or `|i <> low : high|`."""

    index: Expression
    low: Expression | None
    high: Expression | None


@dataclass(slots=True)
class Subscript(Expression):
    """Of a pack or a tensor. `open`: a comma follows the last index, as the access to a tensor of rank 1 has it."""

    value: Expression
    items: tuple[Expression, ...]
    open: bool


@dataclass(slots=True)
class Substitute(Expression):
    """`a[i] <- b`"""

    target: Subscript
    value: Expression


@dataclass(slots=True)
class Unary(Expression):
    """`+`, `-`, `!`, and `?` for the test of null."""

    op: str
    value: Expression


@dataclass(slots=True)
class Binary(Expression):
    """Operators in the branch's spelling: `<?` and `>?` are minimum and maximum; `is` and `in` are among them."""

    op: str
    left: Expression
    right: Expression


@dataclass(slots=True)
class Fold(Expression):
    value: Expression
    op: str
    cumulative: bool


@dataclass(slots=True)
class Select(Expression):
    condition: Expression
    yes: Expression
    no: Expression | None


@dataclass(slots=True)
class Coalesce(Expression):
    value: Expression
    fallback: Expression


@dataclass(slots=True)
class Call(Expression):
    """A cast, or a built-in function."""

    function: str
    argument: Expression


@dataclass(slots=True)
class Extent:
    """One item of a shape. `value` is None for `~`; `bound` is what may follow `|`."""

    place: Place
    value: Expression | None
    own: bool = False  # `..n`: of every item of a pack its own
    bound: Expression | None = None
    packed: bool = False
    length: Expression | None = None
    static: bool = False
    most: Expression | None = None  # of the length
    length_word: str = ""


@dataclass(slots=True)
class TypeSpec:
    place: Place
    name: str
    optional: bool = False
    tensor: bool = False
    shape: tuple[Extent, ...] | None = None
    rank: Expression | None = None  # of `^(rank)`
    packed: bool = False
    length: Expression | None = None
    bound: Expression | None = None  # of the length
    word: str = ""  # dynamic or static
    length_word: str = ""


@dataclass(slots=True)
class Declaration:
    place: Place
    name: str
    type: TypeSpec
    default: Expression | None = None
    bounds: tuple[tuple[str, Expression], ...] = ()


@dataclass(slots=True)
class TypeDeclaration:
    place: Place
    name: str
    base: str
    default: str | None


@dataclass(slots=True)
class Target:
    """What stands on the left side of `=`: a name, `~` (no name), or a list of targets."""

    place: Place
    name: str = ""
    packed: bool = False
    length: Expression | None = None
    most: Expression | None = None  # of the length
    length_word: str = ""
    items: tuple[Target, ...] | None = None
    zipped: bool = False
    type: TypeSpec | None = None


@dataclass(slots=True)
class Using:
    place: Place
    target: Target
    value: Expression


@dataclass(slots=True)
class Assertion:
    place: Place
    condition: Expression
    message: Expression | None = None
    shown: tuple[tuple[str | None, Expression], ...] = ()
    text: str = ""


@dataclass(slots=True)
class Lowering:
    place: Place
    locals: tuple[tuple[str, Expression], ...]
    target: Subscript
    op: str
    value: Expression
    bounds: tuple[tuple[str, Expression], ...]
    condition: Expression | None = None
    unroll: tuple[str, Expression] | None = None


@dataclass(slots=True)
class Invocation:
    place: Place
    operator: str
    types: tuple[str, ...] = ()
    attributes: Mapping[str, Expression] = field(default_factory=dict)
    arguments: tuple[Expression | None, ...] = ()  # None for `~`
    label: str = ""


@dataclass(slots=True)
class BlockOf:
    """`{ ... yield x; }`"""

    place: Place
    components: tuple[Component, ...]
    results: tuple[Expression, ...]
    label: str = ""


@dataclass(slots=True)
class Branch:
    """`if c then a elif d then b else e`"""

    place: Place
    conditions: tuple[Step, ...]
    branches: tuple[Step, ...]  # one more


@dataclass(slots=True)
class Loop:
    place: Place
    carried: tuple[tuple[str, TypeSpec | None, Expression], ...]
    scanned: tuple[tuple[str, Expression], ...]
    condition: Step | None
    after: bool  # the condition is asked behind the body
    index: str
    count: Expression | None
    unroll: bool
    body: Step


Step = Invocation | BlockOf | Branch | Loop | Expression


@dataclass(slots=True)
class Component:
    place: Place
    targets: tuple[Target, ...]
    value: Step


@dataclass(slots=True)
class Quantization:
    place: Place
    tensor: str
    invocation: Invocation


@dataclass(slots=True)
class Operator:
    place: Place
    name: str
    text: Text
    module: str = ""
    graph: bool = False
    public: bool = False
    types: list[TypeDeclaration] = field(default_factory=list)
    attributes: list[Declaration] = field(default_factory=list)
    inputs: list[Declaration] = field(default_factory=list)
    outputs: list[Declaration] = field(default_factory=list)
    constants: list[Declaration] = field(default_factory=list)
    variables: list[Declaration] = field(default_factory=list)
    using: list[Using] = field(default_factory=list)
    asserts: list[Assertion] = field(default_factory=list)
    lowerings: list[Lowering] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)
    updates: list[Component] = field(default_factory=list)
    quantizations: list[Quantization] = field(default_factory=list)
    blocks: dict[str, Place] = field(default_factory=dict)
    standard: bool = False

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}" if self.module else self.name


@dataclass(slots=True)
class Module:
    name: str
    text: Text
    dialect: str = ""
    imports: list[tuple[str, Place]] = field(default_factory=list)
    operators: dict[str, Operator] = field(default_factory=dict)
    graphs: dict[str, Operator] = field(default_factory=dict)
