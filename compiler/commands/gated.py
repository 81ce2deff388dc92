"""``compile`` and ``verify`` with gates: what is demanded decides what is written, and how they
end."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands import gates as shown
from edgemon.compiler.commands import junit
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.documents.manifest import Compiled
from edgemon.compiler.gates import line
from edgemon.compiler.gates.judging import judge, require_comparable
from edgemon.compiler.gates.line import Line
from edgemon.compiler.gates.verdicts import Verdicts
from edgemon.compiler.gates.wanted import Gates
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.terminal import Terminal


def gated_compile(
    model: Path, sources: Sources, out: Path, options: Options, gates: Gates,
    junit_file: Path | None, terminal: Terminal,
) -> tuple[Compiled, dict[str, Any]]:  # fmt: skip
    """The manifest, and ``requirements`` if there are any. A bundle that misses one is not put in
    its place; what lies there stays."""
    found: list[Line] = []

    def accept(folder: Path, test: Dataset, own: Verdicts, scratch: Path) -> None:
        bundle = Bundle.open(folder)
        lines = judge(
            gates, bundle, test, scratch, own=own, workers=options.workers, reporter=terminal
        )
        found.extend(lines)
        cases.extend(shown.cases(lines))
        shown.show(terminal, lines)
        terminal.document({**bundle.manifest, **_document(lines), "written": False})
        stays = "stays as it was" if out.exists() else "is not written"
        line.require(lines, f"; {out} {stays}")

    with junit.reported(junit_file, out.name, "compile") as cases:
        manifest = compile_bundle(
            model, sources, out, options, terminal, accept if gates else None,
            partial(require_comparable, gates),
        )  # fmt: skip
    return manifest, _document(found)


def gated_verify(
    bundle: Path, data: str | None, *, label_column: str | None, key: Path | None, gates: Gates,
    junit_file: Path | None, terminal: Terminal,
) -> None:  # fmt: skip
    """Proof, signature and gates; shows and raises."""
    lines: list[Line] = []

    def then(opened: Bundle, scratch: Path) -> None:
        lines.extend(shown.judge_on(gates, opened, data, label_column, scratch, terminal))

    with junit.reported(junit_file, bundle.name, "verify") as cases:
        proof = verify_bundle(
            bundle, data, label_column=label_column, key=key, then=then if gates else None,
            reporter=terminal,
        )  # fmt: skip
        cases.extend(shown.cases(lines))
        signed = {} if key is None else {"signed": True}
        terminal.document({**proof.to_json(), **signed, **_document(lines)})
        proof.require()
        if key is not None:
            terminal.note(f"signed by the key of {key}, and as it was signed")
        terminal.note(
            f"0 of {proof.rows:,} rows and {proof.neighbours:,} threshold neighbours differ "
            "between reference, C and ONNX"
        )
        shown.show(terminal, lines)
        line.require(lines)


def _document(lines: list[Line]) -> dict[str, Any]:
    return {"requirements": [found.to_json() for found in lines]} if lines else {}
