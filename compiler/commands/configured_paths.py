"""Paths in a file of options are from the folder of that file, wherever a command runs: as ruff,
mypy and cargo take them. Here they become paths from the working folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from edgemon.compiler.commands.typed import ROWS
from edgemon.runtime.standardization import STANDARDIZE

RANGE = re.compile(r"(.+?)(\[[^\[\]]*\])?", re.S)
NAMES = (".txt", ".json")  # of --classes, which else are the names themselves
PROFILE = ".toml"  # of --target, which else is a name


def placed(param: Any, value: Any, folder: Path) -> Any:
    """The value of an option as a command takes it, where paths in it are from ``folder``. Raises
    RuntimeError for the home of a user that there is not."""
    if isinstance(value, list):
        return [placed(param, one, folder) for one in value]
    if not isinstance(value, str) or not value:
        return value
    if folder.resolve() == Path.cwd() and "~" not in value:
        return value
    if Path in declared(param):
        return _path(value, folder)
    form = FORMS.get(str(param.name))
    return value if form is None else form(value, folder)


def declared(param: Any) -> tuple[Any, ...]:
    """The type of an option's values, and the types that it is made of."""
    found = getattr(getattr(param, "type_descriptor", None), "annotation", str)
    return (found, *get_args(found))


def _path(text: str, folder: Path) -> str:
    """Links are followed as they stand: ``link/..`` is not the folder that ``link`` lies in."""
    return str(Path(os.path.relpath(folder.resolve()), Path(text).expanduser()))


def _rows(spec: str, folder: Path) -> str:
    """``x.npz[0:5]``, ``x.npy,y.npy``; an address is none of the folder's files."""
    if "://" in spec:
        return spec
    if (folder / spec).exists():  # a name may have brackets and commas
        return _path(spec, folder)
    found = RANGE.fullmatch(spec)
    files, rows = (found[1], found[2] or "") if found else (spec, "")
    if (folder / files).exists():
        return _path(files, folder) + rows
    return ",".join(_path(file.strip(), folder) for file in files.split(",")) + rows


def _assigned(text: str, folder: Path) -> str:
    """``NAME=FILE``, of --input; a tensor's name may have a ``=``."""
    name, equals, file = text.rpartition("=")
    return f"{name}{equals}{_path(file, folder)}" if equals and file else text


def _standardized(text: str, folder: Path) -> str:
    """``scale=2,standardize=FILE``, of --preprocess; a file's name may have a ``=``."""
    parts = []
    for part in text.split(","):
        key, _, file = (word.strip() for word in part.partition("="))
        named = key == STANDARDIZE and file
        parts.append(f"{key}={_path(file, folder)}" if named else part)
    return ",".join(parts)


def _if_it_ends_in(*suffixes: str) -> Callable[[str, Path], str]:
    return lambda text, folder: _path(text, folder) if text.lower().endswith(suffixes) else text


FORMS: dict[str, Callable[[str, Path], str]] = {  # of options that are text, by name
    **dict.fromkeys(ROWS, _rows),
    "input_": _assigned,
    "preprocess": _standardized,
    "classes": _if_it_ends_in(*NAMES),
    "target": _if_it_ends_in(PROFILE),
}
