from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.decision import (
    Decision,
    contradicted,
    of_graph,
    of_values,
    predicted_class,
)
from edgemon.compiler.models.graph import Graph, Operator, Tensor
from edgemon.compiler.program.ir import Tap


def test_the_largest_score_wins_and_the_first_of_equals() -> None:
    scores = np.array([[1, 3, 3], [5, 0, 0], [-1, -1, -1]], np.int8)
    assert predicted_class(scores, Tap("o", "int8", 3, 0.1, -7)).tolist() == [1, 0, 0]
    assert predicted_class(scores[0], Tap("o", "int8", 3)) == 1


def test_one_unit_is_class_1_above_one_half_only() -> None:
    half = np.float32(0.5)
    scores = np.array([[half], [np.nextafter(half, half + 1)], [-3], [np.nan]], np.float32)
    assert predicted_class(scores, Tap("o", "float32", 1)).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("above", [0.5, 0.0, 0.3])
@pytest.mark.parametrize(("scale", "zero"), [(1 / 256, -128), (float(np.float32(0.1)), -3)])
def test_codes_of_one_unit_are_compared_exactly(scale: float, zero: int, above: float) -> None:
    codes = np.arange(-128, 128, dtype=np.int8)[:, None]
    exact = [Fraction(scale) * (int(c) - zero) > Fraction(above) for c in codes[:, 0]]
    found = predicted_class(codes, Tap("o", "int8", 1, scale, zero, decides_above=above))
    assert found.tolist() == [int(e) for e in exact]


def graph(*operators: Operator, output: Tensor) -> Graph:
    """A chain of operators, the last of which computes the output."""
    tensors = [Tensor(i, f"t{i}", (1, 1), "float32") for i in range(len(operators))]
    return Graph((0,), (len(operators),), (*tensors, output), operators)


def chain(*names: str) -> tuple[Operator, ...]:
    return tuple(Operator(name, (i,), (i + 1,)) for i, name in enumerate(names))


@pytest.mark.parametrize(
    ("names", "probability"),
    [
        (["Gemm", "Sigmoid"], True),
        (["FULLY_CONNECTED", "LOGISTIC", "DEQUANTIZE"], True),
        (["Gemm", "Sigmoid", "Reshape", "Identity"], True),
        (["Gemm", "HardSigmoid"], True),
        (["Sigmoid", "Gemm"], False),
        (["Gemm"], False),
        (["Gemm", "Tanh"], False),
    ],
)
def test_the_last_operator_says_what_one_unit_gives(names: list[str], probability: bool) -> None:
    output = Tensor(len(names), "o", (1, 1), "float32")
    found = of_graph(graph(*chain(*names), output=output))
    assert (found is not None) == probability
    if found is not None:
        assert found.threshold == 0.5
        assert "probability" in found.because


@pytest.mark.parametrize(
    ("scale", "zero", "probability"),
    [(1 / 256, -128, True), (1 / 255, -128, True), (0.1, -128, False), (1 / 256, -127, False)],
)
def test_codes_that_reach_from_0_to_1_are_probabilities(
    scale: float, zero: int, probability: bool
) -> None:
    output = Tensor(1, "o", (1, 1), "int8", scale, zero)
    found = of_graph(graph(*chain("FULLY_CONNECTED"), output=output))
    assert (found is not None) == probability


@pytest.mark.parametrize(
    ("values", "threshold"),
    [([0.1, 0.9], 0.5), ([0.0, 1.0], 0.5), ([-0.01, 0.9], 0.0), ([0.2, 1.01], 0.0),
     ([np.nan, 0.4, np.inf], 0.5)],
)  # fmt: skip
def test_the_range_of_values_tells_a_logit(values: list[float], threshold: float) -> None:
    assert of_values(np.array(values)).threshold == threshold
    with pytest.raises(CompileError, match="NaN or an infinity on all rows"):
        of_values(np.array([np.nan]))


def test_values_that_come_later_may_contradict() -> None:
    seen = of_values(np.array([0.1, 0.9]))
    assert contradicted(seen, np.array([0.5, 1.5]))
    assert not contradicted(seen, np.array([0.5, np.nan]))
    assert not contradicted(of_values(np.array([-3.0])), np.array([5.0]))
    assert not contradicted(Decision(0.5, "the user says so"), np.array([5.0]))
