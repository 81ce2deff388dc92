"""Layers of a loaded Keras model, set so that TFLite can hold them; what is changed is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgemon.runtime.errors import BackendError

MOST_STEPS = 200  # of a recurrent layer that is written out: 9 to 14 operators a step
_LOWER = ("float16", "bfloat16")


def in_float32(model: Any) -> list[str]:
    """Let layers of mixed precision, whose variables are float32, compute in float32 too."""
    changed = []
    for layer in _layers(model):
        policy = layer.dtype_policy
        if policy.compute_dtype in _LOWER and policy.variable_dtype == "float32":
            changed.append(policy.name)
            layer.dtype_policy = "float32"
    return [
        f"{changed.count(name)} layers of {name} compute in float32"
        for name in sorted(set(changed))
    ]  # fmt: skip


def unrolled(model: Any) -> list[str]:
    """Write recurrent layers out, step by step: TFLite has no int8 form of their loop that the
    interpreter can run. Raises BackendError where the steps are too many, or not known."""
    told = []
    for layer in _layers(model):
        if not hasattr(layer, "unroll") or not hasattr(layer, "cell"):
            continue
        steps = _steps(layer)
        if steps is None or steps > MOST_STEPS:
            many = "an open number of" if steps is None else f"{steps}"
            raise BackendError(
                f"its layer {layer.name!r} is recurrent over {many} steps, and int8 writes out "
                f"{MOST_STEPS} at most; use --convert float, or build the model for shorter "
                "sequences"
            )
        if not layer.unroll:
            layer.unroll = True
            told.append(f"the recurrent layer {layer.name!r} is written out over {steps} steps")
    return told


def _steps(layer: Any) -> int | None:
    """The length of the sequences for which the layer was built."""
    built = layer.get_build_config() or {}
    shape = built.get("input_shape") or next(iter(built.get("shapes_dict", {}).values()), None)
    return None if shape is None or shape[1] is None else int(shape[1])


def _layers(model: Any) -> Iterator[Any]:
    """All layers, those inside models and wrappers included."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        layer = waiting.pop()
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        yield layer
        waiting.extend(reversed(list(layer._flatten_layers(include_self=False, recursive=False))))
