"""What to decide: another promise, and what more rows, a larger budget or a second inference would
buy. Sentences say what was measured or counted, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgemon.compiler.documents import report as schema
from edgemon.compiler.documents.monitors import OperatingPoint, Worth

THOUSAND = 1000


def advice(document: schema.Numbers) -> list[str]:
    """Of the first monitor with a promise, and of the whole bundle."""
    first = next((m for m in document["monitors"] if m["operating_points"]), None)
    found: list[str] = []
    if first is not None:
        test = document["splits"]["test"]
        share = test["wrong"] / test["rows"] if test["rows"] else 0.0
        now = None if document["promise"] is None else document["promise"]["rate"]
        found += _promise(first["operating_points"], now, share)
        found += _rows(first["operating_points"])
    over = [x["monitor"] for x in document["left_out"] if "budget" in x["reason"]]
    if over:
        found.append(
            f"A larger budget (--budget-kb, --budget-us) would give room to {', '.join(over)}."
        )
    tried = any(c["second_inference"] for c in document["comparison"])
    if document["comparison"] and not tried and not document["cost"]["second_inference"]:
        found.append(
            "A second inference was not tried: --mirror lets auto read the mirrored image, for "
            "twice the model's time."
        )
    return found


def fusion_sentence(worth: Worth) -> str:
    """Is a fusion better than its best signal? Empty of what is no fusion."""
    member, beyond = worth["best_member"], worth["member_beyond"]
    if member is None or beyond is None:
        return ""
    name = member.rpartition(".")[2]
    if tuple(beyond) == (0, 0):
        return f"no other ranking than that of its signal {name}"
    span = f"AUROC {beyond[0]:+.3f} to {beyond[1]:+.3f} beside it"
    if beyond[0] > 0:
        return f"better than its best signal, {name} ({span})"
    if beyond[1] < 0:
        return f"worse than its best signal, {name} ({span})"
    return f"not shown to be better than its best signal, {name} ({span})"


def _promise(points: Sequence[OperatingPoint], now: float | None, wrong: float) -> Iterator[str]:
    """Between which prices of a caught error the promise as it is, is the right one: what the next
    stricter and the next looser one would exchange, on the test rows."""
    known = [p for p in points if p["caught"] is not None and p["false_alarms"] is not None]
    at = next((i for i, p in enumerate(known) if p["promised"] == now), None)
    if at is None or not wrong:
        return
    for step in (at - 1, at + 1):
        if not 0 <= step < len(known):
            continue
        other, own = known[step], known[at]
        caught = THOUSAND * wrong * abs((other["caught"] or 0) - (own["caught"] or 0))
        alarms = THOUSAND * (1 - wrong) * abs(
            (other["false_alarms"] or 0) - (own["false_alarms"] or 0)
        )  # fmt: skip
        if caught < 1:
            continue
        option = f"--false-alarm {other['promised']:g}"
        price = f"{alarms / caught:.1f} false alarms"
        if step > at:
            yield (
                f"{option} pays if a caught error is worth more than {price}: of 1,000 answers it "
                f"catches {caught:.0f} more errors, for {alarms:.0f} more false alarms."
            )
        else:
            yield (
                f"{option} pays if a caught error is worth less than {price}: of 1,000 answers it "
                f"spares {alarms:.0f} false alarms, and misses {caught:.0f} more errors."
            )


def _rows(points: Sequence[OperatingPoint]) -> Iterator[str]:
    short = [p for p in points if p["rows"] < p["rows_needed"]]
    if short:
        p = short[-1]
        yield (
            f"More threshold rows (--calibrate): a promise of {100 * p['promised']:g} % needs "
            f"{p['rows_needed']:,} right ones, and there are {p['rows']:,}."
        )
