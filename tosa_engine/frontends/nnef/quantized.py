"""A document with its quantization file: lines that aren't linear become operations, quantize operations become hints.

Section 7.1: a line of the file means that its operation is applied to the tensor after its value has been computed. The
linear ones are QParams (quantfile.py). Others, logarithmic or a fragment of the document, are put there: what reads the
tensor then reads the result of the operation, which keeps the name unless the tensor is external or a variable.

A quantize operation of the graph whose range is constant (section 7.1) says the QParams of its result, and of what it
reads, where the file has no line for them. Where the graph computes the range (section 7.2), floats do so exactly;
integer graphs, whose ranges are fixed, pass over the operation as the section allows (`as_integers`).

In integers, logarithmic levels are codes of int8 whose scale is 2^-6 of the largest level, so that seven levels and 0
are exact; one TABLE goes from real values to them.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...errors import TosaEngineError, raise_all
from .files.container import read_text
from .files.inverted import inverted_scales
from .files.names import QUANT
from .files.quantfile import ARGUMENTS, LOGARITHMIC, Quantization, in_short, logarithmic_qparams, read_quantization
from .language.emission import Exact, Frame
from .language.evaluate import Evaluator, deep_recursion
from .language.kinds import TensorOf, conforms, described
from .language.library import REQUIRED, standard_library
from .language.syntax import Name, Place, QuantLine
from .language.tree import Wrong
from .language.vendor import vendor_library
from .mapping import Shapes, inner_tensors
from .widths import as_stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...errors import ParseError
    from ...graph import QParams
    from .language.flat import Document, Operation
    from .language.library import Declaration

QUANTIZE: Final = (*ARGUMENTS, LOGARITHMIC)
_RANGES: Final = ("min", "max")


def own_quantization(document: Document, inverted: bool | None = None) -> Quantization:
    """The graph.quant of a document's container, without a line when there is none.

    Raises ParseError, or Problems, for what is wrong in it, and what `checked` raises.
    """
    container = document.container
    if container is None or not container.has(QUANT):
        return Quantization()
    file = f"{container.label}/{QUANT}"
    return checked(document, read_quantization(read_text(container, QUANT), file, bool(inverted)), inverted)


def checked(document: Document, quantization: Quantization, inverted: bool | None = None) -> Quantization:
    """A quantization file that fits the document.

    Raises ParseError, or Problems, with the lines whose tensor the document doesn't have, and for scales that look
    upside down, unless `inverted` says whether they are.
    """
    problems: list[TosaEngineError] = [*_unknown(document, quantization)]
    if inverted is None and (found := inverted_scales(document, quantization)) is not None:
        problems.append(found)
    raise_all(problems, f"{quantization.file}: {len(problems)} problems")
    return quantization


def quantized(document: Document, quant: Mapping[str, QParams]) -> tuple[Document, Mapping[str, QParams]]:
    """The document with the operations of `quant`, and the hints for its tensors."""
    hints = static_hints(document, quant)
    if not isinstance(quant, Quantization):
        return document, {**hints, **quant}
    document.warn(*quant.warnings)
    quant = as_stored(document, quant)
    made = with_functions(document, quant)
    hints = {**hints, **{name: hint for name, hint in static_hints(made, quant).items() if name not in hints}}
    return made, quant.with_hints(hints)


def _unknown(document: Document, quantization: Quantization) -> list[ParseError]:
    """The lines whose tensor the document doesn't have."""
    labels = {op.arguments["label"]: name for name, op in document.variables.items()}
    known, problems = set(document.tensors), []
    linear = set(quantization.lines) - set(quantization.functions)
    if not linear <= known:  # calibration has them, too
        known |= linear & inner_tensors(document)
    for name, line in quantization.lines.items():
        if name not in known:
            hint = f"; '{name}' is the label of '{labels[name]}'" if name in labels else ""
            problems.append(line.error(f"the document has no tensor '{name}'{hint}"))
    return problems


