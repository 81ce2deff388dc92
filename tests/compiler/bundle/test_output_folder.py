"""The folder of a bundle appears as a whole, and nothing that a user keeps is removed for it
(SEC15)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgemon.compiler.bundle.output_folder import writing
from edgemon.compiler.errors import CompileError

NOTES = "my results"


def a_bundle(path: Path, mark: str = "old") -> None:
    path.mkdir()
    (path / "monitor.emon").write_text(mark)


def with_notes(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text(NOTES)


def bundle_with_notes(path: Path) -> None:
    a_bundle(path)
    (path / "notes.txt").write_text(NOTES)


def bundle_with_a_folder(path: Path) -> None:
    a_bundle(path)
    with_notes(path / "results")


def an_empty_folder(path: Path) -> None:
    path.mkdir()


def a_file(path: Path) -> None:
    path.write_text(NOTES)


def a_link(path: Path) -> None:
    path.symlink_to("nowhere")


def write(out: Path, *, force: bool, meanwhile: Callable[[Path], None] | None = None) -> None:
    with writing(out, force=force) as folder:
        (folder / "monitor.emon").write_text("new")
        if meanwhile is not None:
            meanwhile(out)


def seen(path: Path) -> dict[str, str]:
    """Everything at a path, by its name from there."""
    everything = [path, *path.rglob("*")] if path.is_dir() else [path]
    return {
        str(p.relative_to(path)): (
            "link" if p.is_symlink() else "folder" if p.is_dir() else p.read_text()
        )
        for p in everything
    }


ANYTHING = [
    a_bundle, with_notes, bundle_with_notes, bundle_with_a_folder, an_empty_folder, a_file, a_link,
]  # fmt: skip
NOT_OURS = [with_notes, bundle_with_notes, bundle_with_a_folder, a_file, a_link]


@pytest.mark.parametrize("make", ANYTHING)
def test_what_appears_at_out_while_compile_runs_is_not_deleted(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    out, alike = tmp_path / "race", tmp_path / "alike"
    make(alike)
    with pytest.raises(CompileError, match="appeared while compile ran") as raised:
        write(out, force=False, meanwhile=make)
    assert seen(out) == seen(alike)
    (kept,) = set(tmp_path.iterdir()) - {out, alike}
    assert str(kept) in str(raised.value)
    assert not kept.name.startswith(".")
    assert (kept / "monitor.emon").read_text() == "new"


@pytest.mark.parametrize("make", NOT_OURS)
def test_what_is_no_bundle_is_not_deleted_by_force_either(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    out, alike = tmp_path / "out", tmp_path / "alike"
    make(alike)
    with pytest.raises(CompileError, match="it is not replaced, and the new bundle is"):
        write(out, force=True, meanwhile=make)
    assert seen(out) == seen(alike)
    before = set(tmp_path.iterdir())
    with pytest.raises(CompileError, match="choose another --out"):
        write(out, force=True)
    assert seen(out) == seen(alike)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("make", [a_bundle, an_empty_folder])
def test_force_replaces_a_bundle(make: Callable[[Path], None], when: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if when == "before":
        make(out)
    write(out, force=True, meanwhile=make if when == "meanwhile" else None)
    assert seen(out) == {".": "folder", "monitor.emon": "new"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_what_comes_into_an_old_bundle_while_compile_runs_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    a_bundle(out)
    with pytest.raises(CompileError, match="holds what no compile wrote"):
        write(out, force=True, meanwhile=lambda p: (p / "notes.txt").write_text(NOTES) and None)
    assert seen(out) == {".": "folder", "monitor.emon": "old", "notes.txt": NOTES}


def test_of_two_that_write_to_one_place_the_second_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(CompileError, match="appeared while compile ran"):
        write(out, force=False, meanwhile=lambda p: write(p, force=False))
    assert seen(out) == {".": "folder", "monitor.emon": "new"}


def test_a_failure_leaves_the_old_bundle_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    a_bundle(out)

    def fail(_: Path) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write(out, force=True, meanwhile=fail)
    assert seen(out) == {".": "folder", "monitor.emon": "old"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
