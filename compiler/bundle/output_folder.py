"""The folder that ``compile`` writes: it appears as a whole or not at all, and nothing that a user
keeps is removed for it, whoever made it and when.

No step looks first and acts then: a folder is taken by ``mkdir``, which fails where anything is,
and an old bundle is set aside by a rename before it is looked at, and emptied file by file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.splits import Splits
from edgemon.compiler.documents.manifest import Manifest
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.model import TappedModel
from edgemon.runtime.companions import FILES as COMPANIONS
from edgemon.runtime.formats import MODELS
from edgemon.runtime.session import MONITOR

ONNX, MANIFEST, SPLITS, C_HEADER = "monitor.onnx", "manifest.json", "splits.npz", "monitor.h"
REPORT, REPORT_JSON = "report.html", "report.json"
ACCURACY = "accuracy.npz"  # of `accuracy fit`
SIGNATURE, ARTIFACT_SIGNATURE = "manifest.sig", "monitor.emon.sig"
OWN = frozenset(
    (MONITOR, ONNX, MANIFEST, SPLITS, C_HEADER, REPORT, REPORT_JSON, ACCURACY, SIGNATURE,
     ARTIFACT_SIGNATURE, *MODELS, *COMPANIONS)
)  # fmt: skip
SHOWN = 3  # names in a message


def is_bundle(path: Path) -> bool:
    """Does this path look like a bundle?"""
    return path.is_dir() and (path / MONITOR).is_file()


def refuse_existing(out: Path, *, force: bool) -> None:
    """Raises CompileError if writing ``out`` would destroy something."""
    if not os.path.lexists(out):
        return
    if not force:
        raise CompileError(f"{out} exists; choose another --out, or replace it with --force")
    problem = _kept(out)
    if problem is not None:
        raise CompileError(f"{out} {problem}")


@contextmanager
def writing(out: Path, *, force: bool) -> Iterator[Path]:
    """A temporary folder beside ``out`` that takes its place when the block ends without error;
    a bundle that it replaces is removed only then, and only with ``force``. Raises CompileError at
    once if ``out`` cannot be written, and in the end if something else has come to be there: then
    the new bundle stays beside it, under a name that the sentence tells."""
    out = out.absolute()
    try:
        refuse_existing(out, force=force)
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{out.name[:64]}.", dir=out.parent))
    except OSError as error:
        raise _unwritable(out, error) from None
    try:
        yield scratch
        scratch.chmod(0o777 & ~_umask())
        _take_place(scratch, out, force=force)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _take_place(scratch: Path, out: Path, *, force: bool) -> None:
    old = scratch.with_name(scratch.name + ".old")
    try:
        if force and os.path.lexists(out):
            _set_aside(out, old, scratch)
        try:
            _move(scratch, out)
        except FileExistsError:
            was = f" (what it was to replace is now {old})" if os.path.lexists(old) else ""
            _keep(scratch, out, f"appeared while compile ran{was}")
        except OSError:
            if os.path.lexists(old):
                _move(old, out)
            raise
    except OSError as error:
        raise _unwritable(out, error) from None
    _remove(old, out)


def _set_aside(out: Path, old: Path, scratch: Path) -> None:
    """Renames what is at ``out`` to ``old``; raises CompileError, with all as it was, if that is
    none of ours."""
    try:
        out.rename(old)
    except FileNotFoundError:  # gone since it was seen
        return
    problem = _kept(old)
    if problem is None:
        return
    back = f"and is now {old}"
    try:
        if old.is_dir() and not old.is_symlink():
            _move(old, out)
        else:
            os.link(old, out, follow_symlinks=False)  # fails where anything is
            old.unlink()
        back = "and stays"
    except OSError:
        pass
    _keep(scratch, out, f"{problem}, {back}")


def _kept(path: Path) -> str | None:
    """What is at ``path`` that may not be removed; None if it is a bundle or empty."""
    if path.is_symlink() or not path.is_dir():
        return "exists and is not an edgemon bundle; choose another --out"
    names = sorted(p.name for p in path.iterdir())
    if names and not is_bundle(path):
        return "exists and is not an edgemon bundle; choose another --out"
    others = [n for n in names if n not in OWN or not (path / n).is_file()]
    if not others:
        return None
    shown = ", ".join(others[:SHOWN]) + (", ..." if len(others) > SHOWN else "")
    return f"holds what no compile wrote ({shown}); move that away, or choose another --out"


def _move(folder: Path, to: Path) -> None:
    """Renames a folder. Raises FileExistsError if anything is there, be it an empty folder, which
    a rename by itself would replace."""
    to.mkdir()
    try:
        folder.rename(to)
    except OSError as error:  # something has come into the folder, or taken its place
        raise FileExistsError(error.errno, error.strerror) from None


def _keep(scratch: Path, out: Path, problem: str) -> None:
    kept = scratch.with_name(scratch.name.removeprefix("."))
    _move(scratch, kept)
    raise CompileError(f"{out} {problem}: it is not replaced, and the new bundle is {kept}")


def _remove(old: Path, out: Path) -> None:
    """Removes a bundle's own files, and the folder if nothing else has come into it since."""
    if not os.path.lexists(old):
        return
    try:
        for name in OWN:
            (old / name).unlink(missing_ok=True)
        old.rmdir()
    except OSError as error:
        raise CompileError(
            f"{out} is written, but what it replaces could not be removed ({error.strerror}) and "
            f"is now {old}"
        ) from None


def write(
    folder: Path, artifact: bytes, onnx: bytes, model: TappedModel, manifest: Manifest,
    rows: Splits[npt.NDArray[np.int64]], *, c_header: bool,
) -> Manifest:  # fmt: skip
    """A bundle's files but the report. ``rows``: the numbers of those of
    each split. Returns the manifest as written, with the hashes of all other files."""
    (folder / MONITOR).write_bytes(artifact)
    (folder / ONNX).write_bytes(onnx)
    for path in (model.path, *model.companion_paths.values()):
        shutil.copyfile(path, folder / path.name)
    if c_header:
        (folder / C_HEADER).write_text(flat.c_header(artifact))
    arrays: dict[str, Any] = dict(rows.items())
    np.savez_compressed(folder / SPLITS, **arrays)
    hashes = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in (SPLITS, C_HEADER)
        if (folder / name).exists()
    }
    manifest = {**manifest, "sha256": {**manifest["sha256"], **hashes}}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def _unwritable(out: Path, error: OSError) -> CompileError:
    return CompileError(f"--out {out}: cannot write there ({error.strerror})")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
