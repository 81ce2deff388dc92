"""Of an operator A that is linear, <A x, g> = <x, gradient of g>: whatever its geometry."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgemon.compiler.errors import CompileError
from tests.compiler.gradient.test_onnx_gradient import Layers, gradient_of, runner

MODES = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
few = st.integers(1, 3)


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, int], dict[str, Any]]:
    """Height and width, and attributes of an operator that slides over them."""
    size = [draw(st.integers(1, 4)), draw(st.integers(1, 4))]
    found: dict[str, Any] = {
        "kernel_shape": size,
        "strides": [draw(few), draw(few)],
        "dilations": [draw(st.integers(1, 2)), draw(st.integers(1, 2))],
    }
    mode = draw(st.sampled_from(MODES))
    reach = [(k - 1) * d + 1 for k, d in zip(size, found["dilations"], strict=True)]
    if mode == "NOTSET":
        found["pads"] = [draw(st.integers(0, k - 1)) for k in (*size, *size)]
    else:
        found["auto_pad"] = mode
    image = (draw(st.integers(1, 11)), draw(st.integers(1, 11)))
    assume(all(n >= r for n, r in zip(image, reach, strict=True)))
    return image, found


def require_adjoint(layers: Layers, shape: tuple[int, ...], offset: float = 0.0) -> None:
    """``offset``: of what a forward pass adds."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        content = layers.content(shape, 19)
        gradient, weights = gradient_of(content, Path(folder))
    x = rng.normal(0, 1, shape).astype(np.float32)
    left = (runner(content)(x) - offset) @ weights.ravel()
    right = runner(gradient)(x) @ x.ravel()
    np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-3)


@settings(max_examples=60, deadline=None)
@given(windows(), st.sampled_from([(1, 4, 3), (2, 4, 6), (4, 4, 4), (4, 4, 8)]))
def test_convolutions(found: tuple[Any, Any], channels: tuple[int, int, int]) -> None:
    image, values = found
    groups, taken, made = channels
    assume("auto_pad" not in values or values["dilations"] == [1, 1])  # ONNX Runtime has none
    weights = np.random.default_rng(1).normal(
        0, 1, (made, taken // groups, *values["kernel_shape"])
    )
    layers = Layers().then("Conv", ".", weights.astype(np.float32), group=groups, **values)
    require_adjoint(layers, (1, taken, *image))


@settings(max_examples=40, deadline=None)
@given(windows(), st.booleans())
def test_average_pools(found: tuple[Any, Any], counted: bool) -> None:
    """Windows that lie apart are refused with auto_pad: ONNX Runtime places them otherwise."""
    image, values = found
    assume("auto_pad" not in values or values["dilations"] == [1, 1])
    steps = zip(values["kernel_shape"], values["strides"], strict=True)
    if values.get("auto_pad", "").startswith("SAME") and any(s > k for k, s in steps):
        with pytest.raises(CompileError, match="AveragePool of windows that lie apart"):
            require_adjoint(Layers().then("AveragePool", **values), (1, 2, *image))
        return
    layers = Layers().then("AveragePool", count_include_pad=int(counted), **values)
    require_adjoint(layers, (1, 2, *image))
