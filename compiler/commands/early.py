"""Mistakes of an argument that are answered before anything heavy is imported."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from edgemon.compiler.errors import CompileError
from edgemon.runtime.errors import ArtifactError, EdgemonError
from edgemon.runtime.session import MONITOR

if TYPE_CHECKING:
    from edgemon.compiler.options import Options


def require_model(model: Path) -> None:
    """Raises ModelError unless there is a model, as far as its first bytes tell."""
    from edgemon.compiler.models.front_ends import front_end

    front_end(model)


def require_model_or_bundle(path: Path) -> None:
    """Raises EdgemonError unless there is one of the two."""
    from edgemon.compiler.models import is_model

    (require_model if is_model(path) else require_bundle)(path)


def require_word(option: str, word: str, known: Sequence[str]) -> None:
    """Raises CompileError for a word that an option does not know."""
    if word not in known:
        near = get_close_matches(word, known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise CompileError(f"{option} {word}: use {' or '.join(known)}{meant}")


def require_share(option: str, share: float) -> None:
    """Raises CompileError unless it lies between 0 and 1."""
    if not 0 < share < 1:
        raise CompileError(f"{option} {share}: must lie between 0 and 1")


def require_within(option: str, number: float, least: float, most: float) -> None:
    """Raises CompileError for a number below or above."""
    if not least <= number <= most:
        limits = f"{least:g} or more" if most == math.inf else f"from {least:,g} to {most:,.10g}"
        raise CompileError(f"{option} {number:g}: give a number, {limits}")


def require_positive(option: str, number: float) -> None:
    """Raises CompileError unless it is."""
    if not number > 0:
        raise CompileError(f"{option} {number:g}: give a positive number")


def require_count(option: str, text: str) -> None:
    """Raises CompileError for what is no number of rows: ``250``, or ``1%`` of them."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise CompileError(
            f"{option} {text!r} is no number of rows: write 250, or 1% for a share of them"
        )


def require_toml(path: Path) -> None:
    """Raises CompileError for a file that cannot be read as such."""
    require_file("", path)
    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompileError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CompileError(f"{path}: is not TOML: {error}") from None


def require_rows(
    data: str | None, fit: str | None, calibrate: str | None, test: str | None
) -> None:
    """Raises DataError unless rows are named in one of the two ways, and their files there."""
    from edgemon.compiler.data.sources import Sources

    for spec in Sources(data, fit, calibrate, test).described().values():
        require_file_of("", spec)


def require_target(name: str) -> None:
    """Raises TargetError for an unknown target or a profile that cannot be read."""
    from edgemon import targets

    targets.load(name)


def require_options(options: Options) -> None:
    """Raises EdgemonError for settings of a compile that mean nothing, by themselves or for the
    target."""
    options.require_sound()
    if options.budget_kb is not None or options.budget_us is not None:
        from edgemon import targets
        from edgemon.compiler import budget

        budget.resolve(options.budget_kb, options.budget_us, targets.load(options.target))


def require_room(out: Path, *, force: bool) -> None:
    """Raises CompileError if writing ``out`` would destroy something, or if nothing can be of that
    name."""
    try:
        out.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise CompileError(f"--out {out}: cannot write there ({error.strerror})") from None
    from edgemon.compiler.bundle.output_folder import refuse_existing

    refuse_existing(out, force=force)


def require_folder(option: str, path: Path) -> None:
    """Raises CompileError for a file; ``--root`` must be there, others are made."""
    if path.is_file() or (option == "--root" and not path.is_dir()):
        raise CompileError(f"{option} {path}: is not a folder")


def require_new(out: Path) -> None:
    """Raises CompileError where something is."""
    if os.path.lexists(out):
        raise CompileError(f"{out} exists; choose another --out")


def require_file(option: str, path: Path) -> None:
    """Raises CompileError where there is none; ``option``: that names it, if one does."""
    if not path.exists():
        named = f"{option} {path}".strip()
        raise CompileError(f"{named}: cannot be read: No such file or directory")


def require_place(option: str, path: Path) -> None:
    """Raises CompileError where no file can be written."""
    if path.is_dir():
        raise CompileError(f"{option} {path}: is a folder; name a file")
    if not path.absolute().parent.is_dir():
        raise CompileError(
            f"{option} {path}: cannot be written: there is no folder {path.parent}; make it first"
        )


def require_bundle(path: Path) -> None:
    """Raises EdgemonError where there is nothing, or something else."""
    if not path.exists():
        raise CompileError(
            f"{path}: does not exist; give the folder that `edgemon compile --out` wrote"
        )
    if not (path / MONITOR).is_file():
        raise ArtifactError(
            f"{path}: not an edgemon bundle (no {MONITOR} in it); give the folder that "
            "`edgemon compile --out` wrote"
        )


def require_baseline(path: Path | None) -> None:
    """Raises EdgemonError unless there is a whole bundle for ``--baseline``, if that is given."""
    if path is None:
        return
    if not path.is_dir():
        raise CompileError(
            f"--baseline {path}: is no folder; give a bundle that `edgemon compile --out` wrote"
        )
    if not (path / "manifest.json").is_file():
        raise CompileError(
            f"--baseline {path}: is not an edgemon bundle (no manifest.json); give a bundle "
            "that `edgemon compile --out` wrote"
        )
    from edgemon.compiler.bundle.bundle import Bundle

    try:
        Bundle.open(path).require_intact()
    except EdgemonError as error:
        raise type(error)(f"--baseline {error}") from None


def require_file_of(_: str, spec: str | Path) -> None:
    """Raises DataError unless there are the files that name rows."""
    from edgemon.compiler.data.loading import files_of

    files_of(str(spec))
