"""Imports go one way: between the four packages, and between the rooms of the compiler."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("runtime", "targets", "compiler", "bench")  # each imports those before it, and itself


def imported(path: Path) -> Iterator[str]:
    """What a file imports of edgemon, as dotted names behind ``edgemon.``."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            package, _, rest = node.module.partition(".")
            if package == "edgemon":
                yield from (f"{rest}.{alias.name}".removeprefix(".") for alias in node.names)


def room(dotted: str) -> str:
    """The room of the compiler, or the file on its first level."""
    return dotted.split(".")[1] if "." in dotted else ""


def test_packages_import_one_way() -> None:
    for at, package in enumerate(PACKAGES):
        for path in (ROOT / package).rglob("*.py"):
            found = {name.partition(".")[0] for name in imported(path)}
            above = found & set(PACKAGES[at + 1 :])
            assert not above, f"{path.relative_to(ROOT)} imports {above}, which import {package}"


def test_the_rooms_of_the_compiler_have_no_circle() -> None:
    folder = ROOT / "compiler"
    reads: dict[str, set[str]] = {}
    for path in folder.rglob("*.py"):
        own = path.relative_to(folder).parts[0].removesuffix(".py")
        others = {room(n) for n in imported(path) if n.startswith("compiler.")}
        reads.setdefault(own, set()).update(others - {own, ""})
    assert len(reads) > 15
    try:
        TopologicalSorter(reads).prepare()
    except CycleError as error:
        raise AssertionError(
            f"rooms that import each other: {' <- '.join(error.args[1])}"
        ) from None