def with_functions(document: Document, quantization: Quantization) -> Document:
    """The document with the operations of the lines that aren't linear. Raises ParseError or Problems."""
    if not quantization.functions:
        return document
    library = ChainMap(dict(document.own), standard_library(), vendor_library())  # type: ignore[arg-type]
    calls, problems = {}, list[TosaEngineError]()
    for name, line in quantization.functions.items():
        try:
            calls[name] = _arguments(library, line)
        except Wrong as wrong:
            problems.append(line.error(wrong.message))
    raise_all(problems, f"{quantization.file}: {len(problems)} problems")
    evaluator = Evaluator(
        library,
        lambda declaration: declaration.standard and not declaration.vendor,
        Shapes(document),
        set(document.tensors),
    )
    renamed: dict[str, str] = {}
    for operation in document.operations:
        kept = [r.text for r in operation.results if r.text in calls]
        entering = operation.name in ("external", "variable")
        inner = {name: evaluator.fresh(f"{name}_real", operation.declaration) for name in kept if not entering}
        moved = tuple(Name(inner.get(r.text, r.text), r.place) for r in operation.results)
        arguments = {key: _renamed(value, renamed) for key, value in operation.arguments.items()}
        evaluator.operations.append(replace(operation, results=moved, arguments=arguments))
        evaluator.types.update(zip((name.text for name in moved), operation.types, strict=True))
        for name in kept:
            wanted = f"{name}_quantized" if entering else Exact(name)
            source = Name(inner.get(name, name), operation.place)
            result = _apply(evaluator, *calls[name], source, wanted, quantization.functions[name])
            if entering:
                renamed[name] = result.text
    return replace(document, operations=evaluator.operations)


def _arguments(library: Mapping[str, Declaration], line: QuantLine) -> tuple[Declaration, dict[str, Any]]:
    """The declaration of a line's operation, and its arguments but the first. Raises Wrong."""
    declaration = library.get(line.op)
    if declaration is None:
        known = ", ".join(QUANTIZE)
        message = f"unknown quantization algorithm '{line.op}'; it is no fragment of the document, nor one of {known}"
        raise Wrong("", message, Place(line.line, 1))
    place = declaration.place
    if not declaration.returns_one_tensor or not isinstance(declaration.parameters[0].kind, TensorOf):
        raise Wrong("", f"'{line.op}' doesn't make one tensor of one tensor", place)
    parameters = {p.name: p for p in declaration.parameters[1:]}
    wrong = [f"unknown argument '{name}'" for name in line.args if name not in parameters]
    missing = [p.name for p in parameters.values() if p.default is REQUIRED and p.name not in line.args]
    wrong += [f"missing argument '{name}'" for name in missing]
    if wrong:
        shown = ", ".join(parameters) or "none"
        raise Wrong("", f"{line.op}: {', '.join(wrong)}; arguments are {shown}", place)
    for name, value in line.args.items():
        kind = parameters[name].kind
        tensor = isinstance(kind, TensorOf)
        numbers = value if isinstance(value, tuple) and value else (value,)
        fits = all(_is_number(n) for n in numbers) if tensor else conforms(value, kind)
        if not fits:
            wanted = "a number, or one per channel" if tensor else described(kind)
            raise Wrong("", f"{line.op}: '{name}' must be {wanted}, got {in_short(value)}", place)
    if line.op == LOGARITHMIC:
        _check_logarithmic(line, place)
    return declaration, dict(line.args)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_logarithmic(line: QuantLine, place: Place) -> None:
    given: Any = line.args["max"]
    most, bits = given if isinstance(given, tuple) else (given,), line.args["bits"]
    if not all(_is_number(value) and value > 0 for value in most):
        raise Wrong("", f"max must be greater than 0, got {in_short(given)}", place)
    if not all(2.0**-100 <= value <= 2.0**127 for value in most):
        raise Wrong("", f"max must be in 2^-100 .. 2^127, got {in_short(given)}", place)
    if not isinstance(bits, int) or not 1 <= bits <= 16:
        raise Wrong("", f"bits must be an integer in 1 .. 16, got {in_short(bits)}", place)


def _apply(
    evaluator: Evaluator, declaration: Declaration, given: Mapping[str, Any], x: Name, wanted: str, line: QuantLine
) -> Name:
    """The operation of a line behind the tensor `x`; the tensor of its result."""
    evaluator.frames = [Frame("", wanted, x.place)]
    arguments: dict[str, Any] = {declaration.parameters[0].name: x}
    try:
        for name, value in given.items():
            parameter = declaration.parameter(name)
            assert parameter is not None
            if isinstance(parameter.kind, TensorOf):
                value = _per_channel(evaluator, x, name, value, line) if isinstance(value, tuple) else float(value)
            arguments[name] = value
        with deep_recursion():
            result = evaluator.invoke(declaration, arguments, "", x.place, wanted)
    except Wrong as wrong:
        raise line.error(wrong.message) from None
    if not isinstance(result, Name):
        raise line.error(f"'{line.op}' makes a number of the tensor")
    if result.text == x.text or (isinstance(wanted, Exact) and result.text != wanted):
        result = evaluator.invoke(evaluator.library["copy"], {"x": result}, "scalar", x.place, wanted)
    return result  # type: ignore[no-any-return]


