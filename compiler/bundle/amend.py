"""Further files in a bundle that exists, or other ones; it is replaced as a whole."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from typing import Any

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.output_folder import (
    ARTIFACT_SIGNATURE,
    MANIFEST,
    OWN,
    SIGNATURE,
    writing,
)

SIGNATURES = (SIGNATURE, ARTIFACT_SIGNATURE)


def amend(bundle: Bundle, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> bool:
    """Puts ``files`` and ``facts``, fields of the manifest, into a bundle that is intact. Was it
    signed? Then it no longer is. Raises CompileError, with all as it was, if it cannot be."""
    bundle.require_intact()
    signed = any((bundle.path / name).exists() for name in SIGNATURES)
    path = bundle.path.resolve()
    with writing(path, force=True) as folder:
        for name in sorted(OWN - {*SIGNATURES, MANIFEST, *files}):
            if (path / name).is_file():
                shutil.copyfile(path / name, folder / name)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        known = {**bundle.manifest, **facts}
        known["sha256"] = {**bundle.manifest["sha256"], **hashes}
        (folder / MANIFEST).write_text(json.dumps(known, indent=2) + "\n")
    return signed
