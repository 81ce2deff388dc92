"""What is typed for an option, checked by the option's name before its command runs: what is wrong
in itself is answered at once, whichever command it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from edgemon.compiler.commands import early
from edgemon.compiler.errors import CompileError

WORDS = {
    "label_order": ("numeric", "string"),
    "scenario": ("true", "predicted"),
    "prior": ("data", "uniform"),
    "choose": ("random", "stratified", "most-entropy"),
    "combine": ("add", "both", "max", "vote"),
    "rule": ("majority", "advice_differs", "any_disagrees"),
    "exif": ("ignore", "apply"),
    "shared_rows": ("refuse", "drop", "keep"),
    "repeats": ("keep", "group"),
    "thresholds": ("guaranteed", "method"),
    "convert": ("float", "int8"),
    "promise": ("verdict", "monitor"),
    "per_class": ("each", "every"),
    "profile": ("errors", "scod"),
    "chart": ("svg", "png"),
}
LIMITS = {
    "flips": (1, math.inf),
    "severity": (1, 5),
    "share": (0, 1),
}
ROWS = ("data", "reference", "novel", "drifted", "fit", "calibrate", "test")
READ = ("companion", "float_model", "labelled", "compare", "budgets", "log")
WRITTEN = (
    "html", "google_benchmark", "benchmark_model", "annotations", "plot", "reports",
)  # fmt: skip


def _preprocess(_: str, text: str) -> None:
    from edgemon.runtime.preprocess import Preprocess

    Preprocess.parse(text)


def _kernels(_: str, text: str) -> None:
    from edgemon.compiler.models.kernels import require_kernels

    require_kernels(text)


def _changes(option: str, text: str) -> None:
    from edgemon.compiler.faults.properties import parse

    parse(text, option)


def _faults(_: str, text: str) -> None:
    """``fog,jpeg``."""
    from edgemon.compiler.faults.registry import find

    for name in text.split(","):
        find(name.strip())


def _severities(option: str, text: str) -> None:
    """``fog:5,jpeg:3``."""
    from edgemon.compiler.faults.registry import find

    for part in filter(None, text.split(",")):
        name, _, severity = part.partition(":")
        most = find(name).severities
        if not severity.isdecimal() or not 1 <= int(severity) <= most:
            raise CompileError(f"{option} {part}: {name} has severities 1 to {most}")


def _names(_: str, text: str) -> None:
    from edgemon.compiler.data.classes import parse_names

    parse_names(text)


def _word(known: tuple[str, ...], option: str, word: Any) -> None:
    if isinstance(word, str):  # an option of this name may be something else in a command
        early.require_word(option, word, known)


def _list(known: tuple[str, ...], option: str, text: str) -> None:
    for word in text.split(","):
        early.require_word(option, word.strip(), known)


def _target(_: str, name: str) -> None:
    early.require_target(name)


def _within(limits: tuple[float, float], option: str, number: float) -> None:
    early.require_within(option, number, *limits)


def _labels(option: str, labels: Any) -> None:
    """So many rows, or a share of them."""
    if isinstance(labels, str):
        early.require_count(option, labels)
    else:
        early.require_within(option, labels, 0, 1)


def _count(option: str, count: Any) -> None:
    if isinstance(count, str):  # else a number, of which each command says what it may be
        early.require_count(option, count)


CHECKS: dict[str, Callable[[str, Any], None]] = {
    **dict.fromkeys(ROWS, early.require_file_of),
    **dict.fromkeys(READ, early.require_file),
    **dict.fromkeys(WRITTEN, early.require_place),
    **{name: partial(_word, words) for name, words in WORDS.items()},
    **dict.fromkeys(("guard", "properties"), _changes),
    **dict.fromkeys(("corruptions", "fault"), _faults),
    "faults": _severities,
    **dict.fromkeys(("false_alarm", "miss_rate", "confidence", "limit"), early.require_share),
    **dict.fromkeys(("alpha", "beta"), early.require_positive),
    **{name: partial(_within, limits) for name, limits in LIMITS.items()},
    "labels": _labels,
    "rows": _count,
    "preprocess": _preprocess,
    "certify_kernels": _kernels,
    "classes": _names,
    "target": _target,
    "methods": partial(_list, ("deepinfer", "prophecy", "selfchecker", "softmax")),
    **dict.fromkeys(("root", "resume", "store"), early.require_folder),
}


def require(param: Any, given: Any) -> None:
    """Raises EdgemonError for a parameter's values, if there are any, that no command can use."""
    check = CHECKS.get(str(param.name)) if param.param_type_name == "option" else None
    for value in given if isinstance(given, list | tuple) else [given]:
        if check is not None and value not in (None, ""):
            check(param.opts[0], value)
