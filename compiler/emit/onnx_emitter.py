"""A device program as an ONNX model, for ONNX Runtime on servers and in simulations.

The ops are ``Op.onnx``; the results are equal to the reference bit for bit. Float sums
and polynomials are spelled out operation by operation, because ``ReduceSum`` and ``Exp`` would
choose an order of their own. Trees become a ``TreeEnsembleRegressor`` over whole numbers: float32
holds them exactly.

Inputs: one a tap, (n, length) in the tap's dtype, named ``tap_0``, ``tap_1``, ... (tensor names
are in the documentation strings, with ``@mirror`` where the inference on the mirrored image gives
the tap). Outputs: ``verdict`` (n,), ``predicted`` (n,), ``reason`` (n,),
``verdicts`` (n, M), all int32, and ``score_0``, ``score_1``, ... (n,) in raw units.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from edgemon.compiler.program.ir import Monitor, Program
from edgemon.compiler.program.onnx_graph import F32, OnnxGraph
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.program.reference import SCORE, TAP_VALUE
from edgemon.runtime.evaluation import Verdict

OPSET, ML_OPSET, IR_VERSION = 18, 3, 9


def emit(program: Program, metadata: Mapping[str, Any]) -> bytes:
    """The serialised model."""
    content: bytes = _Emitter(program).model(metadata).SerializeToString(deterministic=True)
    return content


class _Emitter(OnnxGraph):
    """The whole model: taps, every op, decisions."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.names: list[str] = []  # of the program's values, by id

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
        cleared: list[str] = []
        for node in program.nodes:
            result = OPS[node.op].onnx(self, node, *(self.names[i] for i in node.inputs))
            if node.value.dtype == "float32":
                cleared.append(self._any_not_finite(result))
                result = self.op("Where", cleared[-1], self.constant(F32(0)), result)
            self.names.append(result)
        outputs = self._decisions(self._any_of(faults), self._any_of(cleared))
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
        nothing = self.op("Mul", x, self.constant(F32(0)))  # of no number: NaN, which sums keep
        return self.op("IsNaN", self.reduce("ReduceSum", nothing, 1))

    def _any_of(self, conditions: list[str]) -> str | None:
        """Their disjunction; None where there is none."""
        result: str | None = None
        for condition in conditions:
            result = self.op("Or", result, condition) if result else condition
        return result

    def _decisions(self, faulty: str | None, cleared: str | None) -> list[onnx.ValueInfoProto]:
        outputs: list[onnx.ValueInfoProto] = []
        verdicts = []
        for index, monitor in enumerate(self.program.monitors):
            score, verdict = self._decide(monitor, faulty, cleared)
            dtype = self.program.value(monitor.score).dtype
            outputs.append(self._output(f"score_{index}", self._flat(score), dtype, monitor.name))
            verdicts.append(verdict)
        together = self.op("Concat", *verdicts, axis=1)
        worst = self.reduce("ReduceMax", together, 1)
        reason = self.op("Mul", worst, self.constant(0, np.int32))
        if cleared:
            reason = self.op("Where", cleared, self.constant(SCORE, np.int32), reason)
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

    def _decide(self, monitor: Monitor, faulty: str | None, cleared: str | None) -> tuple[str, str]:
        """Score and verdict, each (n, 1)."""
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
        for condition in filter(None, (cleared, faulty)):
            result = self.op("Where", condition, verdict(Verdict.FAULT), result)
            score = self.op("Where", condition, self.constant(0, dtype), score)
        return score, result

    def _flat(self, x: str) -> str:
        return self.op("Reshape", x, self.constant([-1], np.int64))

    def _output(
        self, name: str, x: str, dtype: str, text: str, columns: int = 0
    ) -> onnx.ValueInfoProto:
        self.nodes.append(helper.make_node("Identity", [x], [name]))
        shape = ["n", columns] if columns else ["n"]
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, shape, doc_string=text)
