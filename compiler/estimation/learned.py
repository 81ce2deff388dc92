"""What ``accuracy fit`` learns of reference rows and keeps in ``accuracy.npz`` of a bundle; and the
labels that came back since."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.bundle.output_folder import ACCURACY
from edgemon.compiler.data.arrays import readable, require_inflatable
from edgemon.compiler.errors import CompileError, DataError
from edgemon.compiler.estimation.observed import Observed
from edgemon.compiler.estimation.unlabelled import BASELINES, Outputs
from edgemon.compiler.methods.accuracy import AccuracyEnsemble
from edgemon.compiler.reporter import Progress, unseen
from edgemon.runtime.untrusted import read

Array = npt.NDArray[Any]

MOST_SCORES = 4096  # of the reference rows, kept to compare others with
LAYERS = 3
LABELS = "labels"


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels that came back: of rows with these numbers (k,) the class, -1 for none of the model's.
    ``drawn``: were the rows drawn at random?"""

    numbers: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    drawn: bool


@dataclass(frozen=True, eq=False)
class Learned:
    """``scores``: a sorted sample of the watched monitor's; ``baselines``: the number that each
    learned; ``labels``: by the key of the rows that they are of (``Observed.key``)."""

    rows: int
    accuracy: float
    scores: npt.NDArray[np.float64]
    baselines: Mapping[str, float]
    ensemble: AccuracyEnsemble | None
    labels: Mapping[str, Labelled] = field(default_factory=dict)

    @classmethod
    def of(
        cls, reference: Observed, ensemble: AccuracyEnsemble | None, *, seed: int = 0,
        progress: Progress = unseen,
    ) -> Learned:  # fmt: skip
        """From labelled reference rows; fits the ensemble. Raises DataError where all answers or
        none are right."""
        right = reference.right
        if right.all() or not right.any():
            raise DataError(
                f"the model is {'right' if right.all() else 'wrong'} on all {len(right):,} "
                "reference rows: nothing tells right answers from wrong ones; give rows that it "
                "was not trained on"
            )
        assert reference.classes is not None
        outputs = Outputs(reference.p, reference.classes, right)
        scores = reference.scores[~reference.faults].astype(np.float64)
        chosen = np.random.default_rng(seed).permutation(len(scores))[:MOST_SCORES]
        return cls(
            len(right), float(right.mean()), np.sort(scores[chosen]),
            {name: baseline.fit(outputs) for name, baseline in BASELINES.items()},
            None if ensemble is None else ensemble.fit(reference.p, right, progress),
        )  # fmt: skip

    def with_labels(self, key: str, labels: Labelled) -> Learned:
        """The same, with labels of the rows that have this key."""
        return replace(self, labels={**self.labels, key: labels})

    def to_bytes(self) -> bytes:
        """An .npz; the same content gives the same bytes."""
        arrays: dict[str, Array] = {
            "rows": np.array(self.rows), "accuracy": np.array(self.accuracy),
            "scores": self.scores,
            **{f"baseline/{name}": np.array(value) for name, value in self.baselines.items()},
        }  # fmt: skip
        if self.ensemble is not None:
            weights, biases = self.ensemble.parameters
            arrays |= {f"ensemble/weights{i}": w for i, w in enumerate(weights)}
            arrays |= {f"ensemble/biases{i}": b for i, b in enumerate(biases)}
            own = self.ensemble
            arrays["ensemble/settings"] = np.array(
                [own.epochs, own.dropout, own.learning_rate, own.monte_carlo, own.seed]
            )
        for key, labels in self.labels.items():
            arrays[f"{LABELS}/{key}/numbers"] = labels.numbers
            arrays[f"{LABELS}/{key}/classes"] = labels.classes
            arrays[f"{LABELS}/{key}/drawn"] = np.array(labels.drawn)
        out = BytesIO()
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
        return out.getvalue()

    @classmethod
    def read(cls, bundle: Path) -> Learned:
        """Of a bundle. Raises CompileError where nothing was fitted, DataError if it is damaged."""
        path = bundle / ACCURACY
        if not path.exists():
            raise CompileError(
                f"{bundle}: knows nothing yet of its accuracy; fit it on labelled rows that the "
                f"model was not trained on: edgemon accuracy fit {bundle} --data ROWS"
            )
        with readable(path), zipfile.ZipFile(BytesIO(read(path))) as archive:
            for member in archive.infolist():
                require_inflatable(member, path)
            with np.load(BytesIO(read(path)), allow_pickle=False) as arrays:
                found = dict(arrays)
        try:
            return cls._of_arrays(found)
        except (KeyError, ValueError, TypeError, IndexError, OverflowError):
            raise DataError(f"{path}: is damaged; run `edgemon accuracy fit` again") from None

    @classmethod
    def _of_arrays(cls, arrays: Mapping[str, Array]) -> Learned:
        labels = {}
        for name in arrays:
            room, _, rest = name.partition("/")
            key, _, last = rest.partition("/")
            if room == LABELS and last == "numbers":
                of = f"{LABELS}/{key}"
                numbers = arrays[name].astype(np.int64)
                classes = arrays[f"{of}/classes"].astype(np.int64)
                if numbers.ndim != 1 or numbers.shape != classes.shape:
                    raise ValueError("labels")
                labels[key] = Labelled(numbers, classes, bool(arrays[f"{of}/drawn"]))
        scores = arrays["scores"].astype(np.float64)
        if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
            raise ValueError("scores")
        return cls(
            int(arrays["rows"]), float(arrays["accuracy"]), np.sort(scores),
            {name: float(arrays[f"baseline/{name}"]) for name in BASELINES},
            _ensemble(arrays), labels,
        )  # fmt: skip


def _ensemble(arrays: Mapping[str, Array]) -> AccuracyEnsemble | None:
    if "ensemble/settings" not in arrays:
        return None
    epochs, dropout, rate, monte_carlo, seed = arrays["ensemble/settings"].tolist()
    weights = [arrays[f"ensemble/weights{i}"].astype(np.float32) for i in range(LAYERS)]
    biases = [arrays[f"ensemble/biases{i}"].astype(np.float32) for i in range(LAYERS)]
    return AccuracyEnsemble(
        len(weights[0]), epochs=int(epochs), dropout=dropout, learning_rate=rate,
        monte_carlo=bool(monte_carlo), seed=int(seed),
    ).restored(weights, biases)  # fmt: skip
