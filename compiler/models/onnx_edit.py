"""ONNX files changed: outputs added or left out, inputs made constants, weights put inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgemon.compiler.models.graph import Tensor, UnsupportedError
from edgemon.compiler.models.onnx_graph import Found, attributes, stored_tensors
from edgemon.compiler.models.selection import fitting, unknown_input

Array = npt.NDArray[Any]

WIDE = ("float64", "float16")  # of scores
LARGEST = 2_000_000_000  # bytes: what one protobuf message, and so a bundle's model, can hold


def with_outputs(content: bytes, names: Iterable[str], found: Found) -> bytes:
    """The same model with further outputs of these names, as ``found`` describes them. What is
    not found gets no type; ONNX Runtime fills that in."""
    model = onnx.load_model_from_string(content)
    for name in names:
        _append_output(model, name, found)
    return serialised(model)


def keep_outputs(content: bytes, count: int) -> bytes:
    """The same model with its first ``count`` outputs only."""
    model = onnx.load_model_from_string(content)
    del model.graph.output[count:]
    return serialised(model)


def serialised(model: Any) -> bytes:
    """The same model always as the same bytes."""
    return bytes(model.SerializeToString(deterministic=True))


def has_external_data(model: Any) -> bool:
    """Do weights lie in other files?"""
    return any(t.data_location == onnx.TensorProto.EXTERNAL for t in stored_tensors(model.graph))


def with_weights_inside(model: Any, folder: Path) -> Any:
    """The model with the weights that lie in files of its folder. Raises UnsupportedError if they
    are missing, elsewhere, or too many for one file."""
    sizes = [
        int(entry.value)
        for tensor in stored_tensors(model.graph)
        for entry in tensor.external_data
        if entry.key == "length"
    ]
    if sum(sizes) > LARGEST:
        raise UnsupportedError(
            f"its weights in other files take {sum(sizes) / 1e9:.1f} GB, and a bundle's model can "
            "hold 2 GB"
        )
    try:
        onnx.load_external_data_for_model(model, str(folder))
    except Exception as error:  # onnx raises whatever its checker, the file and NumPy do
        raise UnsupportedError(
            f"its weights lie in other files (external data) that cannot be read: "
            f"{str(error).splitlines()[0] if str(error) else type(error).__name__}; keep them "
            "beside the model"
        ) from None
    return model


def fix_inputs(model: Any, values: Mapping[str, Array]) -> None:
    """Make constants of inputs, in place. Raises UnsupportedError for a value that does not fit."""
    entries = {i.name: i for i in model.graph.input}
    for name, value in values.items():
        if name not in entries:
            raise unknown_input(name, entries)
        tensor = entries[name].type.tensor_type
        shape = tuple(d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        stored = fitting(Tensor(0, name, shape, str(dtype)), value)
        model.graph.input.remove(entries[name])
        kept = [t for t in model.graph.initializer if t.name != name]
        del model.graph.initializer[:]
        model.graph.initializer.extend([*kept, onnx.numpy_helper.from_array(stored, name)])


def only_output(model: Any, name: str, found: Found) -> bytes:
    """The file with this tensor as its only output, and without what that does not need."""
    graph = model.graph
    needed = {name}
    nodes = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(_read_by(node))
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(reversed(nodes))
    for stored in (graph.initializer, graph.sparse_initializer):
        kept = [t for t in stored if _name(t) in needed]
        del stored[:]
        stored.extend(kept)
    del graph.output[:]
    dtype, shape = found.get(name, ("", ()))
    if dtype in WIDE:  # monitors read float32
        narrow = f"{name}_float32"
        graph.node.append(
            onnx.helper.make_node("Cast", [name], [narrow], to=onnx.TensorProto.FLOAT)
        )
        name, found = narrow, {narrow: ("float32", shape)}
    _append_output(model, name, found)
    return serialised(model)


def class_names(model: Any) -> tuple[str, ...]:
    """What the file calls its classes, in their order: of the last operator that says so; () where
    none does, or they are numbered from 0."""
    values = {t.name: t for t in model.graph.initializer}
    for node in reversed(model.graph.node):
        found = _listed(node, values)
        if found and found != list(range(len(found))):
            return tuple(
                v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in found
            )
        if found:
            return ()
    return ()


def _listed(node: Any, values: Mapping[str, Any]) -> list[Any]:
    given = attributes(node)
    for key in ("classlabels_strings", "classlabels_int64s", "classlabels_ints"):
        if given.get(key):
            return list(given[key])
    # scikit-learn's own networks look their labels up in a constant.
    if node.op_type == "ArrayFeatureExtractor" and node.input[0] in values:
        stored = values[node.input[0]]
        if stored.data_type in (
            onnx.TensorProto.INT64,
            onnx.TensorProto.INT32,
            onnx.TensorProto.STRING,
        ):
            return list(onnx.numpy_helper.to_array(stored).ravel().tolist())
    return []


def _read_by(node: Any) -> Iterator[str]:
    """Names of the tensors that a node reads, those that its inner graphs take from outside too."""
    yield from node.input
    for attribute in node.attribute:
        inner = [attribute.g] if attribute.HasField("g") else []
        for graph in [*inner, *attribute.graphs]:
            yield from (o.name for o in graph.output)
            for each in graph.node:
                yield from _read_by(each)


def _name(stored: Any) -> str:
    return str(stored.values.name if hasattr(stored, "values") else stored.name)


def _append_output(model: Any, name: str, found: Found) -> None:
    if name not in found:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
        return
    dtype, shape = found[name]
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    open_batch = not _first_length(model)
    named = ["batch", *shape[1:]] if open_batch and shape[:1] == (1,) else shape
    model.graph.output.append(onnx.helper.make_tensor_value_info(name, code, named))


def _first_length(model: Any) -> int:
    """The length of the first input's batch axis; 0 if it is open."""
    stored = {t.name for t in model.graph.initializer}
    for entry in model.graph.input:
        if entry.name not in stored and entry.type.tensor_type.shape.dim:
            return int(entry.type.tensor_type.shape.dim[0].dim_value)
    return 0
