"""Mistakes of an argument that are answered before anything heavy is imported."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from edgemon.compiler.errors import CompileError, ModelError
from edgemon.targets.nearest import choices

BUILT_IN = (
    "auto", "softmax", "msp_t", "entropy", "energy", "gen", "doctor", "odin_t", "odin",
    "second_opinion", "mirror", "mahalanobis_gap", "rmds", "fdbd", "react", "prototypes",
    "prototype_odds", "density", "alocc", "forest", "boosted_opinion", "errors", "scod",
    "box", "pattern", "prophecy", "deepinfer", "selfchecker",
)  # fmt: skip
BROUGHT = "edgemon.monitors"  # entry points, see compiler/monitors/registry.py


def require_there(model: Path) -> None:
    """Raises ModelError unless there is a file or a folder."""
    if not model.exists():
        raise ModelError(
            f"{model}: does not exist; give a .tflite, .keras, .h5 or .onnx file, or a SavedModel "
            "folder"
        )


def require_monitors(text: str) -> None:
    """Raises CompileError for a name in ``--monitor`` that no monitor has."""
    known = tuple(dict.fromkeys((*BUILT_IN, *sorted(e.name for e in entry_points(group=BROUGHT)))))
    for part in text.split(","):
        name = part.strip().partition(":")[0]
        if name and name not in known:
            raise CompileError(f"--monitor: unknown monitor {name!r}{choices(name, known)}")
