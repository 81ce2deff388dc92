"""Where a model has positions: its feature maps, and an input that is an image."""

from __future__ import annotations

from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.graph import Graph, Tensor
from edgemon.compiler.models.model import Model

Image = tuple[str, int, int, int]  # name, rows, columns, elements that lie side by side


def feature_maps(graph: Graph) -> list[Tensor]:
    """Activations with positions, in the order of the network."""
    found = tap_rules.suggest(graph).get("activation", ())
    return [t for t in found if t.has_positions]


def image_of(model: Model) -> Image | None:
    """The model's input as an image; None if it is none, or cannot be read."""
    graph, given = model.graph, model.input
    entry = graph.tensors[graph.inputs[0]]
    if tap_rules.obstacle(graph, entry) is not None or not 2 <= len(given.shape) <= 3:
        return None
    first = given.layout == "nchw"
    rows, columns = given.shape[1:] if first and len(given.shape) == 3 else given.shape[:2]
    beside = 1 if first or len(given.shape) == 2 else given.shape[2]
    return entry.name, rows, columns, beside
