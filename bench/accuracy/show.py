"""A study of accuracy estimates as tables."""

from __future__ import annotations

from typing import Any

from edgemon.compiler.terminal import Terminal

FREE = ("calibrated_score", "ensemble", "mp", "mp_star", "entropy", "temperature_reference", "doc")
PUBLISHED = 50  # labels


def show(document: dict[str, Any], terminal: Terminal) -> None:
    """Each case's sets, then errors over all sets."""
    for case in document["cases"]:
        _estimates(case, terminal)
        _errors(case, terminal)
    _summary(document, terminal)


def _estimates(case: dict[str, Any], terminal: Terminal) -> None:
    reference = case["reference"]
    terminal.table(
        ("set", "rows", "truth", "flag", "PPI, 50", "transfer, 1 %", "combined", "ensemble, mean",
         *(name for name in FREE)),
        [
            (
                line["set"], line["rows"], _points(line["truth"]), "yes" if line["flag"] else "no",
                _spread(_of(line, "prediction_powered", PUBLISHED)),
                _spread(_published(line, "ensemble_transfer")),
                _spread(_published(line, "ensemble_transfer_combined")),
                _spread(_of(line, "ensemble_mean", 0)),
                *(_spread(_of(line, name, 0)) for name in FREE),
            )
            for line in case["sets"]
        ],
        title=f"{case['name']}: estimates in percent, ± deviation over members or draws "
        f"(reference: {reference['rows']:,} rows, {_points(reference['accuracy'])})",
    )  # fmt: skip


def _errors(case: dict[str, Any], terminal: Terminal) -> None:
    terminal.table(
        ("set", "PPI, 50", "covers", "random, 50", "covers", "PPI, 250", "covers", "random, 250",
         "covers", "transfer, 50", "transfer, 250", "temperature, 50", "AUPR right", "AUPR wrong"),
        [
            (
                line["set"],
                *(
                    cell
                    for labels in (50, 250)
                    for name in ("prediction_powered", "random")
                    for cell in _error_and_cover(_of(line, name, labels))
                ),
                *(
                    _points((_of(line, "ensemble_transfer", labels) or {}).get("error"))
                    for labels in (50, 250)
                ),
                _points((_of(line, "temperature", PUBLISHED) or {}).get("error")),
                _aupr(line, "right"), _aupr(line, "wrong"),
            )
            for line in case["sets"]
        ],
        title=f"{case['name']}: errors in points, share of intervals that hold the truth, and "
        "average precision of the monitor's score",
    )  # fmt: skip


def _summary(document: dict[str, Any], terminal: Terminal) -> None:
    found = document["summary"]
    terminal.table(
        ("method", "labels", "sets", "mean error, points", "worst", "coverage, least to most"),
        [
            (
                m["name"], m["labels"], m["sets"], _points(m["mean"]), _points(m["worst"]),
                _range(m["coverage"]),
            )
            for m in sorted(found["methods"], key=lambda m: (m["labels"], m["mean"]))
        ],
        title=f"over {found['sets']} sets; ensembles of {document['members']} members and "
        f"{document['epochs']} epochs, {document['draws']:,} draws of random labels",
    )  # fmt: skip
    terminal.note(
        f"without labels the monitor's score is off by more than 5 points on "
        f"{found['off_by_5_points']} sets; the flag was up on {found['of_these_with_flag']} of "
        f"them (and on {found['with_flag']} of all {found['sets']})"
    )


def _of(line: dict[str, Any], name: str, labels: int) -> dict[str, Any] | None:
    same = (m for m in line["methods"] if m["name"] == name and m["labels"] == labels)
    return next(same, None)


def _published(line: dict[str, Any], name: str) -> dict[str, Any] | None:
    return _of(line, name, max(1, round(0.01 * line["rows"])))


def _spread(found: dict[str, Any] | None) -> str:
    if found is None:
        return "n/a"
    own = "" if found["deviation"] is None else f" ± {100 * found['deviation']:.1f}"
    return f"{_points(found['estimate'])}{own}"


def _error_and_cover(found: dict[str, Any] | None) -> tuple[str, str]:
    if found is None:
        return "n/a", "n/a"
    return _points(found["error"]), f"{found['coverage']:.1%}"


def _aupr(line: dict[str, Any], of: str) -> str:
    found = line["aupr"]["calibrated_score"][of]
    return "n/a" if found is None else f"{found:.3f}"


def _range(shares: list[float] | None) -> str:
    return "" if shares is None else f"{shares[0]:.1%} to {shares[1]:.1%}"


def _points(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:.1f}"
