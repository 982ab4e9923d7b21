"""The process that reads modules: jaxlib parses, checks and rewrites them, and what they say goes back as plain data.

Run as a program. A request is a line of JSON on its input; an answer on its output is the length of a JSON text and of
the constants' bytes, then both. Bytes that jaxlib dies of end this process only.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import struct
import sys
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTECODE = b"ML\xefR"
# functions that TOSA has an operator for, or that are better whole, keep their name over the pass that replaces them
KEPT = {"chlo.erf": "tosa_engine.erf"}
QUANTIZED = "!quant.uniform"
DEPRECATED = {"stablehlo.einsum", "stablehlo.torch_index_select", "stablehlo.unary_einsum"}
STORED = {
    "bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
    "i4": np.int8, "ui4": np.uint8, "i2": np.int8, "ui2": np.uint8,
}  # fmt: skip
# modules of jaxlib by their names today and in 0.6.2, the last one for Python 3.10
REGISTERING = ("_jax_mlir_ext", "register_jax_dialects")
PARSING = ("_hlo", "_jax")
TRIED = (0, 10, 2)  # the release that everything has been tried with
NEWER = re.compile(r"custom op '.*' is unknown|failed to deserialize|unregistered operation|elements hex data size")
NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"(?!:\d+:\d+|:\d+ )')
LINE = re.compile(r'"(?:[^"\\]|\\.)*":(\d+):\d+')
PATH = re.compile(r"(?:loc\()?(?:\"[^\"]*\"|-):(?P<line>\d+):\d+\)?:? ?(?:error: )?(?P<text>.*)", re.S)


class Refused(Exception):
    """What is wrong: `kind` is the kind of error that the other process raises."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


