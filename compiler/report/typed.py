"""The options of a compile as one types them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from edgemon.compiler.options import Options
from edgemon.runtime.preprocess import Preprocess

EXACT = ".15g"
CLASSES_FILE = "FILE.json"  # of names that hold commas
RATES = {"false alarms": "--false-alarm", "misses": "--miss-rate"}


def typed(options: Mapping[str, Any]) -> list[str]:
    """Those that differ from the defaults."""
    default: Mapping[str, Any] = Options().to_json()
    return [
        text
        for key, value in options.items()
        if value != default.get(key) or (key == "rate" and options["promise_of"] == "misses")
        for text in _typed(key, value, options)
    ]


def _typed(key: str, value: Any, options: Mapping[str, Any]) -> Iterator[str]:
    match key, value:
        case "promise_of", _:
            return  # the rate's option says it
        case "rate", _:
            yield f"{RATES[options['promise_of']]} {value:{EXACT}}"
        case "examples", False:
            yield "--no-examples"
        case "inputs", _:
            yield from (f"--input {shlex.quote(name)}=FILE.npy" for name in value)
        case _, bool():
            yield f"--{key.replace('_', '-')}"
        case _:
            yield f"--{key.replace('_', '-')} {shlex.quote(_text(key, value))}"


def _text(key: str, value: Any) -> str:
    if key == "preprocess":
        return str(Preprocess.from_json(value))
    if key == "classes":
        return CLASSES_FILE if any("," in name for name in value) else ",".join(value)
    return f"{value:{EXACT}}" if isinstance(value, float) else str(value)
