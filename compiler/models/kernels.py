"""The kernel sets of TFLite, as ``--certify-kernels`` names them."""

from __future__ import annotations

from edgemon.compiler.errors import CompileError
from edgemon.runtime.tflite_classifier import KERNELS


def require_kernels(text: str) -> list[str]:
    """The names in ``xnnpack,builtin``. Raises CompileError for one that is no kernel set."""
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name not in KERNELS:
            raise CompileError(f"--certify-kernels {name}: use {', '.join(KERNELS)}")
    return wanted