class Reader:
    """A context of MLIR, in which modules are parsed one after the other."""

    def __init__(self) -> None:
        from jaxlib.mlir import _mlir_libs, ir, passmanager
        from jaxlib.mlir.dialects import chlo, stablehlo

        self.ir, self.stablehlo, self.passes = ir, stablehlo, passmanager.PassManager
        self.context = ir.Context()
        registry = ir.DialectRegistry()
        first_of(_mlir_libs.__name__, REGISTERING).register_dialects(registry)
        self.context.append_dialect_registry(registry)
        self.context.load_all_available_dialects()
        with self.context:
            stablehlo.register_dialect(self.context)
            chlo.register_dialect(self.context)
            register = getattr(stablehlo, "register_stablehlo_passes", None)
            if register is not None:
                register()
            # types of quantization are unknown until an artefact has been read
            empty = ir.Module.parse("func.func @main() { return }")
            version = stablehlo.get_current_version()
            artefact = stablehlo.serialize_portable_artifact_str(str(empty), version)
            stablehlo.deserialize_portable_artifact(self.context, artefact)

    def read(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        with open(request["path"], "rb") as file:
            data = file.read()
        self.context.allow_unregistered_dialects = False
        with self.context, self.ir.Location.unknown(self.context):
            module = self._module(data, request["kind"])
            if request.get("part") is not None:
                module = self._module(data.split(b"// -----")[request["part"]], request["kind"])
            entry = self._entry(module)
            ports = self._ports(entry, request)
            name = entry.name.value if ports is None else "main"  # passes of 0.6.2 leave no operation valid
            self._rewrite(module, ports, request)
            return Dump(self.ir).module(module, name)

    def _module(self, data: bytes, kind: str) -> Any:
        ir = self.ir
        try:
            if kind in ("hlo", "proto"):
                return self._of_hlo(data, kind)
            at = data.find(BYTECODE)
            if at < 0:
                return ir.Module.parse(data.decode("utf-8"), self.context)
            if at:  # inside a file of jax.export, behind its length
                size = int.from_bytes(data[at - 4 : at], "little")
                data = data[at : at + size]
            if b"StableHLO_v" in data[:64]:
                return self.stablehlo.deserialize_portable_artifact(self.context, data)
            return ir.Module.parse(data, self.context)
        except UnicodeDecodeError as problem:
            raise Refused("data", f"it isn't UTF-8: {problem}") from None
        except (ir.MLIRError, ValueError, RuntimeError) as problem:
            text = said(problem)
            foreign = "unregistered dialect" in text or "not found for custom op" in text
            newer = older() if NEWER.search(text) else ""
            raise Refused("unsupported" if foreign or newer else "data", text + newer) from None

    def _of_hlo(self, data: bytes, kind: str) -> Any:
        import jaxlib
        from jaxlib import _jax  # type: ignore[attr-defined]

        if kind == "hlo":
            data = (
                first_of(jaxlib.__name__, PARSING)
                .hlo_module_from_text(data.decode("utf-8"))
                .as_serialized_hlo_module_proto()
            )
        text = _jax.mlir.hlo_to_stablehlo(data)
        self.context.allow_unregistered_dialects = True  # attributes and operations of 'mhlo'
        return self.ir.Module.parse(text, self.context)

    def _entry(self, module: Any) -> Any:
        functions = [op for op in module.body.operations if op.operation.name == "func.func"]
        named = [f for f in functions if f.name.value == "main"]
        public = [f for f in functions if "sym_visibility" not in f.attributes or f.visibility.value == "public"]
        found = named or public
        if not found:
            raise Refused("data", "it has no function 'main'")
        if len(found) > 1:
            listed = ", ".join(f"'{f.name.value}'" for f in found[:8])
            raise Refused("data", f"it has no function 'main' and several others: {listed}")
        return found[0]

    def _ports(self, entry: Any, request: dict[str, Any]) -> list[str] | None:
        """The types of the arguments where some were dynamic or became constants; None where all are as they were."""
        ir = self.ir
        shapes, dims, constants = (request.get(k) or {} for k in ("shapes", "dims", "constants"))
        block = entry.regions[0].blocks[0]
        names = [argument_name(entry, i, arg) for i, arg in enumerate(block.arguments)]
        for name in shapes:
            if name not in names:
                raise Refused("usage", f"the model has no input '{name}'; it has {', '.join(names) or 'none'}")
        found, changed, index = [], False, 0
        left = set(dims) | set(constants)
        while index < len(block.arguments):
            arg, name = block.arguments[index], names[index]
            label = _string(entry, index, "jax.global_constant")
            value = constants.get(name, dims.get(label or name))
            kind = arg.type
            if value is None and "unbound" in request and str(kind) in ("tensor<i64>", "tensor<i32>"):
                value = request["unbound"]
            left -= {name, label}
            if value is not None:
                self._make_constant(entry, block, index, value, name)
                names.pop(index)
                changed = True
                continue
            if isinstance(kind, ir.RankedTensorType) and name in shapes:
                if kind.rank != len(shapes[name]):
                    raise Refused("usage", f"--shape {name}: the input has the type {kind}")
                fixed = ir.RankedTensorType.get(shapes[name], kind.element_type)
                changed |= fixed != kind
                kind = fixed
            if "unbound" in request and isinstance(kind, ir.RankedTensorType) and not kind.has_static_shape:
                extents = [request["unbound"] if kind.is_dynamic_dim(i) else n for i, n in enumerate(kind.shape)]
                kind, changed = ir.RankedTensorType.get(extents, kind.element_type), True
            if isinstance(kind, ir.RankedTensorType) and not kind.has_static_shape:
                raise Refused("usage", f"input '{name}' has the type {kind}: --shape {name}=N,... says its shape")
            found.append(str(kind))
            index += 1
        if left:
            raise Refused("usage", f"the model has no input or dimension '{min(left)}'; it has {', '.join(names)}")
        return found if changed else None

    def _make_constant(self, entry: Any, block: Any, index: int, value: Any, name: str) -> None:
        """An argument becomes a constant at the begin of its function."""
        ir, arg = self.ir, block.arguments[index]
        kind = arg.type
        if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
            raise Refused("usage", f"--constant {name}: the input has the type {kind}")
        element = str(kind.element_type)
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        try:
            attribute = ir.Attribute.parse(f"dense<{shown}> : {kind}")
        except (ir.MLIRError, ValueError):
            raise Refused("usage", f"{value} is no constant of type {element} for the input '{name}'") from None
        with ir.InsertionPoint.at_block_begin(block):
            made = ir.Operation.create("stablehlo.constant", results=[kind], attributes={"value": attribute})
        arg.replace_all_uses_with(made.result)
        block.erase_argument(index)
        of_function = ir.FunctionType(ir.TypeAttr(entry.attributes["function_type"]).value)
        inputs = [t for i, t in enumerate(of_function.inputs) if i != index]
        entry.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, of_function.results))
        if "arg_attrs" in entry.attributes:
            kept = [a for i, a in enumerate(entry.attributes["arg_attrs"]) if i != index]
            entry.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)

    def _rewrite(self, module: Any, ports: list[str] | None, request: dict[str, Any]) -> None:
        passes = ["func.func(stablehlo-legalize-composite-to-call)"]
        if ports is not None:
            types = ",".join(ports)
            passes += ["inline", f"stablehlo-refine-arguments{{types={types}}}", "stablehlo-refine-shapes"]
            passes += ["func.func(stablehlo-canonicalize-dynamism)", "stablehlo-refine-shapes"]
        names = set(self._keep(module.operation))
        if names & DEPRECATED:
            passes.append("func.func(stablehlo-legalize-deprecated-ops)")
        if QUANTIZED in str(module.operation) and not request.get("quantized"):
            passes.append("func.func(stablehlo-legalize-quantized-op-to-qdq)")
            passes.append("func.func(stablehlo-legalize-quant-to-math)")
        passes.append("func.func(chlo-legalize-to-stablehlo)")
        self._run(module, passes)
        passes = ["func.func(shape-legalize-to-stablehlo)"]
        if "shape.cstr_broadcastable" in str(module.operation):  # how 0.6.2 spells out what it quantizes
            passes = ["canonicalize", *passes, "canonicalize", "func.func(stablehlo-canonicalize-dynamism)"]
        self._run(module, passes)

    def _run(self, module: Any, passes: list[str]) -> None:
        for one in passes:
            try:
                self.passes.parse(f"builtin.module({one})", self.context).run(module.operation)
            except (self.ir.MLIRError, ValueError, RuntimeError) as problem:
                raise Refused("unsupported", said(problem) + older()) from None

    def _keep(self, operation: Any) -> Iterator[str]:
        """The names of all operations; those of `KEPT` become custom calls."""
        for region in operation.regions:
            for block in region.blocks:
                for op in list(block.operations):
                    yield from self._keep(op.operation)
                    yield op.operation.name
                    if op.operation.name == "chlo.scan":
                        self._forwards(op.operation)
                    target = KEPT.get(op.operation.name)
                    if target is not None:
                        self._replace(op.operation, target)

    def _forwards(self, scan: Any) -> None:
        """A reversed chlo.scan, which jaxlib's pass computes forwards, becomes a forward one of reversed arrays."""
        ir, given = self.ir, scan.attributes
        if "is_reverse" not in given or not given["is_reverse"].value:
            return
        given["is_reverse"] = ir.BoolAttr.get(False)
        along = {"dimensions": ir.DenseI64ArrayAttr.get([given["dimension"].value])}
        inputs, outputs = (given[key][0] for key in ("operandSegmentSizes", "resultSegmentSizes"))

        def turned(value: Any, ip: Any) -> Any:
            return ir.Operation.create("stablehlo.reverse", [value.type], [value], along, loc=scan.location, ip=ip)

        for index in range(inputs):
            scan.operands[index] = turned(scan.operands[index], ir.InsertionPoint(scan)).result
        for old in list(scan.results)[:outputs]:
            made = turned(old, ir.InsertionPoint.after(scan))
            old.replace_all_uses_except(made.result, made)

    def _replace(self, op: Any, target: str) -> None:
        ir = self.ir
        made = ir.Operation.create(
            "stablehlo.custom_call", results=[r.type for r in op.results], operands=list(op.operands),
            attributes={"call_target_name": ir.StringAttr.get(target)}, loc=op.location, ip=ir.InsertionPoint(op),
        )  # fmt: skip
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()


