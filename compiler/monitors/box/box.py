"""Box bounds: outside-the-box abstraction.

Henzinger, Lukina, Schilling: "Outside the Box: Abstraction-Based Monitoring of Neural Networks",
ECAI 2020. The projections by principal components and by Isomap are Ferreira, Arlat, Guiochet,
Waeselynck: "Benchmarking Safety Monitors for Image Classifiers with Machine Learning", PRDC 2021.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from edgemon.compiler.monitors.box.layer_boxes import Growth, LayerBoxes
from edgemon.compiler.monitors.estimator import MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.shared.net_votes import majority, worth
from edgemon.compiler.monitors.shared.projections import (
    FirstAndLast,
    IsomapLandmarks,
    PrincipalComponents,
    Projection,
    Unprojected,
)
from edgemon.compiler.monitors.shared.steps import forest_of
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

# Ranges outside, or inside, that a vote tells apart.
STEPS = np.geomspace(1e-3, 10.0, 31)


class BoxMonitor(MonitorEstimator):
    """Alarms when a layer's activation lies in no box of the predicted class.

    Boxes bound the activations of correctly classified fit rows, one a cluster; the number of
    clusters grows until inertia falls by less than the share ``tau`` (at most ``max_clusters``).
    Each side is enlarged by ``gamma * (hi - lo) / 2``, and by at least ``floor`` in the units of
    what is bounded, so that a neuron that never moved may move a little. A class without a box is
    one that the model never got right: when it is predicted, that is an alarm.

    ``projection``: what is bounded. ``none`` every neuron (of a feature map every channel's mean),
    ``simple`` the first and the last, ``pca`` and ``isomap`` the class's own ``dimensions``.

    The score is graded: the largest violation over the dimensions, in units of the dimension's
    range over the fit rows, smallest over the class's boxes; negative inside. The method's own
    rule is "alarm iff outside", that is score > 0. Several layers: ``any`` takes the largest score;
    ``majority`` alarms if more than half of the layers do, and uncertain if just half.
    """

    kind: ClassVar[str] = "box"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate",)
    most_taps: ClassVar[int | None] = None
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "gamma": (0, 100),
        "floor": (0, 1e9),
        "tau": (0, 1),
        "max_clusters": (1, 1000),
        "dimensions": (1, 256),
        "landmarks": (2, 256),
    }
    choices: ClassVar[dict[str, tuple[str, ...]]] = {
        "projection": ("none", "simple", "pca", "isomap"),
        "layers_rule": ("any", "majority"),
    }
    needs: ClassVar[Needs] = Needs.RIGHT
    what: ClassVar[str] = "activation outside the boxes of its class"
    source: ClassVar[str] = (
        "Henzinger, Lukina, Schilling: Outside the Box: Abstraction-Based Monitoring of Neural "
        "Networks. ECAI 2020"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        gamma: float = 0.1,
        tau: float = 0.1,
        max_clusters: int = 10,
        floor: float = 0.0,
        projection: str = "none",
        dimensions: int = 2,
        landmarks: int = 16,
        layers_rule: str = "any",
        seed: int = 0,
    ) -> None:
        self.taps = taps
        self.gamma = gamma
        self.tau = tau
        self.max_clusters = max_clusters
        self.floor = floor
        self.projection = projection
        self.dimensions = dimensions
        self.landmarks = landmarks
        self.layers_rule = layers_rule
        self.seed = seed

    def _fit(self, recording: Recording) -> None:
        """Needs labels; classes without a correctly classified row get no box (always alarm)."""
        right = np.flatnonzero(recording.correct)
        growth = Growth(self.gamma, self.floor, self.tau, self.max_clusters, self.seed)
        classes = recording.predicted[right]
        self.layers_ = [
            LayerBoxes(self._projection(), growth, means=recording.tap(name).channels > 0).fit(
                recording.features(name, right), classes, recording.n_classes
            )
            for name in self.taps
        ]

    def _projection(self) -> Projection:
        return {
            "none": Unprojected(),
            "simple": FirstAndLast(),
            "pca": PrincipalComponents(self.dimensions, self.seed),
            "isomap": IsomapLandmarks(self.dimensions, self.landmarks, self.seed),
        }[self.projection]

    def lower(self, builder: Builder, predicted: int) -> Score:
        scores = [
            layer.lower(builder, builder.features(name), predicted)
            for name, layer in zip(self.taps, self.layers_, strict=True)
        ]
        together = scores[0]
        for score in scores[1:]:
            together = builder.node("concat", together, score)
        if len(scores) == 1:
            return Score(together, alarm_above=0.0)
        if self.layers_rule == "any":
            return Score(builder.node("max", together), alarm_above=0.0)
        votes = builder.node("trees", together, tables=_votes(len(scores)).pack("float64"))
        return majority(votes)

    def reason(self) -> str:
        if len(self.taps) > 1 and self.layers_rule == "majority":
            return (
                f"outside every box of the predicted class: {{score}} net votes of {len(self.taps)}"
            )
        return "activation outside every box of the predicted class by {score} of a neuron's range"

    def details(self) -> dict[str, Any]:
        layers = [
            {"tap": name, **layer.details()}
            for name, layer in zip(self.taps, self.layers_, strict=True)
        ]
        return {"projection": self.projection, "layers_rule": self.layers_rule, "layers": layers}


def _votes(layers: int) -> Forest:
    """One step function a layer of the layer's score: outside or inside, and a term that grows with
    the score."""
    knots = np.concatenate([-STEPS[::-1], [0.0], STEPS])
    ranks = np.arange(knots.size + 1) - knots.size / 2
    return forest_of([(knots, worth(np.sign(ranks), ranks / np.abs(ranks).max(), layers))] * layers)
