"""Which room of the code may import which: the exact table behind the picture in docs/architecture.md."""

from __future__ import annotations

# A room may import from the rooms on its right, and from itself. Rooms are the longest prefix that is listed.
FOUNDATION = {
    "tosa_engine.versions", "tosa_engine.text", "tosa_engine.types", "tosa_engine.errors", "tosa_engine.target",
    "tosa_engine.memory",
}  # fmt: skip
TABLE = FOUNDATION | {"tosa_engine.graph", "tosa_engine.spec"}
GRAPHS = TABLE | {"tosa_engine.infer", "tosa_engine.check"}
PLAN = GRAPHS | {
    "tosa_engine.ranges",
    "tosa_engine.state", "tosa_engine.numerics", "tosa_engine.passes", "tosa_engine.kernels", "tosa_engine.plan", "lut",
}  # fmt: skip
# the oracle, for checked runs and for what to say of a violated REQUIRE
RUN = PLAN | {
    "tosa_engine.formats", "tosa_engine.feeds", "tosa_engine.probe", "tosa_engine.load", "tosa_engine.oracle",
    "tosa_engine.qparams",
}  # fmt: skip
MAY_IMPORT: dict[str, set[str]] = {
    "lut": set(),
    "tosa_engine": {"tosa_engine.runtime", "tosa_engine.frontends"},
    "tosa_engine.versions": set(),
    "tosa_engine.text": set(),
    "tosa_engine.types": {"tosa_engine.versions"},
    "tosa_engine.errors": {"tosa_engine.text"},
    "tosa_engine.memory": {"tosa_engine.errors"},
    "tosa_engine.target": {"tosa_engine.errors", "tosa_engine.versions"},
    "tosa_engine.graph": FOUNDATION,
    "tosa_engine.spec": FOUNDATION | {"tosa_engine.graph"},
    "tosa_engine.custom": TABLE,
    "tosa_engine.state": FOUNDATION | {"tosa_engine.graph"},
    "tosa_engine.lower": GRAPHS,
    "tosa_engine.builder": GRAPHS | {"tosa_engine.lower"},
    "tosa_engine.infer": TABLE,
    "tosa_engine.check": TABLE | {"tosa_engine.infer"},
    "tosa_engine.ranges": TABLE | {"tosa_engine.infer"},
    "tosa_engine.feeds": FOUNDATION | {"tosa_engine.graph"},
    "tosa_engine.numerics": FOUNDATION,
    "tosa_engine.oracle": GRAPHS | {"tosa_engine.feeds", "tosa_engine.state"},  # a voice of its own: no kernels
    "tosa_engine.kernels": TABLE | {"tosa_engine.numerics", "tosa_engine.state"},
    "tosa_engine.passes": GRAPHS | {"tosa_engine.lower", "tosa_engine.numerics", "tosa_engine.oracle"},
    "tosa_engine.serialize": GRAPHS | {"tosa_engine.passes", "tosa_engine.numerics", "tosa_engine.qparams"},
    "tosa_engine.plugins": set(),
    # front ends are found by their folder, not imported by name
    "tosa_engine.formats": {"tosa_engine.errors", "tosa_engine.plugins"},
    "tosa_engine.frontends": GRAPHS
    | {"tosa_engine.formats", "tosa_engine.files", "tosa_engine.lower", "tosa_engine.passes", "tosa_engine.numerics"}
    | {"tosa_engine.arrays", "tosa_engine.ranges"},
    # Common IR has a graph of ONNX's operators, which the functions of that front end map
    "tosa_engine.frontends.common_ir": FOUNDATION
    | {"tosa_engine.formats", "tosa_engine.files", "tosa_engine.frontends"},
    "tosa_engine.frontends.tosa": {"tosa_engine.formats", "tosa_engine.serialize"},
    # Arm's tools make a TOSA file of a model
    "tosa_engine.frontends.tflite": FOUNDATION
    | {"tosa_engine.formats", "tosa_engine.graph", "tosa_engine.passes", "tosa_engine.serialize"},
    "tosa_engine.arrays": FOUNDATION,
    "tosa_engine.files": set(),
    "tosa_engine.journal": {"tosa_engine.errors", "tosa_engine.files"},
    "tosa_engine.cluster": {"tosa_engine.errors"},
    "tosa_engine.qparams": FOUNDATION | {"tosa_engine.graph", "tosa_engine.files"},
    "tosa_engine.samples": FOUNDATION | {"tosa_engine.graph", "tosa_engine.arrays", "tosa_engine.plugins"},
    "tosa_engine.watch": FOUNDATION | {"tosa_engine.graph", "tosa_engine.probe", "tosa_engine.runtime"},
    "tosa_engine.layouts": FOUNDATION | {"tosa_engine.serialize"},
    "tosa_engine.toml": {"tosa_engine.errors"},
    "tosa_engine.device": FOUNDATION | {"tosa_engine.layouts", "tosa_engine.toml"},
    "tosa_engine.vectors": TABLE
    | {"tosa_engine.arrays", "tosa_engine.files", "tosa_engine.layouts", "tosa_engine.probe"},
    "tosa_engine.compare": RUN
    | {"tosa_engine.runtime", "tosa_engine.watch", "tosa_engine.arrays"}
    | {"tosa_engine.device", "tosa_engine.layouts", "tosa_engine.serialize"},
    "tosa_engine.probe": TABLE,
    "tosa_engine.load": {"tosa_engine.errors", "tosa_engine.formats", "tosa_engine.types"},
    "tosa_engine.plan": PLAN | {"tosa_engine.probe"},
    "tosa_engine.runtime": RUN | {"tosa_engine.serialize"},
    "tosa_engine.compliance": RUN
    | {"tosa_engine.lower"}
    | {"tosa_engine.runtime", "tosa_engine.serialize", "tosa_engine.arrays", "tosa_engine.compare"}
    | {"tosa_engine.cluster", "tosa_engine.journal"},
    "tosa_engine.npu": GRAPHS | {"tosa_engine.toml", "tosa_engine.serialize"},
    "tosa_engine.profiling": RUN | {"tosa_engine.runtime", "tosa_engine.builder"},
    "tosa_engine.stimuli": RUN | {"tosa_engine.runtime", "tosa_engine.watch"},
    "tosa_engine.commands": RUN
    | {"tosa_engine.runtime", "tosa_engine.arrays", "tosa_engine.compare", "tosa_engine.builder"}
    | {"tosa_engine.serialize", "tosa_engine.samples", "tosa_engine.plugins", "tosa_engine.profiling"}
    | {"tosa_engine.stimuli"}
    | {"tosa_engine.files", "tosa_engine.compliance", "tosa_engine.cluster", "tosa_engine.layouts"}
    | {"tosa_engine.vectors", "tosa_engine.device", "tosa_engine.npu"},
    "tosa_engine.cli": {
        "tosa_engine.commands",
        "tosa_engine.errors",
        "tosa_engine.memory",
        "tosa_engine.plugins",
        "tosa_engine.text",
    },
    "quant": {"tosa_engine", "quant", "lut"},
}
# Inside of a room, a part (a folder or a file; "" is the room's `__init__.py`) may import from the parts in the lines
# above its own, and from itself. No modules of a room form a circle, not with late imports nor with those for types.
INSIDE: dict[str, tuple[tuple[str, ...], ...]] = {
    "tosa_engine.kernels": (
        ("_jit", "bounds", "shared_constants"),
        ("walk", "work"),
        ("elementwise", "forms", "in_place", "layout"),
        ("scale",),
        ("reductions", "small", "table"),
        ("images", "tile"),
        ("depthwise", "floats", "int48", "wide", "winograd"),
        # the families of the specification
        ("comparison", "control_flow", "custom", "data_layout", "data_nodes", "ewise_binary", "ewise_ternary")
        + ("ewise_unary", "fft", "image", "reduction", "scatter_gather", "tensor_ops", "type_conversion", "variable"),
        ("activation_funcs", "as_conv2d", "shape"),
        ("convolution",),
        ("",),
    ),
    "tosa_engine.lower": (
        ("problems", "views"),
        ("hints", "windows"),
        ("writer",),
        ("axes", "composites", "elementary"),
        ("borders", "integers", "layout", "linear", "ranking", "scatter", "wrapping"),
        ("convolution", "fourier", "normalization", "pool", "reductions", "resize"),
        ("attention", "dynamic", "einsum", "grids", "nested", "positions", "regions"),
        ("rois",),
        ("",),
    ),
    "tosa_engine.compliance": (
        ("accuracy", "cases", "coverage", "description", "doors", "engines", "inexact", "report", "resident"),
        ("judge", "reference", "runner", "suite"),
        ("known", "shrink", "survey"),
        ("campaign",),
        ("",),
    ),
    "tosa_engine.stimuli": (
        ("aim", "changes", "goals", "sieve", "slopes", "values"),
        ("layers",),
        ("output", "trials"),
        ("ways",),
        ("search",),
        ("",),
    ),
    "tosa_engine.compare": (
        ("agreement", "arrays", "forms", "names", "isolation", "pairs", "rounding", "trial", "where"),
        ("device_dumps",),
        ("dumps",),
        ("causes", "sides"),
        ("exact", "rows"),
        ("explanation", "requirement"),
        ("comparison",),
        ("samples_comparison",),
        ("output",),
        ("samples_output",),
        ("",),
    ),
    "quant": (
        ("pieces", "ranges"),
        ("metrics",),
        ("legalize",),
        ("calibration",),
        ("evaluation", "improve"),
        ("search",),
        ("report",),
        ("commands",),
        ("",),
    ),
    "tosa_engine.plan": (
        ("proofs", "steps"),
        ("batch", "describe", "single"),
        ("memory",),
        ("rewrite",),
        ("block",),
        ("",),
    ),
    "tosa_engine.runtime": (
        ("deadline", "memory", "ports"),
        ("bound",),
        ("program", "real"),
        ("threads", "workspace"),
        ("verdict",),
        ("direct", "team"),
        ("clock", "held"),
        ("profile",),
        ("blocks",),
        ("batch_parallel", "warm_up"),
        ("pool", "plain_floats", "ahead"),
        ("plain",),
        ("first", "batches", "planner"),
        ("session",),
        ("compiling",),
        ("",),
    ),
    "tosa_engine.frontends.common_ir": (
        ("rules",),
        ("reading", "shapes"),
        ("kinds",),
        ("data", "document"),
        ("collections", "imports"),
        ("validity",),
        ("flatten",),
        ("to_onnx",),
        ("declarations",),
        ("from_onnx", "source"),
        ("convert",),
        ("format",),
        ("",),
    ),
    "tosa_engine.frontends.onnx": (
        ("elements", "nodes"),
        ("model", "values"),
        ("bodies", "writer"),
        ("narrowing",),
        ("call", "ports", "signature"),
        ("arguments",),
        ("rules",),
        ("evaluator",),
        ("operators",),
        ("hints", "mapping"),
        ("source",),
        ("format",),
        ("",),
    ),
    "tosa_engine.frontends.stablehlo": (
        ("child", "elements"),
        ("module", "values"),
        ("reading", "writer"),
        ("call", "recognized"),
        ("ports", "rules"),
        ("operators",),
        ("mapping",),
        ("source",),
        ("format", "from_jax"),
        ("",),
    ),
    "tosa_engine.frontends.tflite": (
        ("mlir", "schema"),
        ("children", "model"),
        ("mending",),
        ("source",),
        ("format",),
        ("",),
    ),
    "tosa_engine.frontends.skriptnd": (
        ("language",),
        ("library", "names", "shapes", "tensors"),
        ("binding",),
        ("frames", "writer"),
        ("control", "lowering", "operators"),
        ("compose", "hints"),
        ("interpret", "mapping", "saving", "validity"),
        ("source",),
        ("conversion",),
        ("format",),
        ("",),
    ),
    "tosa_engine.frontends.nnef": (
        ("language",),
        ("files",),
        ("build", "flattening", "widths"),
        ("updates",),
        ("operations",),
        ("mapping",),
        ("document", "quantized"),
        ("validity", "writer"),
        ("source",),
        ("format",),
        ("",),
    ),
    "tosa_engine.frontends.nnef.language": (
        ("", "kinds", "rules"),
        ("syntax",),
        ("declarations", "extensions", "tree"),
        ("arithmetic", "fast", "labels"),
        ("constant", "fast_quant", "lalr"),
        ("parser",),
        ("library",),
        ("flat",),
        ("emission",),
        ("vendor",),
        ("bent",),
        ("arguments",),
        ("invocations",),
        ("typecheck",),
        ("evaluate", "semantics"),
    ),
}