def _per_channel(evaluator: Evaluator, x: Name, name: str, values: tuple[Any, ...], line: QuantLine) -> Name:
    """A constant tensor of one value per channel, as `build.with_axis` finds the axis."""
    shape = evaluator.shape_of(Name(line.tensor, x.place))
    if len(values) not in shape:
        raise line.error(f"'{name}' has {len(values)} values, which fit no axis of shape {list(shape)}")
    axis = shape.index(len(values))
    extents = tuple(n if i == axis else 1 for i, n in enumerate(shape))
    given = {"shape": extents, "value": tuple(float(value) for value in values)}
    constant: Name = evaluator.invoke(evaluator.library["constant"], given, "scalar", x.place, f"{x.text}_{name}")
    return constant


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_renamed(item, names) for item in value)
    return Name(names[value.text], value.place) if isinstance(value, Name) and value.text in names else value


# quantize operations of the graph


def static_hints(document: Document, quantization: Mapping[str, QParams]) -> dict[str, QParams]:
    """The QParams that quantize operations with constant ranges say, of tensors that have none.

    Raises ParseError where their arguments are wrong.
    """
    found: dict[str, QParams] = {}
    reads = Counter(name for op in document.operations for name in _tensors(op.arguments.values()))
    computed = {r.text: op for op in document.operations for r in op.results}
    for operation in document.operations:
        if operation.name not in QUANTIZE or not operation.declaration.standard or is_dynamic(operation):
            continue
        hint = _hint(document, operation)
        found[operation.result] = hint
        x = operation.arguments["x"]
        alone = isinstance(x, Name) and (reads[x.text] == 1 or operation.name == LOGARITHMIC)
        if alone and computed[x.text].name not in ("variable", "constant"):
            found.setdefault(x.text, hint)
    return {name: quant for name, quant in found.items() if name not in quantization}


def _hint(document: Document, operation: Operation) -> QParams:
    """The QParams of the result of a quantize operation with a constant range."""
    wanted = {name: operation.arguments[name] for name in operation.arguments if name != "x"}
    line = QuantLine(operation.result, operation.name, wanted, operation.place.line, document.text)
    one = Quantization(document.text.file)
    try:
        if operation.name == LOGARITHMIC:
            _check_logarithmic(line, operation.place)
            return logarithmic_qparams((wanted["max"],))
        one.add(line, inverted=False)
    except Wrong as wrong:
        raise document.text.error(f"'{operation.name}': {wrong.message}", operation.place) from None
    except TosaEngineError as problem:
        raise document.text.error(f"'{operation.name}': {problem.message}", operation.place) from None
    one.finish()
    document.warn(*one.warnings)
    return one[operation.result]


def is_dynamic(operation: Operation) -> bool:
    """Whether the graph computes the range of a quantize operation."""
    return any(isinstance(operation.arguments.get(name), Name) for name in _RANGES)


def as_integers(document: Document) -> Document:
    """The document with a copy in place of each linear quantize operation: the QParams of its result say what it does.

    A warning names those whose range the graph computes. A range that is a constant tensor isn't computed: such
    operations stay.
    """
    copy, operations, passed = standard_library()["copy"], [], []
    constants = {r.text for op in document.operations if op.name in ("constant", "variable") for r in op.results}
    for operation in document.operations:
        ranges = [operation.arguments.get(name) for name in _RANGES]
        computed = any(isinstance(r, Name) and r.text not in constants for r in ranges)
        plain = operation.name in ARGUMENTS and not is_dynamic(operation)
        if operation.declaration.standard and operation.name in QUANTIZE and (computed or plain):
            if computed:
                passed.append(operation)
            given = {"x": operation.arguments["x"]}
            operation = replace(operation, declaration=copy, arguments=given, generic="scalar")
        operations.append(operation)
    if passed:
        names = ", ".join(f"'{op.result}'" for op in passed)
        document.warn(
            f"{document.text.file}:{passed[0].place.line}:{passed[0].place.column}: the graph computes the ranges of "
            f"{names}; integer graphs have fixed ranges, so these operations are passed over"
        )
    return replace(document, operations=operations)


def _tensors(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, tuple):
            yield from _tensors(value)
        elif isinstance(value, Name):
            yield value.text
