"""A device program as an ONNX model, for ONNX Runtime on servers and in simulations.

One small function an op, as in ``reference.py``; the results are equal bit for bit. Float sums
and polynomials are spelled out operation by operation, because ``ReduceSum`` and ``Exp`` would
choose an order of their own. Trees become a ``TreeEnsembleRegressor`` over whole numbers: float32
holds them exactly.

Inputs: one a tap, (n, length) in the tap's dtype, named ``tap_0``, ``tap_1``, ... (tensor names
are in the documentation strings). Outputs: ``verdict`` (n,), ``predicted`` (n,), ``reason`` (n,),
``verdicts`` (n, M), all int32, and ``score_0``, ``score_1``, ... (n,) in raw units.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from edgemon.compiler.errors import CompileError
from edgemon.compiler.forest import Forest
from edgemon.compiler.ir import NO_BOX, Monitor, Node, Program
from edgemon.compiler.reference import (
    EXP_COEFFICIENTS,
    EXP_LIMIT,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    LOG_COEFFICIENTS,
    LOG_SMALLEST,
    SCORE,
    TAP_VALUE,
)
from edgemon.runtime.evaluation import Verdict

Array = npt.NDArray[Any]

OPSET, ML_OPSET, IR_VERSION = 18, 3, 9
F32 = np.float32
LARGEST_EXACT = 1 << 24  # whole numbers up to here are exact in float32
EXPONENTS = np.arange(-126, 128)


def emit(program: Program, metadata: Mapping[str, Any]) -> bytes:
    """The serialised model."""
    content: bytes = _Emitter(program).model(metadata).SerializeToString(deterministic=True)
    return content


class _Emitter:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[tuple[str, bytes, tuple[int, ...]], str] = {}
        self.initialisers: list[onnx.TensorProto] = []
        self.names: list[str] = []  # of the values, by id

    # Building blocks.

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add an ONNX node with one output; returns the output's name."""
        output = f"v{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, list(inputs), [output], domain=domain, **attributes)
        )
        return output

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Name of an initialiser with this content; equal ones are shared."""
        array = np.ascontiguousarray(np.asarray(value, dtype))
        key = (array.dtype.str, array.tobytes(), np.shape(value))
        if key not in self.constants:
            name = f"c{len(self.constants)}"
            self.constants[key] = name
            self.initialisers.append(numpy_helper.from_array(array.reshape(np.shape(value)), name))
        return self.constants[key]

    def cast(self, x: str, dtype: Any) -> str:
        return self.op("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def columns(self, x: str, start: int, stop: int) -> str:
        axis = self.constant([1], np.int64)
        bounds = (self.constant([start], np.int64), self.constant([stop], np.int64))
        return self.op("Slice", x, *bounds, axis)

    def reduce(self, kind: str, x: str, axis: int, *, keep: bool = True) -> str:
        return self.op(kind, x, self.constant([axis], np.int64), keepdims=int(keep))

    def horner(self, x: str, coefficients: tuple[np.float32, ...]) -> str:
        p = self.constant(coefficients[-1])
        for c in coefficients[-2::-1]:
            p = self.op("Add", self.op("Mul", p, x), self.constant(c))
        return p

    def plus_zero(self, x: str) -> str:
        """-0 becomes +0 (an addition of 0 would be optimised away)."""
        zero = self.constant(F32(0))
        return self.op("Where", self.op("Equal", x, zero), zero, x)

    # The whole model.

    def model(self, metadata: Mapping[str, Any]) -> onnx.ModelProto:
        program = self.program
        inputs = []
        faults = []
        for index, tap in enumerate(program.taps):
            name = f"tap_{index}"
            dtype = helper.np_dtype_to_tensor_dtype(np.dtype(tap.dtype))
            inputs.append(
                helper.make_tensor_value_info(name, dtype, ["n", tap.length], doc_string=tap.name)
            )
            if tap.dtype == "float32":
                strange = self.op("Or", self.op("IsNaN", name), self.op("IsInf", name))
                counted = self.reduce("ReduceMax", self.cast(strange, np.int32), 1)
                faults.append(self.cast(counted, np.bool_))
                # A faulty row is evaluated on zeros, so that nothing undefined spreads.
                name = self.op("Where", faults[-1], self.constant(F32(0)), name)
            else:
                name = self.cast(name, np.int32)
            self.names.append(name)
        for node in program.nodes:
            self.names.append(OPS[node.op](self, node, *(self.names[i] for i in node.inputs)))
        outputs = self._decisions(faults)
        graph = helper.make_graph(
            self.nodes, "edgemon", inputs, outputs, initializer=self.initialisers
        )
        model = helper.make_model(
            graph,
            producer_name="edgemon",
            ir_version=IR_VERSION,
            opset_imports=[
                helper.make_opsetid("", OPSET),
                helper.make_opsetid("ai.onnx.ml", ML_OPSET),
            ],
        )
        helper.set_model_props(model, {"edgemon": json.dumps(metadata, sort_keys=True)})
        return model

    def _decisions(self, faults: list[str]) -> list[onnx.ValueInfoProto]:
        faulty = faults[0] if faults else None
        for other in faults[1:]:
            faulty = self.op("Or", faulty or other, other)
        outputs: list[onnx.ValueInfoProto] = []
        verdicts, broken = [], []
        for index, monitor in enumerate(self.program.monitors):
            score, verdict, bad = self._decide(monitor, faulty)
            dtype = self.program.value(monitor.score).dtype
            outputs.append(self._output(f"score_{index}", self._flat(score), dtype, monitor.name))
            verdicts.append(verdict)
            broken += [bad] if bad else []
        together = self.op("Concat", *verdicts, axis=1)
        worst = self.reduce("ReduceMax", together, 1)
        reason = self.op("Mul", worst, self.constant(0, np.int32))
        for bad in broken:
            reason = self.op("Where", bad, self.constant(SCORE, np.int32), reason)
        predicted = self.names[self.program.predicted]
        if faulty:
            reason = self.op("Where", faulty, self.constant(TAP_VALUE, np.int32), reason)
            predicted = self.op("Where", faulty, self.constant(-1, np.int32), predicted)
        return [
            self._output(
                "verdict", self._flat(worst), "int32", "0 trust 1 uncertain 2 alarm 3 fault"
            ),
            self._output("predicted", self._flat(predicted), "int32", "the classifier's class"),
            self._output("reason", self._flat(reason), "int32", "0, or the status of a fault"),
            self._output("verdicts", together, "int32", "of each monitor", len(verdicts)),
            *outputs,
        ]

    def _decide(self, monitor: Monitor, faulty: str | None) -> tuple[str, str, str | None]:
        """Score, verdict and (floats only) "the score is not finite", each (n, 1)."""
        score = self.names[monitor.score]
        dtype = np.dtype(self.program.value(monitor.score).dtype)

        def verdict(value: Verdict) -> str:
            return self.constant(int(value), np.int32)

        def above(threshold: float | int) -> str:
            return self.op("Greater", score, self.constant(threshold, dtype))

        calm = self.op(
            "Where",
            above(monitor.uncertain_above),
            verdict(Verdict.UNCERTAIN),
            verdict(Verdict.TRUST),
        )
        result = self.op("Where", above(monitor.alarm_above), verdict(Verdict.ALARM), calm)
        bad = None
        if dtype == F32:
            bad = self.op("Or", self.op("IsNaN", score), self.op("IsInf", score))
        for condition in filter(None, (bad, faulty)):
            result = self.op("Where", condition, verdict(Verdict.FAULT), result)
            score = self.op("Where", condition, self.constant(0, dtype), score)
        return score, result, bad

    def _flat(self, x: str) -> str:
        return self.op("Reshape", x, self.constant([-1], np.int64))

    def _output(
        self, name: str, x: str, dtype: str, text: str, columns: int = 0
    ) -> onnx.ValueInfoProto:
        self.nodes.append(helper.make_node("Identity", [x], [name]))
        shape = ["n", columns] if columns else ["n"]
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, shape, doc_string=text)


# --- one function an op; x and y are (n, length), int32 in place of narrower integers ------------


def _argmax(e: _Emitter, _: Node, x: str) -> str:
    return e.cast(e.op("ArgMax", x, axis=1, keepdims=1, select_last_index=0), np.int32)


def _max(e: _Emitter, node: Node, x: str) -> str:
    result = e.reduce("ReduceMax", x, 1)
    return e.plus_zero(result) if node.value.dtype == "float32" else result


def _sub(e: _Emitter, _: Node, x: str, y: str) -> str:
    return e.op("Sub", x, y)


def _lut(e: _Emitter, node: Node, x: str) -> str:
    entries, base = node.tables
    wide = e.op("Sub", e.cast(x, np.int64), e.constant(base[0], np.int64))
    last = e.constant(entries.size - 1, np.int64)
    index = e.op("Min", e.op("Max", wide, e.constant(0, np.int64)), last)
    return e.op("Gather", e.constant(entries), index)


def _sum(e: _Emitter, node: Node, x: str) -> str:
    if node.value.dtype == "int64":
        return e.reduce("ReduceSum", e.cast(x, np.int64), 1)
    length = e.program.value(node.inputs[0]).length
    padded = 1 << (length - 1).bit_length()
    if padded != length:
        x = e.op("Pad", x, e.constant([0, 0, 0, padded - length], np.int64), e.constant(F32(0)))
    while padded > 1:
        padded //= 2
        x = e.op("Add", e.columns(x, 0, padded), e.columns(x, padded, 2 * padded))
    return x


def _to_f32(e: _Emitter, node: Node, x: str) -> str:
    return e.op("Mul", e.cast(x, F32), e.constant(node.tables[0][0]))


def _exp(e: _Emitter, _: Node, x: str) -> str:
    x = e.op("Min", e.op("Max", x, e.constant(-EXP_LIMIT)), e.constant(EXP_LIMIT))
    k = e.op("Floor", e.op("Add", e.op("Mul", x, e.constant(LOG2_E)), e.constant(F32(0.5))))
    r = e.op("Sub", x, e.op("Mul", k, e.constant(LN2_HIGH)))
    r = e.op("Sub", r, e.op("Mul", k, e.constant(LN2_LOW)))
    power = e.op("Add", e.cast(k, np.int64), e.constant(-EXPONENTS[0], np.int64))
    powers = e.constant(np.ldexp(F32(1), EXPONENTS).astype(F32))
    return e.op("Mul", e.horner(r, EXP_COEFFICIENTS), e.op("Gather", powers, power))


def _log(e: _Emitter, _: Node, x: str) -> str:
    x = e.op("Max", x, e.constant(LOG_SMALLEST))
    # The exponent is the number of powers of two, above the smallest, that x reaches.
    powers = np.ldexp(F32(1), EXPONENTS).astype(F32)
    last = e.op("Unsqueeze", x, e.constant([2], np.int64))
    reached = e.op("GreaterOrEqual", last, e.constant(powers[1:]))
    index = e.reduce("ReduceSum", e.cast(reached, np.int64), 2, keep=False)
    inverse = np.ldexp(F32(1), -EXPONENTS).astype(F32)
    m = e.op("Mul", x, e.op("Gather", e.constant(inverse), index))
    k = e.cast(e.op("Add", index, e.constant(EXPONENTS[0], np.int64)), F32)
    one = e.constant(F32(1))
    s = e.op("Div", e.op("Sub", m, one), e.op("Add", m, one))
    p = e.horner(e.op("Mul", s, s), LOG_COEFFICIENTS)
    return e.op("Add", e.op("Mul", s, p), e.op("Mul", k, e.constant(LN2)))


def _add(e: _Emitter, node: Node, x: str, y: str) -> str:
    if node.value.dtype == "int64":
        return e.op("Add", e.cast(x, np.int64), e.cast(y, np.int64))
    return e.op("Add", x, y)


def _mul(e: _Emitter, _: Node, x: str, y: str) -> str:
    return e.op("Mul", x, y)


def _div(e: _Emitter, _: Node, x: str, y: str) -> str:
    return e.op("Div", x, y)


def _boxes(e: _Emitter, node: Node, x: str, y: str) -> str:
    lower, upper, weight, first = node.tables
    dtype = np.dtype(node.value.dtype)
    worst = NO_BOX[node.value.dtype]
    count = int(first[-1])
    if count == 0:
        none = e.constant(worst, dtype)
        return e.op("Where", e.op("Less", y, e.constant(0, np.int32)), none, none)
    shape = (1, count, weight.size)
    lo, hi = (e.constant(t.astype(dtype).reshape(shape)) for t in (lower, upper))
    z = e.op("Unsqueeze", x, e.constant([1], np.int64))
    outside = e.op("Max", e.op("Sub", lo, z), e.op("Sub", z, hi))
    weighted = e.op("Mul", outside, e.constant(weight.astype(dtype)))
    far = e.reduce("ReduceMax", weighted, 2, keep=False)
    owner = np.repeat(np.arange(first.size - 1), np.diff(first).astype(np.int64))
    mine = e.op("Equal", e.constant(owner[None].astype(np.int32)), y)
    nearest = e.reduce("ReduceMin", e.op("Where", mine, far, e.constant(worst, dtype)), 1)
    capped = e.op("Min", nearest, e.constant(worst, dtype))
    return e.plus_zero(capped) if dtype == F32 else capped


def _trees(e: _Emitter, node: Node, x: str) -> str:
    forest = Forest.unpack(node.tables, e.program.value(node.inputs[0]).dtype)
    if np.abs(forest.value).max(initial=0) * len(forest.roots) > LARGEST_EXACT:
        raise CompileError("trees: the leaf values are too large for ONNX's float32 sums")
    ends = (*forest.roots[1:], forest.left.size)
    constant = sum(
        int(forest.value[r]) for r, d in zip(forest.roots, forest.depths, strict=True) if d == 0
    )
    ids: list[tuple[int, int]] = []  # (tree, node) of trees with at least one split
    leaf = forest.is_leaf
    for tree, (root, end) in enumerate(zip(forest.roots, ends, strict=True)):
        if forest.depths[tree]:
            ids += [(tree, i) for i in range(root, end)]
    if not ids:
        fixed = e.constant(constant, np.int32)
        first = e.columns(x, 0, 1)
        return e.op("Where", e.op("Equal", first, first), fixed, fixed)
    at = np.array([i for _, i in ids])
    base = np.array([forest.roots[t] for t, _ in ids])
    leaves = [(t, i) for t, i in ids if leaf[i]]
    summed = e.op(
        "TreeEnsembleRegressor",
        e.cast(x, F32),
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=[t for t, _ in ids],
        nodes_nodeids=(at - base).tolist(),
        nodes_featureids=forest.feature[at].tolist(),
        nodes_modes=["LEAF" if leaf[i] else "BRANCH_LEQ" for i in at],
        nodes_values=np.where(leaf[at], 0, forest.threshold[at]).astype(float).tolist(),
        nodes_truenodeids=np.where(leaf[at], 0, forest.left[at] - base).tolist(),
        nodes_falsenodeids=np.where(leaf[at], 0, forest.left[at] + 1 - base).tolist(),
        target_treeids=[t for t, _ in leaves],
        target_nodeids=[i - forest.roots[t] for t, i in leaves],
        target_ids=[0] * len(leaves),
        target_weights=[float(forest.value[i]) for _, i in leaves],
    )
    return e.op("Add", e.cast(summed, np.int32), e.constant(constant, np.int32))


def _omit(e: _Emitter, node: Node, x: str, y: str) -> str:
    places = e.constant(np.arange(node.value.length, dtype=np.int32)[None])
    zero = e.constant(0, np.dtype(node.value.dtype))
    return e.op("Where", e.op("Equal", places, y), zero, x)


OPS: dict[str, Callable[..., str]] = {
    "argmax": _argmax,
    "max": _max,
    "sub": _sub,
    "lut": _lut,
    "sum": _sum,
    "to_f32": _to_f32,
    "exp": _exp,
    "log": _log,
    "add": _add,
    "mul": _mul,
    "div": _div,
    "boxes": _boxes,
    "trees": _trees,
    "omit": _omit,
}
