"""Random forests of scikit-learn: trees x depth on 64 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from edgemon.bench.peers.work import Work

FEATURES = 64
ROWS, FIT_ROWS = 512, 2000
SCALE = 1000  # so that the values can be rounded to int16, as some peers need
SIZES = ((10, 6, 2), (100, 6, 2), (100, 12, 2), (100, 6, 10))  # trees, depth, classes


def works() -> Iterator[Work]:
    """Every forest, with rows that it was not fitted on."""
    for trees, depth, classes in SIZES:
        x, y = make_classification(
            FIT_ROWS + ROWS, FEATURES, n_informative=16, n_redundant=8, n_classes=classes,
            n_clusters_per_class=2, flip_y=0.05, random_state=0,
        )  # fmt: skip
        rows = np.clip(x * SCALE, -32000, 32000).astype(np.float32)
        model = RandomForestClassifier(trees, max_depth=depth, random_state=0)
        model.fit(rows[:FIT_ROWS], y[:FIT_ROWS])
        judged = rows[FIT_ROWS:]
        name = f"{trees} x {depth}" + (f", {classes} classes" if classes > 2 else "")
        yield Work(name, model, judged, model.predict(judged).astype(np.int32))
