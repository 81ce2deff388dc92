"""One model of the study with its splits, and what a monitor answers on one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.bench.replicate import models, tables
from edgemon.bench.replicate.models import DenseModel
from edgemon.bench.replicate.study import DatasetEntry, Study


@dataclass(frozen=True, eq=False)
class Part:
    """One split as a model sees it."""

    rows: tables.Rows
    layers: list[npt.NDArray[np.float32]]  # values after each layer
    predicted: npt.NDArray[np.int64]

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.predicted != self.rows.y)


@dataclass(frozen=True, eq=False)
class Subject:
    """One model of one data set; splits are read when they are needed."""

    study: Study
    entry: DatasetEntry
    model: DenseModel
    drop_repeated: bool = False  # rows of a split that an earlier one has

    @classmethod
    def load(cls, study: Study, dataset: str, model: str, *, drop_repeated: bool) -> Subject:
        """A model with its data."""
        entry = study.dataset(dataset)
        path = study.file(entry.model_file.format(model=model))
        return cls(study, entry, models.load(path, model), drop_repeated)

    @property
    def model_file(self) -> Path:
        """Where the model is."""
        return self.study.file(self.entry.model_file.format(model=self.model.name))

    @cached_property
    def train(self) -> Part:
        return self.see(self._rows("train"))

    @cached_property
    def val(self) -> Part:
        return self.see(self._rows("val"))

    @cached_property
    def test(self) -> Part:
        return self.see(self._rows("test"))

    @cached_property
    def unseen(self) -> Part:
        return self.see(tables.unseen(self.study, self.entry, self.model.n_inputs))

    def _rows(self, name: str) -> tables.Rows:
        if self.drop_repeated:
            return tables.without_repeated(self.study, self.entry)[name]
        return tables.split(self.study, self.entry, name)

    def see(self, rows: tables.Rows) -> Part:
        """Run the model."""
        if rows.x.shape[1] != self.model.n_inputs:
            raise BenchError(
                f"data set {self.entry.name!r} has {rows.x.shape[1]} features, model "
                f"{self.model.name!r} takes {self.model.n_inputs}"
            )
        layers = self.model.activations(rows.x)
        return Part(rows, layers, self.model.predict(layers[-1]))


@dataclass(frozen=True, eq=False)
class Answer:
    """What one monitor says of n rows."""

    verdict: npt.NDArray[np.uint8]
    score: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.int64]
