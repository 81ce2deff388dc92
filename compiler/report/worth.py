"""What the report says of a monitor that is no better than nothing, or than the plain softmax."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.documents import report as schema
from edgemon.compiler.worth import CHEAP, SOFTMAX

COIN = 0.5  # AUROC of a score without any signal


def about_worth(monitor: schema.MonitorReport, bundle: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Of a weak monitor that it is, of another that the softmax does as well; and what to take.
    ``bundle``: names of all monitors."""
    name, interval = monitor["name"], monitor["metrics"]["auroc_interval"]
    if interval is not None and interval[1] < COIN:
        yield (
            "backwards",
            f"{name} ranks backwards on this model: it finds right answers more suspicious than "
            f"wrong ones (AUROC {monitor['metrics']['auroc']:.3f}). {_leave_it(monitor, bundle)}",
        )
    elif interval is not None and interval[0] <= COIN:
        yield (
            "no_signal",
            f"{name} shows no signal on this model: the interval of its AUROC, "
            f"{interval[0]:.3f} to {interval[1]:.3f}, includes 0.5, the value of a coin. "
            f"{_leave_it(monitor, bundle)}",
        )
    elif monitor["worth"]["mark"] == "weak":
        yield (
            "weak_monitor",
            f"{name} is weak: it is not shown to be better than chance on these test rows "
            f"({_mcc(monitor['metrics']['mcc_interval'])}). {_leave_it(monitor, bundle)}",
        )
    elif monitor["worth"]["mark"] in ("worse", "no better") and monitor["kind"] != CHEAP:
        yield _beside_the_softmax(monitor, bundle)


def _beside_the_softmax(monitor: schema.MonitorReport, bundle: Sequence[str]) -> tuple[str, str]:
    worth, kind = monitor["worth"], "no_better_than_softmax"
    is_what = "is worse than" if worth["mark"] == "worse" else "is not shown to be better than"
    found = [
        f"{what} {beyond[0]:+.3f} to {beyond[1]:+.3f} beside it"
        for what, beyond in (("AUROC", worth["auroc_beyond"]), ("MCC", worth["mcc_beyond"]))
        if beyond is not None
    ]
    return kind, (
        f"{monitor['name']} takes {monitor['bytes'] / KILOBYTE:.1f} kB and {is_what} the plain "
        f"softmax, 1 minus the model's largest probability, on these test rows "
        f"({'; '.join(found)}). {_instead(worth['instead'], bundle)}"
    )  # fmt: skip


def _leave_it(monitor: schema.MonitorReport, bundle: Sequence[str]) -> str:
    if monitor["kind"] in (CHEAP, SOFTMAX):
        return "Leave it out, or try other taps."
    return (
        f"Leave it out, or try other taps. {_instead(monitor['worth']['instead'], bundle)}".rstrip()
    )


def _instead(name: str | None, bundle: Sequence[str]) -> str:
    if name is None:
        return ""
    if name in bundle:
        return f"{name}, in the same bundle, is better."
    return f"{name} costs next to nothing (--monitor {name})."


def _mcc(interval: Sequence[float] | None) -> str:
    if interval is None:
        return "no MCC, for it alarms never or always"
    return f"MCC {interval[0]:.3f} to {interval[1]:.3f}"