def older() -> str:
    """What is said where this release of jaxlib doesn't know what a later one does."""
    from jaxlib.version import __version__

    number = tuple(int(part) for part in re.findall(r"\d+", __version__)[:3])
    return "" if number >= TRIED else f"; jaxlib {'.'.join(map(str, TRIED))} may read it, this is {__version__}"


def first_of(package: str, names: tuple[str, ...]) -> Any:
    """The first of the modules that this release of jaxlib has."""
    found = [name for name in names if importlib.util.find_spec(f"{package}.{name}") is not None]
    if not found:
        raise ImportError(f"{package} has no module {' or '.join(names)}")
    return importlib.import_module(f"{package}.{found[0]}")


def said(problem: Exception) -> str:
    """What MLIR says in one line, with the line of the text where it has one."""
    diagnostics = getattr(problem, "error_diagnostics", None)
    if diagnostics:
        first = diagnostics[0]
        line = LINE.search(str(first.location))
        return (f"line {line[1]}: " if line else "") + " ".join(str(first.message).split())
    text = " ".join(str(problem).split()) or type(problem).__name__
    return text[:500]


def _string(entry: Any, index: int, key: str) -> str | None:
    if "arg_attrs" not in entry.attributes:
        return None
    found = entry.attributes["arg_attrs"][index]
    return found[key].value if key in found else None


