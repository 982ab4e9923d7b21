"""Running networks that differ little from each other on the same samples, without computing anything twice.

A graph is cut into pieces, before each operator with weights. A piece is planned once for all graphs that have it
(`Plans`), and what pieces gave is kept by what computed it (`Runs`): each tensor has an identity, made from the
operator, its attributes, its constants and the identities of what it reads. Of a graph that differs from an earlier one
in one layer, only that layer's piece is planned, and what comes before it isn't run. Samples run in chunks. Results
have the bytes of `Session.run`, sample by sample.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine import Session
from tosa_engine.graph import Composite, copy_operator, copy_tensor, new_graph
from tosa_engine.infer import infer
from tosa_engine.passes import composites, dead_code
from tosa_engine.qparams.arrays import quantize_array
from tosa_engine.spec import TABLE, traits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tosa_engine.graph import Graph, Operator, QParams, Tensor
    from tosa_engine.types import Array

    Sample = Mapping[str, Array]

CHUNK: Final = 16  # samples that run together at most
CHUNK_BYTES: Final = 1 << 25  # of the largest tensor of a chunk
MOST_PLANS: Final = 1024
MOST_BYTES: Final = 1 << 29  # of results that are kept
STALE: Final = 8  # results that so many requests didn't ask for make room for others


@dataclass
class _Piece:
    """`operators` without constants, which `constants` holds by what they write."""

    operators: list[Operator] = field(default_factory=list)
    constants: dict[str, Operator] = field(default_factory=dict)


class Pieces:
    """A graph cut into pieces, what stands in each, and the identity of each tensor. The graph isn't changed as long as
    this is used. `before`: the pieces of the same graph before the data of some constants were replaced; what is the
    same there isn't found anew.
    """

    def __init__(self, graph: Graph, before: Pieces | None = None) -> None:
        if any(isinstance(op, Composite) for op in graph.main.operators):
            graph = composites.run(graph)
            infer(graph)
        self.graph, self.block = graph, graph.main
        every = [op for _, block in graph.blocks() for op in block.operators]
        self.pure = all(TABLE[op.op].pure for op in every)  # others have state, or only their author knows them
        self.digests: dict[str, bytes] = {}  # of constants, and of what is made of constants alone
        self.names = {t.name: _digest(t.name, _form(t), _quant(t)) for t in self.graph.inputs}
        self._before = before
        self._data: dict[str, Array | None] = {}  # of constants
        self._read: dict[str, bytes] = {}  # the identities of what the writer of a tensor reads
        self.pieces = [_Piece()]
        self.writer: dict[str, tuple[int, Operator]] = {}
        constants: dict[str, Operator] = {}
        for op in self.block.operators:
            if all(name in self.digests for name in op.inputs):
                self._constant(op)
                constants |= dict.fromkeys(op.outputs, op)
                continue
            if traits_of(op).weight is not None and self.pieces[-1].operators:
                self.pieces.append(_Piece())
            piece = self.pieces[-1]
            piece.operators.append(op)
            pending = [name for name in op.inputs if name in constants]
            while pending:
                name = pending.pop()
                if name not in piece.constants:
                    piece.constants[name] = constants[name]
                    pending += constants[name].inputs
            self._identify(op, len(self.pieces) - 1)
        self._before = None

    def _constant(self, op: Operator) -> None:
        read = b"".join(self.digests[name] for name in op.inputs)
        for i, name in enumerate(op.outputs):
            tensor, known = self.block.tensors[name], self._before
            self._data[name] = tensor.data
            if known is not None and not read and known._data.get(name) is tensor.data is not None:
                self.digests[name] = known.digests[name]
                continue
            data = b"" if tensor.data is None else np.ascontiguousarray(tensor.data).tobytes()
            self.digests[name] = _digest(op.op, _form(tensor), sorted(op.attributes.items()), i, read, data)

    def _identify(self, op: Operator, piece: int) -> None:
        read = b"".join(self.digests.get(name) or self.names[name] for name in op.inputs)
        for i, name in enumerate(op.outputs):
            self.writer[name], self._read[name] = (piece, op), read
            if self._before is not None and self._before._read.get(name) == read:
                self.names[name] = self._before.names[name]
                continue
            form = _form(self.block.tensors[name])
            self.names[name] = _digest(op.op, form, sorted(op.attributes.items()), i, read)

    def key(self, operators: Sequence[Operator], inputs: Sequence[str], outputs: Sequence[str]) -> bytes:
        """What operators compute of their inputs, whatever the names of tensors are."""
        local = {name: f"{i}{_form(self.block.tensors[name])}".encode() for i, name in enumerate(inputs)}
        found = []
        for op in operators:
            read = b",".join(self.digests.get(name) or local[name] for name in op.inputs)
            for name in op.outputs:
                local[name] = f"{len(local)}{_form(self.block.tensors[name])}".encode()
            found.append(repr((op.op, sorted(op.attributes.items()), read, len(op.outputs))))
        return _digest(*found, b",".join(local[name] for name in outputs))

    def graph_of(self, piece: _Piece, operators: Sequence[Operator], inputs: list[str], outputs: list[str]) -> Graph:
        """A graph of its own for some operators of a piece."""
        made = new_graph()
        block = made.main
        chosen = {id(op) for op in (*piece.constants.values(), *operators)}
        block.operators = [copy_operator(op) for op in self.block.operators if id(op) in chosen]
        used = {name for op in block.operators for name in (*op.inputs, *op.outputs)}
        block.tensors = {name: copy_tensor(self.block.tensors[name]) for name in used}
        block.inputs, block.outputs = inputs, outputs
        return dead_code.run(made)


class Plans:
    """Sessions of pieces, by what they compute; the ones that were used last."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[bytes, tuple[Session, list[str], list[str]]] = OrderedDict()

    def run(self, key: bytes, make: Callable[[], Graph], inputs: Sequence[Array]) -> list[Array]:
        """The outputs of the piece that has this key, of samples along an axis in front."""
        if key not in self._sessions:
            graph = make()
            self._sessions[key] = Session(graph, 1), graph.main.inputs, graph.main.outputs
            while len(self._sessions) > MOST_PLANS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(key)
        session, names, wanted = self._sessions[key]
        return session.run_each(wanted, dict(zip(names, inputs, strict=True)))


