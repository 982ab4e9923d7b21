"""What the reference interpreter of jaxlib gives for a module: a process of its own, which dies of some modules.

    python conformance/stablehlo_reference.py MODULE EXTENT INPUTS.npz OUTPUTS.npz

Dimensions that nothing binds have EXTENT elements, scalars of integers are that number. The interpreter computes what
stablehlo.py gives to a graph, with the same inputs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from tosa_engine.frontends.stablehlo.child import Dump, Reader


def _attribute(ir: Any, array: np.ndarray, kind: Any) -> Any:
    """An array as a constant of MLIR, by its bytes."""
    if str(kind.element_type) == "i1":
        return ir.DenseElementsAttr.get(np.array(array, bool))
    return ir.Attribute.parse(f'dense<"0x{array.tobytes().hex()}"> : {kind}')


def _array(ir: Any, one: Any) -> np.ndarray:
    """A constant as an array; floats that numpy has no type for go as fp32."""
    found = Dump(ir)._array(one, str(one.type.element_type))
    found = found.astype(np.float32) if found.dtype.kind == "V" else found
    return np.broadcast_to(found.reshape(()) if found.size == 1 else found.reshape(one.type.shape), one.type.shape)


def main() -> int:
    path, extent, given, wanted = sys.argv[1:]
    reader = Reader()
    ir = reader.ir
    with reader.context, ir.Location.unknown(reader.context):
        module = reader._module(Path(path).read_bytes(), "mlir")
        request = {"unbound": int(extent)}
        reader._rewrite(module, reader._ports(reader._entry(module), request), request)
        entry = reader._entry(module)
        with np.load(given) as arrays:
            kinds = [arg.type for arg in entry.regions[0].blocks[0].arguments]
            inputs = [_attribute(ir, arrays[f"i{k}"], kind) for k, kind in enumerate(kinds)]
        found = reader.stablehlo.eval_module(module, inputs)
        np.savez(wanted, **{f"o{k}": _array(ir, one) for k, one in enumerate(found)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
