"""edgemon: compact monitors that tell, beside a classifier on an edge device, whether its answer is
right.

``edgemon.compile`` makes a ``Bundle`` of a classifier and labelled rows, ``edgemon.load`` opens
one. What takes time to import is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgemon.compiler.api.bundle import Bundle, Scores, Verdicts, load
    from edgemon.compiler.api.compilation import compile
    from edgemon.compiler.api.frames import EdgemonWarning
    from edgemon.compiler.errors import RequirementError
    from edgemon.runtime.errors import EdgemonError

__version__: str
__all__ = [
    "Bundle",
    "EdgemonError",
    "EdgemonWarning",
    "RequirementError",
    "Scores",
    "Verdicts",
    "__version__",
    "compile",
    "load",
]

_WHERE = {
    "Bundle": "edgemon.compiler.api.bundle", "Scores": "edgemon.compiler.api.bundle",
    "Verdicts": "edgemon.compiler.api.bundle", "load": "edgemon.compiler.api.bundle",
    "EdgemonWarning": "edgemon.compiler.api.frames",
    "RequirementError": "edgemon.compiler.errors",
    "compile": "edgemon.compiler.api.compilation", "EdgemonError": "edgemon.runtime.errors",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # slow to import, and each worker would

        return version("edgemon")
    if name not in _WHERE:
        raise AttributeError(f"module 'edgemon' has no attribute {name!r}")
    try:
        found = getattr(import_module(_WHERE[name]), name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"edgemon.{name} needs more than the device runtime ({error.name} is missing): "
            "pip install 'edgemon[compile]'"
        ) from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
