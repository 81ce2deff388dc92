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
from edgemon.compiler.ir import Monitor, Node, Program
from edgemon.compiler.ops import NO_BOX
from edgemon.compiler.patterns import unpacked
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
    clears_overflow,
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

    def part(self, x: str, start: int, stop: int, axis: int = 1) -> str:
        """Elements start .. stop-1 along an axis."""
        bounds = (self.constant([start], np.int64), self.constant([stop], np.int64))
        return self.op("Slice", x, *bounds, self.constant([axis], np.int64))

    def shaped(self, x: str, *shape: int) -> str:
        """Reshape; 0 keeps an axis, -1 is what is left."""
        return self.op("Reshape", x, self.constant(list(shape), np.int64))

    def halving_sum(self, x: str, length: int, axis: int) -> str:
        """FORMAT.md section 7.1 along the last axis, which stays with length 1."""
        padded = 1 << (length - 1).bit_length()
        if padded != length:
            pads = [0] * axis + [0] + [0] * axis + [padded - length]
            x = self.op("Pad", x, self.constant(pads, np.int64), self.constant(F32(0)))
        while padded > 1:
            padded //= 2
            x = self.op(
                "Add", self.part(x, 0, padded, axis), self.part(x, padded, 2 * padded, axis)
            )
        return x

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
                faults.append(self._any_not_finite(name))
                # A faulty row is evaluated on zeros, so that nothing undefined spreads.
                name = self.op("Where", faults[-1], self.constant(F32(0)), name)
            else:
                name = self.cast(name, np.int32)
            self.names.append(name)
        overflows: list[str] = []
        for node in program.nodes:
            result = OPS[node.op](self, node, *(self.names[i] for i in node.inputs))
            if clears_overflow(node):
                strange = self._any_not_finite(result)
                overflows.append(strange)
                result = self.op("Where", strange, self.constant(F32(0)), result)
            self.names.append(result)
        outputs = self._decisions(self._any_of(faults), self._any_of(overflows))
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

    def _any_not_finite(self, x: str) -> str:
        """(n, 1): does a row hold a NaN or an infinity?"""
        strange = self.op("Or", self.op("IsNaN", x), self.op("IsInf", x))
        return self.cast(self.reduce("ReduceMax", self.cast(strange, np.int32), 1), np.bool_)

    def _any_of(self, conditions: list[str]) -> str | None:
        """Their disjunction; None of none."""
        result: str | None = None
        for condition in conditions:
            result = self.op("Or", result, condition) if result else condition
        return result

    def _decisions(self, faulty: str | None, overflow: str | None) -> list[onnx.ValueInfoProto]:
        outputs: list[onnx.ValueInfoProto] = []
        verdicts, broken = [], []
        for index, monitor in enumerate(self.program.monitors):
            score, verdict, bad = self._decide(monitor, faulty, overflow)
            dtype = self.program.value(monitor.score).dtype
            outputs.append(self._output(f"score_{index}", self._flat(score), dtype, monitor.name))
            verdicts.append(verdict)
            broken += [bad] if bad else []
        together = self.op("Concat", *verdicts, axis=1)
        worst = self.reduce("ReduceMax", together, 1)
        reason = self.op("Mul", worst, self.constant(0, np.int32))
        for bad in [*broken, *filter(None, [overflow])]:
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

    def _decide(
        self, monitor: Monitor, faulty: str | None, overflow: str | None
    ) -> tuple[str, str, str | None]:
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
        for condition in filter(None, (bad, overflow, faulty)):
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
    return e.halving_sum(x, e.program.value(node.inputs[0]).length, 1)


def _to_f32(e: _Emitter, node: Node, x: str) -> str:
    scale, zero = node.tables
    if e.program.value(node.inputs[0]).dtype == "float32":
        return e.op("Mul", x, e.constant(scale[0]))
    whole = e.op("Sub", e.cast(x, np.int64), e.constant(zero[0], np.int64))
    return e.op("Mul", e.cast(whole, F32), e.constant(scale[0]))


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
    source = e.program.value(node.inputs[0])
    forest = Forest.unpack(node.tables, source.dtype)
    if 1 << source.bits > LARGEST_EXACT:
        raise CompileError("trees: the input is too wide for ONNX's float32 comparisons")
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
        first = e.part(x, 0, 1)
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
        nodes_missing_value_tracks_true=[1] * len(ids),
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


def _exceeds(e: _Emitter, node: Node, x: str) -> str:
    return e.cast(e.op("Greater", x, e.constant(node.tables[0][0])), np.int32)


def _gather(e: _Emitter, node: Node, x: str) -> str:
    return e.op("Gather", x, e.constant(node.tables[0].astype(np.int64)), axis=1)


def _reduce(e: _Emitter, node: Node, x: str) -> str:
    channels = int(node.tables[0][0])
    positions = e.program.value(node.inputs[0]).length // channels
    parts = e.shaped(x, 0, positions, channels)
    if node.value.dtype == "int32":
        return e.reduce("ReduceSum", parts, 1, keep=False)
    summed = e.halving_sum(e.op("Transpose", parts, perm=[0, 2, 1]), positions, 2)
    return e.op("Mul", e.shaped(summed, 0, channels), e.constant(F32(1 / positions)))


