"""The tables of a replication, for people."""

from __future__ import annotations

from typing import Any

from edgemon.bench.evaluate import interval
from edgemon.bench.replicate.effectiveness import EFFECTIVENESS
from edgemon.bench.replicate.tools import DEPLOYABLE, FORMS, PUBLISHED, SHIPPED
from edgemon.compiler.terminal import Terminal

Document = dict[str, Any]

_EQUAL = {True: "=", False: "differs", None: ""}


def show(terminal: Terminal, document: Document) -> None:
    """All of them on standard output."""
    terminal.note(f"{document['study']}; positive: {document['positive']}")
    _accuracy(terminal, document["table2"])
    _unseen(terminal, document["table3"])
    for table in EFFECTIVENESS:
        _effectiveness(terminal, table, document[table])
    _balanced(terminal, document["table6"])
    _costs(terminal, document["table9"])
    _means(terminal, document["mean_mcc"])


def _accuracy(terminal: Terminal, rows: list[Document]) -> None:
    keys = ("n_correct", "n_incorrect", "n_layers", "n_params")
    _numbers_table(
        terminal, rows, keys, ("printed", PUBLISHED),
        "Table 2: models (right, wrong, layers, parameters)",
    )  # fmt: skip


def _unseen(terminal: Terminal, rows: list[Document]) -> None:
    keys = ("correct", "incorrect", "uncertain", "violations", "satisfactions")
    _numbers_table(
        terminal, rows, keys, ("printed", PUBLISHED, DEPLOYABLE),
        "Table 3: DeepInfer on its authors' rows (correct, incorrect, uncertain, violations, "
        "satisfactions)",
    )  # fmt: skip


def _numbers_table(
    terminal: Terminal,
    rows: list[Document],
    keys: tuple[str, ...],
    forms: tuple[str, ...],
    title: str,
) -> None:
    if rows:
        terminal.table(
            ("model", *forms, "published = printed"),
            [(r["model"], *(_joined(r[f], keys) for f in forms), _EQUAL[r["equal"]]) for r in rows],
            title=title,
        )


def _effectiveness(terminal: Terminal, table: str, rows: list[Document]) -> None:
    method, exchanged = EFFECTIVENESS[table]
    if not rows:
        return
    keys = ("tp", "fp", "tn", "fn")
    lines = []
    for row in sorted(rows, key=lambda r: bool(r["constant"])):
        first = (
            row["model"] + (" (constant)" if row["constant"] else ""),
            *(v for form in ("printed", PUBLISHED) for v in _counts(row[form], keys)),
            _EQUAL[row["equal"]],
        )
        deployed = row[DEPLOYABLE] or {"": None}
        for i, (monitor, content) in enumerate(deployed.items()):
            lead = first if i == 0 else ("",) * len(first)
            error = interval(content["mcc_interval"]) if content else ""
            shipped = row[SHIPPED].get(monitor or method)
            device = _counts(shipped, keys) if shipped or i == 0 else ("", "")
            lines.append((*lead, monitor, *_counts(content, keys), error, *device))
    terminal.table(
        (
            "model",
            "printed",
            "MCC",
            "published",
            "MCC",
            "counts",
            "deployable",
            "",
            "MCC",
            "95 %",
            "shipped",
            "MCC",
        ),
        lines,
        title=f"Table {table.removeprefix('table')}: {method} (TP FP TN FN)"
        + ("; counts: equal to the printed ones once TP and FP are exchanged" if exchanged else ""),
    )


def _balanced(terminal: Terminal, rows: list[Document]) -> None:
    keys = ("tp", "fp", "tn", "fn")
    if rows:
        terminal.table(
            ("model", "printed", "MCC", "wrong", "exchanged", "MCC", "wrong"),
            [(r["model"], *_counts(r["printed"], keys), r["wrong_as_printed"],
              *_counts(r["exchanged"], keys), r["wrong"]) for r in rows],
            title="Table 6: prophecy with balanced training rows (TP FP TN FN), not recomputed: "
            "the network is not at hand",
        )  # fmt: skip


def _costs(terminal: Terminal, rows: list[Document]) -> None:
    forms = ("printed", *FORMS)
    terminal.table(
        ("tool", "phase", "data", *(f"{f}: {unit}" for f in forms for unit in ("s", "MiB"))),
        [
            (
                r["tool"], r["phase"], r["dataset"],
                *(r[f] and round(r[f][k], 2) for f in forms for k in ("duration_s", "peak_mib")),
            )
            for r in rows
        ],
        title="Table 9: seconds a model and peak memory of the process tree",
    )  # fmt: skip


def _means(terminal: Terminal, means: Document) -> None:
    printed = ", ".join(f"{k} {v:.3f}" for k, v in means["printed"].items())
    terminal.note(f"mean MCC as printed, these models: {printed or 'n/a'}")
    terminal.note(
        "selfchecker as published is scored with the true labels, and takes one output unit for "
        "class 0: no monitor can do the one, and the other makes it predict the label"
    )
    titles = {
        "published": "as published, all models",
        "published_not_constant": "as published, without constant predictors",
        "deployable_not_constant": "deployable, without constant predictors",
        "deployable_constant": "deployable, constant predictors",
        "shipped_not_constant": "shipped, without constant predictors",
        "shipped_constant": "shipped, constant predictors",
    }
    for key, title in titles.items():
        if means[key]:
            terminal.table(
                ("monitor", "models", "defined", "mean MCC", "95 %", "n/a as 0", "mean FPR"),
                [
                    (
                        r["monitor"], r["models"], r["defined"], r["mean_mcc"],
                        interval(r["interval"]), r["mean_mcc_undefined_as_0"], r["false_alarms"],
                    )
                    for r in means[key]
                ],
                title=f"Mean MCC, {title}",
            )  # fmt: skip


def _joined(content: Document | None, keys: tuple[str, ...]) -> str:
    return "n/a" if content is None else " ".join(f"{content[k]}" for k in keys)


def _counts(content: Document | None, keys: tuple[str, ...]) -> tuple[str, str]:
    if content is None:
        return "n/a", "n/a"
    value = content["mcc"]
    return _joined(content, keys), "n/a" if value is None else f"{value:.3f}"
