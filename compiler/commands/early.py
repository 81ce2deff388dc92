"""Mistakes of an argument that are answered before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from edgemon.compiler.errors import CompileError, ModelError
from edgemon.targets.nearest import choices

AUTO = "auto"
SETTINGS = {  # of each monitor; a test holds them to the monitors themselves
    "softmax": "",
    "msp_t": "",
    "entropy": "",
    "energy": "temperature",
    "gen": "gamma",
    "doctor": "",
    "odin_t": "",
    "odin": "eps temperature white",
    "second_opinion": "rule seed",
    "mirror": "rule seed",
    "mahalanobis_gap": "rule seed",
    "rmds": "dims pool",
    "fdbd": "",
    "react": "percentile score",
    "prototypes": "per_class seed pool",
    "prototype_odds": "per_class seed pool",
    "density": "dims pool",
    "alocc": "",
    "forest": "trees max_depth min_rows seed",
    "boosted_opinion": "trees leaves rule seed",
    "errors": "novelty_weight budget_kb budget_us seed mirror",
    "scod": "novelty_weight budget_kb budget_us seed mirror",
    "box": "gamma tau max_clusters floor projection dimensions landmarks layers_rule seed",
    "pattern": "threshold neurons per_class gamma seed",
    "prophecy": "max_depth max_leaves min_rows prune on_off only_pure validation seed",
    "deepinfer": "comparator",
    "selfchecker": "rule budget_kb max_layers form validation exact_rows seed",
}
BROUGHT = "edgemon.monitors"  # entry points, see compiler/monitors/registry.py


def require_there(model: Path) -> None:
    """Raises ModelError unless there is a file or a folder."""
    if not model.exists():
        raise ModelError(
            f"{model}: does not exist; give a .tflite, .keras, .h5 or .onnx file, or a SavedModel "
            "folder"
        )


def require_monitors(text: str, profile: str = "errors") -> None:
    """Raises CompileError for a name in ``--monitor`` that no monitor has, and for a setting that a
    monitor has not; ``auto`` has those of the profile's fusion."""
    brought = sorted(e.name for e in entry_points(group=BROUGHT))
    known = tuple(dict.fromkeys((AUTO, *SETTINGS, *brought)))
    for part in text.split(","):
        name, *settings = part.strip().split(":")
        if name and name not in known:
            raise CompileError(f"--monitor: unknown monitor {name!r}{choices(name, known)}")
        its = SETTINGS.get(profile if name == AUTO else name)
        if its is not None:
            _require_settings(name, settings, its.split())


def _require_settings(name: str, settings: Sequence[str], known: Sequence[str]) -> None:
    for setting in settings:
        key, equals, _ = setting.partition("=")
        if not equals or key not in known:
            raise CompileError(
                f"--monitor {name}: unknown setting {setting!r}{choices(key, known, 'it has')}"
            )


def require_word(option: str, word: str, known: Sequence[str]) -> None:
    """Raises CompileError for a word that an option does not know."""
    if word not in known:
        raise CompileError(f"{option} {word}: use {' or '.join(known)}")


def require_rows(
    data: str | None, fit: str | None, calibrate: str | None, test: str | None
) -> None:
    """Raises DataError unless rows are named in one of the two ways, and their files there."""
    from edgemon.compiler.data.sources import Sources

    for spec in Sources(data, fit, calibrate, test).described().values():
        require_file_of(spec)


def require_target(name: str) -> None:
    """Raises TargetError for an unknown target or a profile that cannot be read."""
    from edgemon import targets

    targets.load(name)


def require_preprocess(text: str) -> None:
    """Raises InputError for what cannot be understood."""
    from edgemon.runtime.preprocess import Preprocess

    Preprocess.parse(text)


def require_room(out: Path, *, force: bool) -> None:
    """Raises CompileError if writing ``out`` would destroy something."""
    from edgemon.compiler.bundle.output_folder import refuse_existing

    refuse_existing(out, force=force)


def require_file(path: Path) -> None:
    """Raises CompileError where there is none."""
    if not path.exists():
        raise CompileError(f"{path}: cannot be read: No such file or directory")


def require_bundle(path: Path) -> None:
    """Raises CompileError where there is nothing."""
    if not path.exists():
        raise CompileError(
            f"{path}: does not exist; give the folder that `edgemon compile --out` wrote"
        )


def require_baseline(path: Path | None) -> None:
    """Raises CompileError unless there is a folder for ``--baseline``, if that is given."""
    if path is not None and not path.is_dir():
        raise CompileError(
            f"--baseline {path}: is no folder; give a bundle that `edgemon compile --out` wrote"
        )
    if path is not None and not (path / "manifest.json").is_file():
        raise CompileError(
            f"--baseline {path}: is not an edgemon bundle (no manifest.json); give a bundle "
            "that `edgemon compile --out` wrote"
        )


def require_file_of(spec: str) -> None:
    """Raises DataError unless there are the files that name rows."""
    from edgemon.compiler.data.loading import files_of

    files_of(spec)