def _affine(e: _Emitter, node: Node, x: str) -> str:
    weight, bias = node.tables
    length = weight.size // bias.size
    kind = np.dtype(node.value.dtype)
    matrix = e.constant(weight.astype(kind).reshape(1, bias.size, length))
    products = e.op("Mul", e.op("Unsqueeze", x, e.constant([1], np.int64)), matrix)
    if kind == F32:
        summed = e.shaped(e.halving_sum(products, length, 2), 0, bias.size)
    else:
        summed = e.reduce("ReduceSum", products, 2, keep=False)
    result = e.op("Add", summed, e.constant(bias.reshape(1, -1)))
    # ONNX Runtime leaves out an addition of zeros, and a sum of -0 would stay one.
    return e.plus_zero(result) if kind == F32 and not bias.all() else result


def _select(e: _Emitter, node: Node, x: str, y: str) -> str:
    length = node.value.length
    start = e.op("Mul", e.cast(y, np.int64), e.constant(length, np.int64))
    index = e.op("Add", start, e.constant(np.arange(length)[None]))
    return e.op("GatherElements", x, index, axis=1)


def _tables(e: _Emitter, node: Node, x: str) -> str:
    origin, rate, shape, entries = node.tables
    classes, bins = (int(v) for v in shape)
    t = e.op("Mul", e.op("Sub", x, e.constant(origin[None])), e.constant(rate[None]))
    t = e.op("Min", e.op("Max", t, e.constant(F32(0))), e.constant(F32(bins - 1)))
    # Row i of class c starts at (c * d + i) * G in the flat entries.
    starts = np.arange(classes * origin.size).reshape(1, classes, origin.size) * bins
    index = e.op("Unsqueeze", e.cast(t, np.int64), e.constant([1], np.int64))
    found = e.op(
        "Gather", e.constant(entries.astype(np.int32)), e.op("Add", index, e.constant(starts))
    )
    return e.reduce("ReduceSum", found, 2, keep=False)


def _kernels(e: _Emitter, node: Node, x: str) -> str:
    shape, centres, scale, log_weight = node.tables
    classes, count = (int(v) for v in shape)
    length = centres.size // (classes * count)
    centre = (centres.astype(F32) * scale).reshape(1, classes, count, length)
    u = e.op("Sub", e.shaped(x, 0, classes, 1, length), e.constant(centre))
    squares = e.halving_sum(e.op("Mul", u, u), length, 3)
    half = e.op("Mul", e.shaped(squares, 0, classes * count), e.constant(F32(0.5)))
    return e.op("Sub", e.constant(log_weight[None]), half)


def _logsumexp(e: _Emitter, node: Node, x: str) -> str:
    groups = node.value.length
    size = e.program.value(node.inputs[0]).length // groups
    parts = e.shaped(x, 0, groups, size)
    top = e.reduce("ReduceMax", parts, 2)
    grown = e.halving_sum(_exp(e, node, e.op("Sub", parts, top)), size, 2)
    return e.op("Add", e.shaped(top, 0, groups), _log(e, node, e.shaped(grown, 0, groups)))


def _distances(e: _Emitter, node: Node, x: str) -> str:
    (centres,) = node.tables
    length = e.program.value(node.inputs[0]).length
    grid = centres.reshape(1, -1, length)
    u = e.op("Sub", e.op("Unsqueeze", x, e.constant([1], np.int64)), e.constant(grid))
    return e.shaped(e.halving_sum(e.op("Mul", u, u), length, 2), 0, grid.shape[1])


def _concat(e: _Emitter, _: Node, x: str, y: str) -> str:
    return e.op("Concat", x, y, axis=1)


def _hamming(e: _Emitter, node: Node, x: str, y: str) -> str:
    threshold, index, patterns, first = node.tables
    classes = first.size - 1
    length = index.size // classes or threshold.size
    bits = e.cast(e.op("Greater", x, e.constant(threshold[None])), F32)
    if index.size:
        own = e.op("Gather", e.constant(index.reshape(classes, -1).astype(np.int64)), y, axis=0)
        bits = e.op("GatherElements", bits, e.shaped(own, 0, length), axis=1)
    # One more pattern, which no class owns, keeps the product from being empty.
    known = np.vstack([unpacked(patterns, length), np.zeros((1, length), bool)])
    place = np.arange(len(known) - 1)
    owner = np.append(np.searchsorted(first[1:], place, side="right"), -1)
    signs = e.cast(e.constant(1 - 2 * known.T.astype(np.int8)), F32)
    ones = e.constant(known.sum(axis=1).astype(F32)[None])
    apart = e.op("Add", e.op("MatMul", bits, signs), ones)  # exact: whole numbers, and small
    mine = e.op("Equal", y, e.constant(owner.astype(np.int32)[None]))
    nearest = e.op("Where", mine, apart, e.constant(F32(length + 1)))
    return e.cast(e.reduce("ReduceMin", nearest, 1), np.int32)


def _clip(e: _Emitter, node: Node, x: str) -> str:
    upper = e.constant(node.tables[0][0])
    return e.op("Where", e.op("Greater", x, upper), upper, x)  # a NaN stays


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
    "exceeds": _exceeds,
    "gather": _gather,
    "reduce": _reduce,
    "affine": _affine,
    "select": _select,
    "tables": _tables,
    "kernels": _kernels,
    "distances": _distances,
    "logsumexp": _logsumexp,
    "concat": _concat,
    "hamming": _hamming,
    "clip": _clip,
}
