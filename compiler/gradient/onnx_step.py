"""x -> x + step * sign(gradient of log S_y(x; T)) as an ONNX model; see ``tflite_step``."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from onnx import helper

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.codes import Codes
from edgemon.compiler.gradient.onnx_backward import Backward
from edgemon.compiler.gradient.onnx_rules import RULES
from edgemon.compiler.gradient.onnx_writer import OnnxWriter
from edgemon.compiler.gradient.refused import of_another_input, of_classes, of_integers
from edgemon.compiler.models import onnx_graph
from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.runtime.preprocess import InputSpec

Steps = npt.NDArray[np.float32]

_LAST = ("Softmax", "LogSoftmax")  # passed over at the end
_SAME = ("Identity", "Flatten", "Reshape", "Squeeze", "Dropout")  # that may follow them
_INTEGERS = ("int8", "uint8")


def step_model(
    source: OnnxModel, entry: InputSpec, codes: Codes, step: Steps, temperature: float
) -> bytes:
    """The companion of a float ONNX model ``source``, for a classifier with the input ``entry``.

    ``step``: in the real values of that input, one or of each channel; ``codes``: what they are of
    an integer input. Raises CompileError, in a sentence, for an operator without a gradient,
    and where the model is not a float one of the same input.
    """
    file = OnnxWriter(source)
    x = file.entry
    if file.shapes[x] != entry.tensor_shape:
        raise of_another_input(file.shapes[x], entry.tensor_shape)
    if file.dtypes[x] in _INTEGERS:
        raise of_integers()
    if file.dtypes[x] != "float32":
        raise CompileError(f"monitor odin: no gradient of a model that takes {file.dtypes[x]}")
    logits = _logits(file)
    back = Backward(file, x, RULES)
    gradient = back.of_entry(logits, _of_logits(file, logits, temperature))
    sign = back.op("Sign", (gradient,), entry.tensor_shape)
    moved = back.op("Mul", (sign, file.constant(step)), entry.tensor_shape)
    made = back.op("Add", (x, moved), entry.tensor_shape)
    return file.content(*_as_taken(file, entry, codes, x, made))


def codes_of(model: OnnxModel) -> Codes:
    """Of an integer input, as the first operator of the model reads them. Raises CompileError for
    one that reads them in another way."""
    entry = model.names[model.graph.inputs[0]]
    parsed = onnx_graph.parse(model.content)
    stored = onnx_graph.constant_values(parsed)
    for node in parsed.graph.node:
        if entry not in node.input:
            continue
        known = [stored.get(name) for name in node.input[1:] if name]
        if node.op_type == "Cast":
            return Codes()
        if node.op_type == "DequantizeLinear" and all(v is not None and v.size == 1 for v in known):
            scale, *zero = [float(v.ravel()[0]) for v in known if v is not None]
            return Codes(scale, int(zero[0]) if zero else 0)
    raise CompileError(
        "monitor odin: what the codes of the model's input mean is not said by a DequantizeLinear "
        "of it; odin_t needs no companion"
    )


def _logits(file: OnnxWriter) -> str:
    """What a softmax at the end takes, else the output."""
    makers = {name: node for node in file.graph.node for name in node.output}
    name = file.output
    while name in makers and makers[name].op_type in (*_LAST, *_SAME):
        node = makers[name]
        name = str(node.input[0])
        if node.op_type in _LAST:
            return name
    return file.output


def _of_logits(file: OnnxWriter, logits: str, temperature: float) -> str:
    shape = file.shapes[logits]
    classes = math.prod(shape)
    if max(shape, default=0) != classes or classes < 2:
        raise of_classes(shape)
    flat = file.op("Reshape", (logits, file.integers((1, classes))), (1, classes))
    top = file.op("ArgMax", (flat,), (1,), "int64", axis=1, keepdims=0)
    depth = file.constant(np.array(classes, np.int64))
    unit = file.op("OneHot", (top, depth, file.floats(0.0, 1.0)), (1, classes), axis=-1)
    cooled = file.op("Mul", (flat, file.floats(1 / temperature)), (1, classes))
    softmax = file.op("Softmax", (cooled,), (1, classes), axis=1)
    found = file.op("Sub", (unit, softmax), (1, classes))
    return file.op("Reshape", (found, file.integers(shape)), shape)


def _as_taken(
    file: OnnxWriter, entry: InputSpec, codes: Codes, x: str, made: str
) -> tuple[str, str]:
    """Input and output in the type of the classifier's input. Codes are rounded half to even and
    saturated, without QuantizeLinear: an ONNX input has no scale, and so has what stands for it."""
    if entry.dtype == "float32":
        return x, made
    if entry.dtype not in _INTEGERS:
        raise CompileError(f"monitor odin: no companion for an input of {entry.dtype}")
    shape, limits = entry.tensor_shape, np.iinfo(entry.dtype)
    scale, zero = file.floats(codes.scale), file.floats(float(codes.zero_point))
    taken, wide, centred = file.name(), file.name(), file.name()
    file.shapes[taken], file.dtypes[taken] = shape, entry.dtype
    forward = list(file.graph.node)
    del file.graph.node[:]
    file.graph.node.extend([
        helper.make_node("Cast", [taken], [wide], to=1),
        helper.make_node("Sub", [wide, zero], [centred]),
        helper.make_node("Mul", [centred, scale], [x]), *forward,
    ])  # fmt: skip
    found = file.op("Round", (file.op("Div", (made, scale), shape),), shape)
    found = file.op("Add", (found, zero), shape)
    ends = (file.floats(float(limits.min)), file.floats(float(limits.max)))
    found = file.op("Clip", (found, *ends), shape)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(entry.dtype))
    return taken, file.op("Cast", (found,), shape, entry.dtype, to=kind)