def argument_name(entry: Any, index: int, arg: Any) -> str:
    """The name of an argument: the one that the module knows it by, else its number."""
    known = _string(entry, index, "jax.global_constant")
    named = name_of(arg.location)[0]
    return known or named or f"arg{index}"


def name_of(location: Any) -> tuple[str, int]:
    """The name of a location, and the line of the module's text; the name of the outermost call site."""
    text = str(location)
    named, line = NAMED.search(text), LINE.search(text)
    return (named[1] if named else ""), (int(line[1]) if line and not named else 0)


class Dump:
    """A module as plain data: values are numbers, constants lie in one row of bytes."""

    def __init__(self, ir: Any) -> None:
        self.ir = ir
        self.numbers: dict[Any, int] = {}
        self.types: dict[Any, str] = {}
        self.places: dict[Any, tuple[str, int]] = {}
        self.blob = bytearray()

    def module(self, module: Any, entry: str) -> tuple[dict[str, Any], bytes]:
        functions = {
            op.name.value: self._function(op) for op in module.body.operations if op.operation.name == "func.func"
        }
        return {"entry": entry, "functions": functions}, bytes(self.blob)

    def _function(self, op: Any) -> dict[str, Any]:
        if not op.regions[0].blocks:
            raise Refused("unsupported", f"the function '{op.name.value}' has no body")
        block = op.regions[0].blocks[0]
        results = []
        if "res_attrs" in op.attributes:
            told = op.attributes["res_attrs"]
            results = [one["jax.result_info"].value if "jax.result_info" in one else "" for one in told]
        names = [argument_name(op, i, arg) for i, arg in enumerate(block.arguments)]
        return {"names": names, "results": results, "body": self._block(block)}

    def _block(self, block: Any) -> dict[str, Any]:
        args = [[self._number(arg), self._type(arg.type)] for arg in block.arguments]
        return {"args": args, "ops": [self._operation(op.operation) for op in block.operations]}

    def _operation(self, op: Any) -> dict[str, Any]:
        operands = [self._number(value) for value in op.operands]
        found = {
            "op": op.name, "in": operands, "attrs": self._attributes(op), "loc": self._place(op.location),
            "out": [[self._number(value), self._type(value.type)] for value in op.results],
        }  # fmt: skip
        regions = [self._block(region.blocks[0]) for region in op.regions if len(region.blocks)]
        if regions:
            found["regions"] = regions
        return found

    def _number(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def _type(self, one: Any) -> str:
        if one not in self.types:
            self.types[one] = str(one)
        return self.types[one]

    def _place(self, location: Any) -> tuple[str, int]:
        if location not in self.places:
            self.places[location] = name_of(location)
        return self.places[location]

    def _attributes(self, op: Any) -> dict[str, Any]:
        found = {}
        for name in op.attributes:
            key = name if isinstance(name, str) else name.name
            try:
                found[key] = self._attribute(op.attributes[key])
            except TypeError:  # the bindings have no class for constants of complex numbers
                found[key] = {"dense": "complex", "shape": [], "at": -1, "size": 0}
        return found

    def _attribute(self, one: Any) -> Any:
        ir = self.ir
        kind = type(one).__name__
        if kind in ("IntegerAttr", "BoolAttr", "FloatAttr", "StringAttr"):
            return one.value
        if kind == "FlatSymbolRefAttr":
            return f"@{one.value}"
        if kind == "ArrayAttr":
            return [self._attribute(item) for item in one]
        if kind == "DictAttr":
            return {item.name: self._attribute(item.attr) for item in one}
        if kind in ("DenseI64ArrayAttr", "DenseI32ArrayAttr", "DenseBoolArrayAttr"):
            return [int(item) for item in one]
        if isinstance(one, (ir.DenseElementsAttr, ir.DenseResourceElementsAttr)):
            return self._elements(one)
        return str(one)

    def _elements(self, one: Any) -> dict[str, Any]:
        """A constant: where its bytes are; a splat has one element."""
        kind = self.ir.ShapedType(one.type)
        element, shape = str(kind.element_type), list(kind.shape)
        array = self._array(one, element)
        if array is None:
            return {"dense": element, "shape": shape, "at": -1, "size": 0}
        start = len(self.blob)
        self.blob += array.tobytes()
        return {"dense": element, "shape": shape, "at": start, "size": array.nbytes, "splat": array.size == 1}

    def _array(self, one: Any, element: str) -> Any:
        if element.startswith("complex"):
            return None
        splat = getattr(one, "is_splat", False)
        if element not in STORED:
            try:
                array = np.array(one)
            except (ValueError, TypeError):
                return None
            return array.reshape(-1)[:1] if splat else np.ascontiguousarray(array)
        storage = np.dtype(STORED[element])
        text = str(one)
        inner = text[text.index("<") + 1 : text.rindex(">", 0, text.rindex(" : "))]
        if inner.startswith('"'):
            return np.frombuffer(bytes.fromhex(inner.strip('"')[2:]), storage)
        values = [_parsed(token, storage) for token in re.findall(r"[^\[\],\s]+", inner)]
        return np.asarray(values, storage)


def _parsed(token: str, storage: Any) -> Any:
    if token.startswith("0x"):  # the bits of a float
        raw = int(token, 16).to_bytes(storage.itemsize, "little")
        return np.frombuffer(raw, storage)[0]
    if storage.kind in "iu":
        return int(token)
    return storage.type(float(token))


def answer(reader: Reader, line: str) -> tuple[dict[str, Any], bytes]:
    try:
        return reader.read(json.loads(line))
    except Refused as problem:
        return {"error": problem.kind, "message": problem.message}, b""
    except RecursionError:
        return {"error": "unsupported", "message": "it is nested too deeply"}, b""
    except MemoryError:
        return {"error": "unsupported", "message": "it takes more memory than it may have"}, b""
    except Exception as problem:  # noqa: BLE001  # whatever the bindings raise
        return {"error": "unsupported", "message": f"jaxlib refused it: {said(problem)}"}, b""


def _limit(memory: int) -> None:
    """At most so many bytes, and no file of the memory when it dies."""
    if os.name != "posix":
        return
    import resource

    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def main() -> int:
    if len(sys.argv) > 1:
        _limit(int(sys.argv[1]))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print is no answer
    try:
        reader = Reader()
    except ImportError as problem:
        os.write(2, f"import: {problem}\n".encode())
        return 3
    for line in sys.stdin:
        found, blob = answer(reader, line)
        text = json.dumps(found).encode()
        out.write(struct.pack("<QQ", len(text), len(blob)) + text + blob)
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
