"""custom_call: targets that are known, and CUSTOM for all others. infeed is one more input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....errors import Unsupported
from ....graph import Operator
from .. import ports
from ..call import element_of
from ..elements import F32
from ..values import Value
from .floats import in_fp32
from .layout import same
from .sorting import top_k

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..call import Call

DOMAIN: Final = "stablehlo"
# what says where values lie, and what only tests something
PASSED: Final = frozenset((
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
    "xla.sdy.FuncResultSharding",     "LayoutConstraint", "shape_assertion",
))  # fmt: skip


def custom_call(call: Call) -> list[Value]:
    target = str(call.attribute("call_target_name"))
    if target in PASSED:
        return same(call)
    if target in ("tosa_engine.erf", "mhlo.erf"):
        return [call.elementwise(in_fp32(call, lambda x: call.g.unary("ERF", x), call.lean(0)))]
    if target in ("mhlo.topk", "TopK"):
        return top_k(call)
    return _custom(call, target)


def _custom(call: Call, target: str) -> list[Value]:
    g = call.g
    kinds = [kind for kind in call.kinds if not kind.is_token]
    if not kinds:
        raise Unsupported(f"the custom call '{target}' gives nothing")
    found = [g.output("custom", element_of(kind).carrier, kind.shape) for kind in kinds]
    given = [g.full(value).name for value in call.inputs]
    attributes = {
        "operator_name": target, "domain_name": DOMAIN,
        "implementation_attrs": str(call.attribute("backend_config", "")).encode(),
    }  # fmt: skip
    g.append(Operator("CUSTOM", given, [t.name for t in found], attributes, g.location))
    return [Value(element_of(k), k.shape, None, t) for k, t in zip(kinds, found, strict=True)]


def infeed(call: Call) -> list[Value]:
    """Inputs behind those of the function, in the order of the operations."""
    g = call.g
    if g.in_region:
        raise Unsupported("an infeed in a region; the inputs of a graph are there once")
    found: list[Value] = []
    kept = g.stem, g.started, g.location
    for index, kind in enumerate(call.kinds):
        if kind.is_token:
            found.append(Value(F32, ()))
        else:
            found.append(ports.port(g, g.fresh(f"infeed_{index}"), kind))
    g.stem, g.started, g.location = kept
    return found


def token(call: Call) -> list[Value]:
    return [Value(F32, ()) for _ in call.operation.results]


OPERATORS: Final[Mapping[str, Callable[[Call], list[Value]]]] = {
    "after_all": token, "create_token": token, "custom_call": custom_call, "infeed": infeed, "outfeed": token,
}  # fmt: skip
