"""The cases of a comparison as steps of a sweep."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from edgemon.bench.compare.case import run_case
from edgemon.bench.compare.panel import Document, PanelOptions
from edgemon.bench.compare.rows import files_below
from edgemon.bench.compare.spec import Case
from edgemon.bench.errors import BenchError
from edgemon.bench.sweep import content
from edgemon.compiler.errors import MissingPackageError
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.errors import EdgemonError

FORMAT = "2"  # of stored documents


@dataclass(frozen=True)
class CaseStep:
    """One case; ``store``: the folder of stored documents, if there is one."""

    case: Case
    root: Path
    options: PanelOptions
    store: Path | None

    @cached_property
    def key(self) -> str:
        case = self.case
        data = filter(None, (case.fit, case.pool, case.calibrate, case.test, *case.novel))
        models = [self.root / name for name in (case.model, case.float_model) if name]
        files = [*models, *(f for d in data for f in files_below(d, self.root))]
        options = replace(self.options, workers=1)  # of how many decides nothing
        return content.key((FORMAT, case, options), files)

    @property
    def file(self) -> Path | None:
        return None if self.store is None else self.store / f"{self.key}.json"


def do(step: CaseStep, reporter: Reporter) -> Document | str:
    """The document of a case, from the store if it is there, and put there else; or which package
    its model lacks."""
    file = step.file
    try:
        if file is not None and file.is_file():
            found: Document = json.loads(file.read_text(encoding="utf-8"))
            return found
        text = json.dumps(run_case(step.case, step.root, step.options, reporter))
    except MissingPackageError as error:
        return str(error)
    except ValueError:
        raise BenchError(f"{file}: is damaged; remove it, and it is made again") from None
    except EdgemonError as error:
        raise BenchError(f"case {step.case.name!r}: {error}") from None
    if file is not None:
        partial = file.with_name(f"{file.name}.{os.getpid()}")
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    made: Document = json.loads(text)
    return made


def do_and_store(step: CaseStep) -> str:
    """In another process: empty, or which package is missing."""
    found = do(step, Reporter())
    return found if isinstance(found, str) else ""
