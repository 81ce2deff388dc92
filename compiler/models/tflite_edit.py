"""TFLite files changed: outputs added or left out, inputs made constants, all else as it is.

Changes are made by appending: new vectors and tables go behind the file's last byte, and the few
offsets that must lead to them are rewritten. Weights, options and everything that this schema
does not know stay as they are, byte for byte, at their alignment.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.models.graph import Graph, Tensor, UnsupportedError
from edgemon.compiler.models.selection import fitting, unknown_input
from edgemon.compiler.models.tflite_graph import decoded

ALIGNMENT = 16
# Slots of the schema's tables: the field n of a table is at 4 + 2 * n in its vtable.
_SUBGRAPH_TENSORS = 4 + 2 * 0
_SUBGRAPH_OUTPUTS = 4 + 2 * 2
_SUBGRAPH_INPUTS = 4 + 2 * 1
_SIGNATURE_OUTPUTS = 4 + 2 * 1
_SIGNATURE_INPUTS = 4 + 2 * 0
_MODEL_BUFFERS = 4 + 2 * 4

Array = npt.NDArray[Any]


def with_outputs(content: bytes, graph: Graph, added: Mapping[int, str]) -> bytes:
    """The same model with more outputs: ``added`` maps tensor indices to the names that the
    outputs get, in the tensor itself and in every signature of the first subgraph."""
    file = _Appender(content)
    subgraph = schema.Model.GetRootAs(content, 0).Subgraphs(0)
    _set_outputs(file, subgraph, [*graph.outputs, *added])
    tensors = subgraph._tab.Vector(subgraph._tab.Offset(_SUBGRAPH_TENSORS))
    for index, name in added.items():
        tensor = schema.TensorT.InitFromObj(subgraph.Tensors(index))
        if decoded(tensor.name) != name:
            tensor.name = name
            file.point(tensors + 4 * index, file.append(tensor.Pack))
    for signature, found in _signatures(content):
        taken = {decoded(name) for name, _ in found}
        more = [(n if n not in taken else f"{n}#{i}", i) for i, n in added.items()]
        _set_signature(file, signature, found + more)
    return file.content()


def keep_outputs(content: bytes, count: int) -> bytes:
    """The same model with its first ``count`` outputs only."""
    file = _Appender(content)
    subgraph = schema.Model.GetRootAs(content, 0).Subgraphs(0)
    kept = [int(subgraph.Outputs(i)) for i in range(min(count, subgraph.OutputsLength()))]
    _set_outputs(file, subgraph, kept)
    for signature, found in _signatures(content):
        _set_signature(file, signature, [(name, i) for name, i in found if i in kept])
    return file.content()


def only_output(content: bytes, graph: Graph, index: int) -> bytes:
    """The same model with this tensor as its only output; signatures keep it where they have it."""
    if index not in graph.outputs:
        content = with_outputs(content, graph, {index: graph.tensors[index].name})
    file = _Appender(content)
    _set_outputs(file, schema.Model.GetRootAs(content, 0).Subgraphs(0), [index])
    for signature, found in _signatures(content):
        _set_signature(file, signature, [(name, i) for name, i in found if i == index])
    return file.content()


def fix_inputs(content: bytes, graph: Graph, values: Mapping[str, Array]) -> bytes:
    """The same model with constants in place of inputs, which are named as in the graph. Raises
    UnsupportedError for a value that does not fit."""
    for name, value in values.items():
        index = next((i for i in graph.inputs if name in _input_names(graph.tensors[i])), None)
        if index is None:
            raise unknown_input(name, (graph.tensors[i].name for i in graph.inputs))
        content = _with_constant(
            content, graph.tensors[index], fitting(graph.tensors[index], value)
        )
    return content


def _input_names(tensor: Tensor) -> tuple[str, str]:
    """As it is in the file, and as it was in the Keras model."""
    return tensor.name, tensor.name.removeprefix("serving_default_").removesuffix(":0")


def _with_constant(content: bytes, tensor: Tensor, value: Array) -> bytes:
    """With the tensor as a constant, and no input."""
    file, model = _Appender(content), schema.Model.GetRootAs(content, 0)
    subgraph = model.Subgraphs(0)
    buffer = _free_buffer(model, tensor.index)
    made = schema.BufferT()
    made.data = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)
    buffers = model._tab.Vector(model._tab.Offset(_MODEL_BUFFERS))
    file.point(buffers + 4 * buffer, file.append(made.Pack))
    changed = schema.TensorT.InitFromObj(subgraph.Tensors(tensor.index))
    changed.buffer, changed.shape, changed.shapeSignature = buffer, list(value.shape), None
    tensors = subgraph._tab.Vector(subgraph._tab.Offset(_SUBGRAPH_TENSORS))
    file.point(tensors + 4 * tensor.index, file.append(changed.Pack))
    kept = [int(i) for i in subgraph.InputsAsNumpy() if int(i) != tensor.index]
    at = subgraph._tab.Pos + subgraph._tab.Offset(_SUBGRAPH_INPUTS)
    file.point(at, file.append(lambda builder: _int_vector(builder, kept)))
    for i in range(model.SignatureDefsLength()):
        signature = model.SignatureDefs(i)
        if signature.SubgraphIndex() == 0 and not signature.InputsIsNone():
            maps = [signature.Inputs(j) for j in range(signature.InputsLength())]
            named = [(m.Name(), int(m.TensorIndex())) for m in maps]
            rest = [(n, t) for n, t in named if t != tensor.index]
            at = signature._tab.Pos + signature._tab.Offset(_SIGNATURE_INPUTS)
            file.point(at, file.append(lambda builder, rest=rest: _map_vector(builder, rest)))
    return file.content()


def _free_buffer(model: Any, index: int) -> int:
    """The buffer of a tensor if no other has it, else one that no tensor has; the first is that of
    all tensors without data."""
    used = Counter(
        int(graph.Tensors(i).Buffer())
        for graph in (model.Subgraphs(g) for g in range(model.SubgraphsLength()))
        for i in range(graph.TensorsLength())
    )
    own = int(model.Subgraphs(0).Tensors(index).Buffer())
    if own and used[own] == 1:
        return own
    named = {int(model.Metadata(i).Buffer()) for i in range(model.MetadataLength())}
    free = [b for b in range(1, model.BuffersLength()) if not used[b] and b not in named]
    if not free:
        raise UnsupportedError("--input: the file has no room for a constant; convert it again")
    return free[0]


def _signatures(content: bytes) -> Iterator[tuple[Any, list[tuple[Any, int]]]]:
    """Signatures of the first subgraph, with (name, tensor index) of their outputs."""
    model = schema.Model.GetRootAs(content, 0)
    for i in range(model.SignatureDefsLength()):
        signature = model.SignatureDefs(i)
        if signature.SubgraphIndex() == 0 and not signature.OutputsIsNone():
            maps = (signature.Outputs(j) for j in range(signature.OutputsLength()))
            yield signature, [(m.Name(), int(m.TensorIndex())) for m in maps]


def _set_outputs(file: _Appender, subgraph: Any, outputs: list[int]) -> None:
    at = subgraph._tab.Pos + subgraph._tab.Offset(_SUBGRAPH_OUTPUTS)
    file.point(at, file.append(lambda builder: _int_vector(builder, outputs)))


def _set_signature(file: _Appender, signature: Any, outputs: list[tuple[Any, int]]) -> None:
    at = signature._tab.Pos + signature._tab.Offset(_SIGNATURE_OUTPUTS)
    file.point(at, file.append(lambda builder: _map_vector(builder, outputs)))


class _Appender:
    """Bytes that grow at the end; offsets of a flatbuffer only ever point forward."""

    def __init__(self, content: bytes) -> None:
        self._content = bytearray(content)

    def append(self, build: Any) -> int:
        """Append what ``build(builder)`` makes, aligned; returns its position."""
        builder = flatbuffers.Builder(256)
        builder.Finish(build(builder))
        piece = builder.Output()
        self._content += bytes(-len(self._content) % ALIGNMENT)
        start = len(self._content)
        self._content += piece
        return int(start + struct.unpack_from("<I", piece)[0])

    def point(self, at: int, target: int) -> None:
        """Let the offset that is stored at ``at`` lead to ``target``."""
        struct.pack_into("<I", self._content, at, target - at)

    def content(self) -> bytes:
        return bytes(self._content)


def _int_vector(builder: Any, values: list[int]) -> Any:
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependInt32(value)
    return builder.EndVector()


def _map_vector(builder: Any, maps: list[tuple[Any, int]]) -> Any:
    packed = []
    for name, index in maps:
        entry = schema.TensorMapT()
        entry.name, entry.tensorIndex = name, index
        packed.append(entry.Pack(builder))
    builder.StartVector(4, len(packed), 4)
    for offset in reversed(packed):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()
