"""R as an int8 TFLite companion: (image, the classifier's own output) to the redrawn image.

Built-in ops only. The class is the largest of the classifier's output, found in the companion
itself: ARG_MAX takes the first on a tie, as edgemon does.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError

Floats = npt.NDArray[np.float32]
SAMPLE = 200  # rows that ranges of activations are taken from
FILE_IDENTIFIER = b"TFL3"
DTYPES = {"int8": "INT8", "uint8": "UINT8", "float32": "FLOAT32"}


@dataclass(frozen=True)
class Ends:
    """What stands for pixels 0 and 255 in the classifier's input, whose type is ``dtype``."""

    low: float
    high: float
    dtype: str

    def unit(self, x: npt.NDArray[Any]) -> Floats:
        """Values of the input as numbers in [0, 1]."""
        return ((x - self.low) / (self.high - self.low)).astype(np.float32)


def companion(
    network: Any, ends: Ends, sample: Floats, classes: npt.NDArray[np.int64],
    scores: tuple[str, tuple[int, ...]] | None,
) -> bytes:  # fmt: skip
    """``sample`` (n, h, w, c) in [0, 1] with its classes; ``scores``: type and shape of the
    classifier's output, None for a companion of the image alone (one class). Raises BenchError."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    types = {"float32": tf.float32, "int8": tf.int8, "uint8": tf.uint8}
    if ends.dtype not in types or (scores is not None and scores[0] not in DTYPES):
        raise BenchError(
            f"the model's input is {ends.dtype}"
            + ("" if scores is None else f" and its output {scores[0]}")
            + f"; companions are for {', '.join(DTYPES)}"
        )
    span, shape = ends.high - ends.low, sample.shape[1:]
    plain = (ends.low, span) == (0.0, 1.0)

    def redraw(image: Any, chosen: Any) -> Any:
        unit = image if plain else (image - ends.low) * (1 / span)
        drawn = network([unit, chosen], training=False)
        return drawn if plain else drawn * span + ends.low

    def redraw_alone(image: Any) -> Any:
        return redraw(image, tf.zeros((1,), tf.int32))

    image = tf.TensorSpec((1, *shape), tf.float32, name="image")
    if scores is None:
        function = tf.function(redraw_alone, input_signature=[image])
    else:
        chosen = tf.TensorSpec((1,), tf.int32, name="class")
        function = tf.function(redraw, input_signature=[image, chosen])
    frozen = convert_variables_to_constants_v2(function.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen], network)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: _sample(sample, classes, ends, scores is None)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = types[ends.dtype]
    return _finished(converter.convert(), scores)


def _sample(
    x: Floats, classes: npt.NDArray[np.int64], ends: Ends, alone: bool
) -> Iterator[list[npt.NDArray[Any]]]:
    """Also a black and a white image, so that the input's range is the whole one."""
    rows = [x[:1] * 0, x[:1] * 0 + 1, *(x[i : i + 1] for i in range(min(SAMPLE, len(x))))]
    for i, row in enumerate(rows):
        value = (row * (ends.high - ends.low) + ends.low).astype(np.float32)
        chosen = classes[max(0, i - 2) : max(0, i - 2) + 1].astype(np.int32)
        yield [value] if alone else [value, chosen]


def _finished(content: bytes, scores: tuple[str, tuple[int, ...]] | None) -> bytes:
    """The same model, with the classifier's output as an input in place of the class, and the
    redrawn image in the codes of the given one, so that the two can be compared code by code."""
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    _in_codes_of_the_input(model, schema)
    if scores is not None:
        _by_largest(model, schema, *scores)
    model.signatureDefs = []
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), FILE_IDENTIFIER)
    return bytes(builder.Output())


def _in_codes_of_the_input(model: Any, schema: Any) -> None:
    (graph,) = model.subgraphs
    given = next(graph.tensors[i] for i in graph.inputs if len(graph.tensors[i].shape) == 4)
    drawn = graph.tensors[graph.outputs[0]]
    if given.type == schema.TensorType.FLOAT32 or _grid(given) == _grid(drawn):
        return
    last = copy.copy(drawn)
    last.name, last.buffer, last.quantization = b"redrawn", 0, copy.copy(given.quantization)
    graph.tensors.append(last)
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.QUANTIZE
    code.version = 2  # from codes to codes
    model.operatorCodes.append(code)
    step = schema.OperatorT()
    step.opcodeIndex = len(model.operatorCodes) - 1
    step.inputs, step.outputs = [graph.outputs[0]], [len(graph.tensors) - 1]
    step.builtinOptionsType = schema.BuiltinOptions.QuantizeOptions
    step.builtinOptions = schema.QuantizeOptionsT()
    graph.operators.append(step)
    graph.outputs = [len(graph.tensors) - 1]


def _grid(tensor: Any) -> tuple[float, int]:
    return float(tensor.quantization.scale[0]), int(tensor.quantization.zeroPoint[0])


def _by_largest(model: Any, schema: Any, dtype: str, shape: tuple[int, ...]) -> None:
    (graph,) = model.subgraphs
    index = next(i for i in graph.inputs if graph.tensors[i].type == schema.TensorType.INT32)
    scores, axis = schema.TensorT(), schema.TensorT()
    scores.name, scores.type = b"scores", getattr(schema.TensorType, DTYPES[dtype])
    scores.shape, scores.buffer = list(shape), 0
    last = schema.BufferT()
    last.data = np.frombuffer(np.array(len(shape) - 1, np.int32).tobytes(), np.uint8)
    model.buffers.append(last)
    axis.name, axis.type, axis.shape = b"axis", schema.TensorType.INT32, []
    axis.buffer = len(model.buffers) - 1
    graph.tensors += [scores, axis]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.ARG_MAX
    code.version = 2
    model.operatorCodes.append(code)
    search, options = schema.OperatorT(), schema.ArgMaxOptionsT()
    options.outputType = schema.TensorType.INT32
    search.opcodeIndex = len(model.operatorCodes) - 1
    search.inputs, search.outputs = [len(graph.tensors) - 2, len(graph.tensors) - 1], [index]
    search.builtinOptionsType = schema.BuiltinOptions.ArgMaxOptions
    search.builtinOptions = options
    graph.operators.insert(0, search)
    graph.inputs = [len(graph.tensors) - 2 if i == index else i for i in graph.inputs]
