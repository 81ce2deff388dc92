"""``edgemon trust``: how far answers can be trusted, of one model or of several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgemon.compiler.bundle.output_folder import is_bundle
from edgemon.compiler.errors import CompileError
from edgemon.compiler.statistics.trust import SCENARIOS
from edgemon.compiler.terminal import Terminal
from edgemon.compiler.trust import page, requirements
from edgemon.compiler.trust.answers import answers
from edgemon.compiler.trust.document import describe, figures
from edgemon.compiler.trust.judge import Reading

WORST = 3  # classes that a table names


def measure(
    paths: list[Path], data: str, reading: Reading, *, label_column: str | None, scenario: str,
    alpha: float, beta: float, prior: str, joint: bool, require: str, html: Path | None,
    examples: bool, full_scale: int, seed: int, workers: int, terminal: Terminal,
) -> dict[str, Any]:  # fmt: skip
    """The document of the first path, and with several ``models``, all of them. Raises
    EdgemonError."""
    if scenario not in SCENARIOS:
        raise CompileError(f"--scenario {scenario!r} is unknown; use {' or '.join(SCENARIOS)}")
    wanted = requirements.parse(require)
    models = []
    for path, name in zip(paths, names_of(paths), strict=True):
        found = answers(
            path, data, reading, label_column=label_column, workers=workers, reporter=terminal,
            examples=examples, pictures=html is not None, full_scale=full_scale,
        )  # fmt: skip
        with terminal.stage(f"measuring {name}"):
            models.append(
                describe(
                    name, found, scenario=scenario, alpha=alpha, beta=beta, prior=prior,
                    joint=joint, seed=seed,
                )
            )  # fmt: skip
    show(models, terminal)
    if html is not None:
        html.write_text(page.render(models), encoding="utf-8")
        terminal.note(f"page: {html}")
    document = {**models[0], **({"models": models} if len(models) > 1 else {})}
    terminal.document(document)
    for model in models:
        for line in requirements.require(wanted, figures(model)):
            terminal.note(f"{model['name']}: {line}")
    return document


def show(models: list[dict[str, Any]], terminal: Terminal) -> None:
    """One line a model, and one for what its monitors let pass; then a sentence each."""
    lines = []
    for m in models:
        lines.append((
            m["name"], m["rows"], _four(m["net_trust_score"]), _interval(m["interval"]),
            _four(m["accuracy"]), _four(m["confidence_right"]), _four(m["confidence_wrong"]),
            _four(m["expected_calibration_error"]), _four(m["classwise_calibration_error"]),
            _four(m["brier"]), _worst(m),
        ))  # fmt: skip
        own = m["monitored"]
        if own is not None:
            lines.append((
                "  answers that pass", round(own["passed"] * m["rows"]),
                _four(own["net_trust_score"]), _interval(own["interval"]), _four(own["accuracy"]),
                _four(own["confidence_right"]), _four(own["confidence_wrong"]), "", "", "", "",
            ))  # fmt: skip
    terminal.table(
        ("model", "rows", "NetTrustScore", "95 % interval", "accuracy", "confidence, right",
         "confidence, wrong", "calibration error", "by class", "Brier", "trusted least"),
        lines, title=f"trust, classes by {models[0]['scenario']} label",
    )  # fmt: skip
    for m in models:
        terminal.note(f"{m['name']}: {page.sentence(m)}")


def names_of(paths: list[Path]) -> list[str]:
    """What models and bundles are called side by side."""
    names = [path.name if is_bundle(path) else path.stem for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _worst(m: dict[str, Any]) -> str:
    known = [s for s in m["spectrum"] if s["trust"] is not None and s["class"] is not None]
    found = sorted(known, key=lambda s: s["trust"])[:WORST]
    return ", ".join(f"{s['class']} {s['trust']:.3f}" for s in found)


def _four(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"


def _interval(value: list[float] | None) -> str:
    return "" if value is None else f"{value[0]:.4f} to {value[1]:.4f}"
