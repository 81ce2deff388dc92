"""Options of a project: ``edgemon.toml``, or ``[tool.edgemon]`` in ``pyproject.toml``.

A table a command with options by their names, as ``[compile]`` with ``false-alarm = 0.02``; what is
given on the command line wins. Paths are from the file's folder. What means nothing is refused, so
that a typo is not left out in silence, and what is taken from the file is said.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgemon.compiler.commands.configured_paths import declared, placed
from edgemon.compiler.errors import CompileError
from edgemon.targets.nearest import choices

FILE, PROJECT = "edgemon.toml", "pyproject.toml"
VARIABLE = "EDGEMON_CONFIG"  # names another file; empty: none
ESCAPE = f"mend it, or set {VARIABLE}= to read no such file"
TYPED = ("force",)  # what destroys is typed each time
WANTED: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    Path: "a path, in quotation marks",
}
Defaults = dict[str, Any]


def find(folder: Path) -> tuple[Path, Mapping[str, Any]] | None:
    """The file that holds for a folder, its own or that of the nearest one above, and its tables.
    Raises CompileError for one that cannot be read."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return (Path(named), _tables(Path(named)) or {}) if named else None
    for where in (folder, *folder.parents):
        for name in (FILE, PROJECT):
            path = where / name
            if path.is_file() and (tables := _tables(path)) is not None:
                return path, tables
    return None


def _tables(path: Path) -> Mapping[str, Any] | None:
    """None of a pyproject.toml that says nothing of edgemon."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompileError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CompileError(f"{path}: is not TOML: {error}; {ESCAPE}") from None
    if path.name != PROJECT:
        return content
    for key, name in (("tool", "tool"), ("edgemon", "tool.edgemon")):
        if key not in content:
            return None
        content = content[key]
        if not isinstance(content, dict):
            raise CompileError(f"{path}: {name} must be a table, [{name}]; {ESCAPE}")
    return content


def default_map(command: Any, path: Path, tables: Mapping[str, Any]) -> Defaults:
    """By command and parameter, as the command line library takes defaults. Raises CompileError
    that names the file, the table and the key."""
    return dict(_below(command, path.parent, str(path), tables))


def _below(
    command: Any, folder: Path, where: str, tables: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    commands = getattr(command, "commands", None)
    for key, value in tables.items():
        if commands is None:
            param = _option(command, where, key, value)
            try:
                given = placed(param, value, folder)
            except RuntimeError:
                raise CompileError(
                    f"{where}: {key} = {value!r}: no home folder is known for this ~; write the "
                    "path out"
                ) from None
            yield str(param.name), given
            continue
        if key not in commands:
            raise CompileError(f"{where}: unknown command {key!r}{choices(key, commands)}")
        if not isinstance(value, dict):
            raise CompileError(f"{where}: {key} must be a table, [{key}]")
        yield key, dict(_below(commands[key], folder, f"{where}: [{key}]", value))


def _option(command: Any, where: str, key: str, value: Any) -> Any:
    """The option of a key. Raises CompileError for a value that is none of its."""
    options = {
        option.removeprefix("--"): param
        for param in command.params
        if param.param_type_name == "option"
        for option in param.opts
        if option.startswith("--") and option != "--json"
    }
    param = options.get(key.replace("_", "-"))
    if param is None:
        raise CompileError(f"{where}: unknown option {key!r}{choices(key, options)}")
    if param.name in TYPED:
        raise CompileError(f"{where}: {key} is for the command line alone, for it destroys")
    if isinstance(value, dict):
        raise CompileError(f"{where}: {key} is a table; give a value")
    if isinstance(value, list) != bool(param.multiple):
        wanted = "a list" if param.multiple else "one value"
        raise CompileError(f"{where}: {key} must be {wanted}")
    for one in value if isinstance(value, list) else [value]:
        _require_type(param, f"{where}: {key}", one)
    return param


def _require_type(param: Any, where: str, value: Any) -> None:
    """Raises CompileError for what TOML can say and the option does not mean."""
    if getattr(param, "is_flag", False):
        if not isinstance(value, bool):
            raise CompileError(f"{where} = {value!r}: must be true or false")
        return
    kind = next((k for k in WANTED if k in declared(param)), str)
    wanted = WANTED.get(kind, "text")
    written = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CompileError(f"{where} = {written}: must be {wanted}")
    if kind is Path and not isinstance(value, str):
        raise CompileError(f"{where} = {written}: must be {wanted}")
    if kind in (int, float):
        try:
            kind(value if isinstance(value, str) else str(value))
        except ValueError:
            raise CompileError(f"{where} = {value!r}: must be {wanted}") from None


def taken(params: Any, ctx: Any) -> dict[str, Any]:
    """The options of a command whose values come from the file, as they are written."""
    source = getattr(ctx, "get_parameter_source", None)
    found = {}
    for param in params:
        given = None if source is None else source(param.name)
        if given is not None and given.name == "DEFAULT_MAP":
            found[param.opts[0]] = ctx.params[param.name]
    return found
