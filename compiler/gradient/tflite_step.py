"""x -> x + step * sign(gradient of log S_y(x; T)) as a TFLite model, y the class of its output.

S is the softmax of logits / T (Liang, Li, Srikant, ICLR 2018, equation 2, with the sign that raises
the confidence). With e_y the unit vector of y the gradient with regard to the logits is
(e_y - S) / T, of which the factor 1 / T changes no sign and is left out.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.refused import of_another_input, of_classes, of_integers
from edgemon.compiler.gradient.tflite_backward import Backward
from edgemon.compiler.gradient.tflite_rules import RULES
from edgemon.compiler.gradient.tflite_writer import TfliteWriter
from edgemon.runtime.preprocess import InputSpec

Steps = npt.NDArray[np.float32]

_INTEGERS = {"int8": schema.TensorType.INT8, "uint8": schema.TensorType.UINT8}


def step_model(content: bytes, entry: InputSpec, step: Steps, temperature: float) -> bytes:
    """The companion of a float TFLite model ``content``, for a classifier with the input ``entry``.

    ``step``: in the real values of that input, one or of each channel. Raises CompileError, in a
    sentence, for an operator without a gradient, and where the model is not a float one of the same
    input.
    """
    file = TfliteWriter(content)
    if len(file.graph.inputs) != 1:
        raise CompileError("monitor odin: a companion is made of models with one input alone")
    x = int(file.graph.inputs[0])
    real = _real(file, x)
    if real is None:
        raise of_integers()
    if file.shape(x) != entry.tensor_shape:
        raise of_another_input(file.shape(x), entry.tensor_shape)
    logits = _logits(file)
    gradient = Backward(file, real, RULES).of_entry(logits, _of_logits(file, logits, temperature))
    sign = file.op("SIGN", (gradient,), entry.tensor_shape)
    size = file.constant(np.atleast_1d(step))
    moved = file.op("MUL", (sign, size), entry.tensor_shape, options="MulOptions")
    made = file.op("ADD", (real, moved), entry.tensor_shape, options="AddOptions")
    return file.content(*_as_taken(file, entry, x, made))


def _logits(file: TfliteWriter) -> int:
    """What a softmax at the end takes, else the output."""
    output = int(file.graph.outputs[0])
    for operator in file.graph.operators:
        if int(operator.outputs[0]) == output and file.name(operator) == "SOFTMAX":
            return int(operator.inputs[0])
    return output


def _of_logits(file: TfliteWriter, logits: int, temperature: float) -> int:
    shape = file.shape(logits)
    if math.prod(shape[:-1]) != 1 or shape[-1] < 2:
        raise of_classes(shape)
    axis = file.constant(np.array(len(shape) - 1, np.int32))
    integer = schema.TensorType.INT32
    top = file.op(
        "ARG_MAX", (logits, axis), shape[:-1], integer, options="ArgMaxOptions", outputType=integer
    )
    values = (
        file.constant(np.array(shape[-1], np.int32)), file.constant(np.array(1, np.float32)),
        file.constant(np.array(0, np.float32)),
    )  # fmt: skip
    unit = file.op("ONE_HOT", (top, *values), shape, options="OneHotOptions", axis=-1)
    softmax = file.op("SOFTMAX", (logits,), shape, options="SoftmaxOptions", beta=1 / temperature)
    return file.op("SUB", (unit, softmax), shape, options="SubOptions")


def _real(file: TfliteWriter, x: int) -> int | None:
    """The input as floats: itself, or what a CAST of it gives."""
    if file.is_float(x):
        return x
    readers = [o for o in file.graph.operators if x in map(int, o.inputs)]
    if len(readers) == 1 and file.name(readers[0]) == "CAST":
        made = int(readers[0].outputs[0])
        return made if file.is_float(made) else None
    return None


def _as_taken(file: TfliteWriter, entry: InputSpec, x: int, made: int) -> tuple[int, int]:
    """Input and output in the type of the classifier's input."""
    if entry.dtype == "float32" and file.is_float(x):
        return x, made
    if entry.dtype not in _INTEGERS:
        raise CompileError(f"monitor odin: no companion for an input of {entry.dtype}")
    kind, shape = _INTEGERS[entry.dtype], entry.tensor_shape
    ends = [file.tensor(shape, kind, entry.scale, entry.zero_point) for _ in range(2)]
    if entry.scale and file.is_float(x):
        file.place(file.made("DEQUANTIZE", (ends[0],), x, 2, "DequantizeOptions"), first=True)
        file.place(file.made("QUANTIZE", (made,), ends[1], 1, "QuantizeOptions"))
        return ends[0], ends[1]
    if entry.scale or file.graph.tensors[x].type not in (schema.TensorType.FLOAT32, kind):
        raise CompileError("monitor odin: --float-model takes other codes than the model")
    if file.is_float(x):
        casts = {"inDataType": kind, "outDataType": schema.TensorType.FLOAT32}
        file.place(file.made("CAST", (ends[0],), x, 1, "CastOptions", **casts), first=True)
        x = ends[0]
    limits = np.iinfo(entry.dtype)
    made = file.op("ROUND", (made,), shape)
    for name, limit in (("MAXIMUM", limits.min), ("MINIMUM", limits.max)):
        inputs = (made, file.floats(float(limit)))
        made = file.op(name, inputs, shape, options="MaximumMinimumOptions")
    casts = {"inDataType": schema.TensorType.FLOAT32, "outDataType": kind}
    file.place(file.made("CAST", (made,), ends[1], 1, "CastOptions", **casts))
    return x, ends[1]
