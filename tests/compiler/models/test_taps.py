from __future__ import annotations

from collections.abc import Sequence

import pytest

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models.graph import Graph, Operator, Tensor
from edgemon.compiler.models.tap_rules import choose, suggest, tap_of
from edgemon.compiler.program.ir import Tap

Step = tuple[str, tuple[int, ...]]  # an operator and the shape of its output


def _chain(*steps: Step | tuple[str, tuple[int, ...], str], dtype: str = "float32") -> Graph:
    """Operators one after another; FULLY_CONNECTED and CONV_2D have weights."""
    tensors = [Tensor(0, "image", (1, 8, 8, 3), dtype)]
    operators: list[Operator] = []
    last = 0
    for number, (name, shape, *activation) in enumerate(steps):
        inputs: Sequence[int] = (last,)
        if name in ("FULLY_CONNECTED", "CONV_2D"):
            tensors.append(Tensor(len(tensors), f"weights{number}", (3, 3), dtype, constant=True))
            inputs = (last, len(tensors) - 1)
        last = len(tensors)
        tensors.append(Tensor(last, f"net/{name.lower()}{number}", shape, dtype))
        operators.append(Operator(name, tuple(inputs), (last,), *activation))
    return Graph((0,), (last,), tuple(tensors), tuple(operators))


CONVOLUTIONAL = _chain(
    ("CONV_2D", (1, 8, 8, 16), "relu"),
    ("AVERAGE_POOL_2D", (1, 4, 4, 16)),
    ("AVERAGE_POOL_2D", (1, 1, 1, 16)),
    ("RESHAPE", (1, 16)),
    ("FULLY_CONNECTED", (1, 10), "none"),
    ("SOFTMAX", (1, 10)),
    ("QUANTIZE", (1, 10)),
)


def _names(graph: Graph, rule: str) -> list[str]:
    return [t.name.removeprefix("net/") for t in suggest(graph).get(rule, ())]


def test_rules_find_the_parts_of_a_convolutional_classifier() -> None:
    assert _names(CONVOLUTIONAL, "output") == ["quantize6"]
    assert _names(CONVOLUTIONAL, "softmax") == ["softmax5"]
    assert _names(CONVOLUTIONAL, "logits") == ["fully_connected4"]
    assert _names(CONVOLUTIONAL, "penultimate") == ["reshape3"]
    assert _names(CONVOLUTIONAL, "gap") == ["average_pool_2d2"]
    assert _names(CONVOLUTIONAL, "dense") == ["fully_connected4"]
    assert _names(CONVOLUTIONAL, "activation") == ["conv_2d0"]
    assert _names(CONVOLUTIONAL, "last_map") == ["conv_2d0"]


def test_a_head_without_dense_layers_is_looked_through() -> None:
    """As in the person-detection example: CONV_2D, RESHAPE, SOFTMAX."""
    graph = _chain(
        ("MEAN", (1, 1, 1, 3)), ("CONV_2D", (1, 1, 1, 2)), ("RESHAPE", (1, 2)), ("SOFTMAX", (1, 2))
    )
    assert _names(graph, "logits") == ["reshape2"]
    assert _names(graph, "penultimate") == ["mean0"]
    assert _names(graph, "gap") == ["mean0"]


def test_without_a_softmax_the_output_is_the_logits() -> None:
    graph = _chain(("FULLY_CONNECTED", (1, 16), "relu"), ("FULLY_CONNECTED", (1, 10)))
    assert _names(graph, "logits") == _names(graph, "output") == ["fully_connected1"]
    assert _names(graph, "penultimate") == ["fully_connected0"]
    assert "softmax" not in suggest(graph)


def test_a_final_logistic_is_no_activation_to_monitor() -> None:
    graph = _chain(("LOGISTIC", (1, 4)), ("FULLY_CONNECTED", (1, 3)), ("LOGISTIC", (1, 3)))
    assert _names(graph, "activation") == ["logistic0"]
    assert _names(graph, "logits") == ["fully_connected1"]


def test_the_models_input_is_never_suggested() -> None:
    assert "penultimate" not in suggest(_chain(("FULLY_CONNECTED", (1, 3)), ("SOFTMAX", (1, 3))))


def test_tensors_are_chosen_by_rule_by_name_and_by_unique_suffix() -> None:
    (wanted,) = choose(CONVOLUTIONAL, "logits")
    assert choose(CONVOLUTIONAL, "net/fully_connected4") == (wanted,)
    assert choose(CONVOLUTIONAL, "connected4") == (wanted,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing", "is not a tensor or a rule.*penultimate.*net/conv_2d0"),
        ("", "is not a tensor or a rule"),
        ("weights0", "is a constant"),
    ],
)
def test_a_wrong_choice_says_what_there_is(text: str, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        choose(CONVOLUTIONAL, text)


def test_the_models_input_can_be_chosen_by_name() -> None:
    """Preconditions of a model whose first layer is dense are about its input."""
    (chosen,) = choose(CONVOLUTIONAL, "image")
    assert chosen.index in CONVOLUTIONAL.inputs


def test_a_suffix_of_several_names_is_refused() -> None:
    graph = _chain(("RELU", (1, 3)), ("RELU", (1, 3)))
    renamed = Graph(
        graph.inputs,
        graph.outputs,
        tuple(Tensor(t.index, f"{t.index}/relu", t.shape, t.dtype) for t in graph.tensors),
        graph.operators,
    )
    with pytest.raises(ModelError, match="fits 3 tensors"):
        choose(renamed, "relu")


def test_a_rule_that_finds_nothing_names_those_that_do() -> None:
    with pytest.raises(ModelError, match=r"'gap' finds no tensor.*rules that do: output"):
        choose(_chain(("RELU", (1, 3))), "gap")


def test_tap_is_flat_and_keeps_its_quantisation() -> None:
    found = tap_of(Tensor(1, "t", (1, 2, 3), "int8", 0.5, -3))
    assert found == Tap("t", "int8", 6, 0.5, -3)
    assert tap_of(Tensor(1, "t", (1, 2), "uint8")) == Tap("t", "uint8", 2, 1.0, 0)


@pytest.mark.parametrize(
    ("tensor", "says"),
    [
        (Tensor(1, "t", (1, 2), "int32"), "is int32"),
        (Tensor(1, "t", (1, 2), "string"), "is string"),
        (Tensor(1, "t", (1, -1), "int8"), "open shape"),
        (Tensor(1, "t", (1, 0), "int8"), "0 elements"),
        (Tensor(1, "t", (1, 1 << 21), "int8"), "elements"),
        (Tensor(1, "t", (1, 2), "int8", per_channel=True), "by channel"),
        (Tensor(1, "t", (1, 2), "int8", variable=True), "state"),
    ],
)
def test_what_monitors_cannot_read_is_refused(tensor: Tensor, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        tap_of(tensor)
