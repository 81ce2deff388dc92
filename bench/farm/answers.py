"""What model and monitors answer on some rows: what a task gives, and its form as Parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.bench.farm.compiled import Judgement

ABOUT = b"edgemon.farm"  # key of the metadata
NEEDED = "--store, --jobs and --scheduler need pyarrow: pip install 'edgemon[cluster]'"


@dataclass(frozen=True, eq=False)
class Answers:
    """Of n rows: labels (-1: of no class), what the model answers, and what each monitor says.
    ``about``: which rows, as ``FaultRows.to_json``."""

    about: dict[str, Any]
    labels: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    judgements: Mapping[str, Judgement]

    def save(self, path: Path) -> None:
        """As Parquet: a column each, verdicts as bytes. The file appears whole or not at all."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns: dict[str, npt.NDArray[Any]] = {"label": self.labels, "predicted": self.predicted}
        for name, found in self.judgements.items():
            columns |= {f"{kind} {name}": v for kind, v in found.verdicts.items()}
            if found.score is not None:
                columns[f"score {name}"] = found.score
        about = {**self.about, "monitors": list(self.judgements)}
        table = pa.table(columns).replace_schema_metadata({ABOUT: json.dumps(about)})
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        pq.write_table(table, partial)
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> Answers:
        """Raises BenchError if the file is damaged."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
            about = json.loads((table.schema.metadata or {})[ABOUT])
            columns = {name: table[name].to_numpy() for name in table.column_names}
        except (OSError, KeyError, ValueError, pa.ArrowInvalid):
            raise BenchError(f"{path}: is damaged; remove it, and it is made again") from None
        judgements = {}
        for name in about.pop("monitors"):
            verdicts = {
                kind: values for kind, _, of in (c.partition(" ") for c in columns)
                if of == name and kind != "score" for values in [columns[f"{kind} {of}"]]
            }  # fmt: skip
            judgements[name] = Judgement(verdicts, columns.get(f"score {name}"))
        return cls(about, columns["label"], columns["predicted"], judgements)


def require_parquet() -> None:
    """Raises BenchError without pyarrow."""
    if find_spec("pyarrow") is None:
        raise BenchError(NEEDED)