@dataclass
class _Kept:
    array: Array
    used: int


class Runs:
    """Runs of graphs on the same samples, which are read when a graph's inputs are needed.

    `count` is the number of samples that `read` gives. `plans` may be shared with runs on other samples.
    """

    def __init__(self, read: Callable[[], Iterable[Sample]], count: int, plans: Plans | None = None) -> None:
        self._read, self.count, self._plans = read, count, plans or Plans()
        self._kept: dict[tuple[bytes, int], _Kept] = {}
        self._asked: dict[bytes, int] = {}
        self._bytes = self._request = self._chunk = 0

    def values(self, network: Pieces, wanted: Sequence[str], *, keep: bool = False) -> Iterator[list[Array]]:
        """The tensors `wanted` of each sample; integer inputs get the stored integers of the float samples. `keep` them
        for what is computed from them later.

        Raises what `Session` and `Session.run` raise.
        """
        if not network.pure or not network.digests.keys().isdisjoint(wanted):
            yield from self._one_by_one(network.graph, wanted)
            return
        chunk = self._chunk = self._chunk or _chunk(network.graph)
        self._request += 1
        if keep:
            self._asked |= {network.names[name]: self._asked.get(network.names[name], 0) for name in wanted}
        chunks = _Chunks(self._read, network.graph.inputs, chunk)
        for number in range(-(-self.count // chunk)):
            found = self._chunk_of(network, number, chunks, list(wanted))
            length = min(chunk, self.count - number * chunk)
            yield from ([found[name][i] for name in wanted] for i in range(length))

    def _one_by_one(self, graph: Graph, wanted: Sequence[str]) -> Iterator[list[Array]]:
        cut = graph.copy()
        cut.main.outputs = list(dict.fromkeys(wanted))
        session = Session(dead_code.run(cut))
        for sample in islice(self._read(), self.count):
            feeds = {t.name: _stored(sample[t.name], t) for t in session.graph.inputs}
            yield session.run(list(wanted), feeds)

    def _chunk_of(self, network: Pieces, number: int, chunks: _Chunks, wanted: list[str]) -> dict[str, Array]:
        have, needed = self._kept_of(network, number, wanted)
        for name in network.block.inputs:
            if name in needed:
                have[name] = chunks.array(number, name)
                self._keep(network.names[name], number, have[name])
        by_piece: dict[int, list[Operator]] = {}
        for op in network.block.operators:
            if not needed.isdisjoint(op.outputs):
                by_piece.setdefault(network.writer[op.outputs[0]][0], []).append(op)
        last = {name: at for at in sorted(by_piece) for op in by_piece[at] for name in op.inputs}
        last |= dict.fromkeys(wanted, len(network.pieces))
        for at in sorted(by_piece):
            operators = by_piece[at]
            inside = [name for op in operators for name in op.outputs]
            inputs = list(dict.fromkeys(name for op in operators for name in op.inputs if name in have))
            outputs = [name for name in inside if last.get(name, -1) > at]
            make = partial(network.graph_of, network.pieces[at], operators, inputs, outputs)
            key = network.key(operators, inputs, outputs)
            found = self._plans.run(key, make, [have[name] for name in inputs])
            for name, array in zip(outputs, found, strict=True):
                have[name] = array
                self._keep(network.names[name], number, array)
            have = {name: array for name, array in have.items() if last.get(name, -1) > at}
        return have

    def _kept_of(self, network: Pieces, number: int, wanted: list[str]) -> tuple[dict[str, Array], set[str]]:
        """What is kept of a chunk, and the names of the tensors that have to be computed from it."""
        have: dict[str, Array] = {}
        needed, pending = set[str](), list(wanted)
        while pending:
            name = pending.pop()
            if name in have or name in needed or name in network.digests:
                continue
            kept = self._kept.get((network.names[name], number))
            if kept is not None:
                kept.used = self._request
                have[name] = kept.array
                continue
            needed.add(name)
            if name in network.writer:
                op = network.writer[name][1]
                needed.update(op.outputs)
                pending += op.inputs
        return have, needed

    def _keep(self, identity: bytes, number: int, array: Array) -> None:
        """Keep what an earlier request asked for, too, as long as there is room."""
        if self._asked.setdefault(identity, self._request) == self._request:
            return
        if self._bytes + array.nbytes > MOST_BYTES:
            for key in [key for key, kept in self._kept.items() if kept.used < self._request - STALE]:
                self._bytes -= self._kept.pop(key).array.nbytes
        if self._bytes + array.nbytes <= MOST_BYTES:
            self._bytes += array.nbytes
            self._kept[identity, number] = _Kept(array, self._request)


class _Chunks:
    """The inputs of a graph, chunk by chunk in ascending order; samples are read when one is asked for."""

    def __init__(self, read: Callable[[], Iterable[Sample]], inputs: Sequence[Tensor], size: int) -> None:
        self._read, self._inputs, self._size = read, {t.name: t for t in inputs}, size
        self._samples: Iterator[Sample] | None = None
        self._at = -1
        self._arrays: dict[str, Array] = {}

    def array(self, number: int, name: str) -> Array:
        if self._samples is None:
            self._samples = iter(self._read())
        while self._at < number:
            samples, self._at = list(islice(self._samples, self._size)), self._at + 1
            if self._at == number:
                self._arrays = {
                    n: np.stack([_stored(sample[n], tensor) for sample in samples])
                    for n, tensor in self._inputs.items()
                }
        return self._arrays[name]


def _stored(x: Array, tensor: Tensor) -> Array:
    """A float sample as an integer input has it; as it is where the input is float or no quantized number."""
    quant = _quant(tensor)
    return x if quant is None else quantize_array(x, quant)


def _quant(tensor: Tensor) -> QParams | None:
    return None if tensor.dtype.is_float else tensor.quant


def _chunk(graph: Graph) -> int:
    largest = max((t.size * t.dtype.storage.itemsize for t in graph.main.tensors.values() if t.data is None), default=1)
    return min(max(CHUNK_BYTES // max(largest, 1), 1), CHUNK)


def _form(tensor: Tensor) -> str:
    return f"{tensor.dtype}{tensor.shape}"


def _digest(*parts: object) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(part if isinstance(part, bytes) else repr(part).encode())
        found.update(b"\0")
    return found.digest()
