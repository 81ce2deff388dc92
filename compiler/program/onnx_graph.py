"""Building blocks of an ONNX graph: nodes with one output, shared constants, exact sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from edgemon.compiler.program.ir import Program

Array = npt.NDArray[Any]

F32 = np.float32


class OnnxGraph:
    """An ONNX graph that grows node by node; values are known by their names."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[tuple[str, bytes, tuple[int, ...]], str] = {}
        self.initialisers: list[onnx.TensorProto] = []

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
