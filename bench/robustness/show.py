"""A study of robustness for people: tables, and one page."""

from __future__ import annotations

from typing import Any

from edgemon.compiler.terminal import Terminal, percent

Document = dict[str, Any]


def show(found: Document, terminal: Terminal) -> None:
    """What breaks, together, at worst, who catches it, and what was confused."""
    means = {_key(line): line for line in found["local"] if line["class"] is None}
    worst: dict[tuple[str, float], Document] = {}
    for line in found["local"]:
        if line["class"] is not None:
            key = _key(line)
            if key not in worst or line["rate"] < worst[key]["rate"]:
                worst[key] = line
    pairs = {_key(line): line for line in found["global"]}
    caught = {_key(line): line for line in found["caught"] or []}
    columns = ["change", "stay right", "95 % interval", "worst class", "confidence", "together",
               "product", "masked", "excess, 95 % interval"]  # fmt: skip
    if caught:
        columns += ["broken", "caught", "alarms on right"]
    terminal.table(
        columns,
        [
            (
                f"{line['property']} {line['value']:g}", _four(line["rate"]),
                f"{line['low']:.3f} to {line['high']:.3f}",
                f"{worst[key]['class']} {worst[key]['rate']:.3f}", f"{line['confidence']:.3f}",
                _four(pairs[key]["rate"]), _four(pairs[key]["product"]),
                _four(pairs[key]["masked"]), _excess(pairs[key]),
                *(_caught(caught[key]) if caught else ()),
            )
            for key, line in means.items()
        ],
        title=f"{found['name']}: {found['sampled']:,} rows that are answered rightly (accuracy "
        f"{percent(found['accuracy'])} of {found['rows']:,}); pairs: {found['combine']}",
    )  # fmt: skip
    _worst_cases(found, terminal)
    terminal.table(
        ("class", "answered", "at", "rows", "of the class right", "what training would try first"),
        [
            (
                e["class"], e["confused_with"], f"{e['property']} {e['value']:g}", e["count"],
                f"{e['rate']:.3f}", e["adjustment"],
            )
            for e in found["errors"]
        ],
        title="what is confused, by rows times the share of the class that breaks",
    )  # fmt: skip
    terminal.note(sentence(found))


def side_by_side(models: list[Document], terminal: Terminal) -> None:
    """What the monitors of several bundles catch, where there are two or more."""
    judged = [m for m in models if m["caught"]]
    if len(judged) < 2:
        return
    first = judged[0]
    same = all([c["broken"] for c in m["caught"]] == [c["broken"] for c in first["caught"]]
               for m in judged)  # fmt: skip
    columns = ["change"]
    for m in judged:
        columns += [] if same and m is not first else ["broken"]
        columns += [f"caught, {m['name']}"]
    columns += [f"alarms on right, {m['name']}" for m in judged]
    rows: list[list[Any]] = []
    for i in range(-1, len(first["caught"])):
        lines = [m["as_they_are"] if i < 0 else m["caught"][i] for m in judged]
        line = first["caught"][i]
        row: list[Any] = ["as they are" if i < 0 else f"{line['property']} {line['value']:g}"]
        for m, own in zip(judged, lines, strict=True):
            broken = own["wrong"] if i < 0 else own["broken"]
            row += [] if same and m is not first else [f"{broken:,}"]
            row += [percent(own["caught"])]
        rows.append([*row, *(percent(own["alarms_on_right"]) for own in lines)])
    terminal.table(
        columns, rows,
        title="what monitors catch of what changes broke; as they are: of wrong answers, and of "
        "all right ones",
    )  # fmt: skip


def sentence(found: Document) -> str:
    """What the pairs say that single answers do not."""
    idle = [line for line in found["global"] if line["adds_nothing"]]
    if len(idle) == len(found["global"]):
        return (
            "Pairs add nothing: their results are right as often as the product of their parts "
            "says, at every change (the interval of the excess holds 0)."
        )
    more = [line for line in found["global"] if not line["adds_nothing"]]
    most = max(more, key=lambda line: abs(line["excess"]))
    return (
        f"Pairs add nothing at {len(idle)} of {len(found['global'])} changes; the most at "
        f"{most['property']} {most['value']:g}, where they are right {100 * most['excess']:+.2f} "
        "points from the product of their parts."
    )


def _worst_cases(found: Document, terminal: Terminal) -> None:
    terminal.table(
        ("property", "values", "from", "to", "worst value", "right there", "right at every value"),
        [
            (
                w["property"], w["values"], w["first"], w["last"], w["worst_value"],
                _four(w["worst_rate"]), _four(w["rate"]),
            )
            for w in found["worst_case"]
        ],
        title="worst cases (between the values that were tried it may be worse)",
    )  # fmt: skip


def _caught(line: Document) -> tuple[Any, ...]:
    return line["broken"], percent(line["caught"]), percent(line["alarms_on_right"])


def _excess(line: Document) -> str:
    if line["interval"] is None:
        return _four(line["excess"])
    low, high = line["interval"]
    return f"{line['excess']:+.4f}, {low:+.4f} to {high:+.4f}"


def _key(line: Document) -> tuple[str, float]:
    return line["property"], line["value"]


def _four(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"
