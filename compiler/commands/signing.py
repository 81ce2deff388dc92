"""Signing a bundle, with a key that exists or a new one."""

from __future__ import annotations

from pathlib import Path

from edgemon.compiler.bundle import keys
from edgemon.compiler.bundle.output_folder import ARTIFACT_SIGNATURE, SIGNATURE
from edgemon.compiler.bundle.signature import sign
from edgemon.compiler.errors import CompileError
from edgemon.compiler.terminal import Terminal


def sign_bundle(
    bundle: Path | None, key: Path, *, new_key: bool, terminal: Terminal
) -> dict[str, str | None]:
    """Raises EdgemonError. Without a bundle only a new key is made."""
    if bundle is None and not new_key:
        raise CompileError("sign: name a bundle to sign, or make a key with --new-key")
    public = str(keys.create(key)) if new_key else None
    if public is not None:
        terminal.note(f"new key: {key} (keep it secret), {public} (give it to who verifies)")
    own = keys.private_key(key)
    digits = own.public_key().public_bytes_raw().hex()
    if bundle is not None:
        sign(bundle, own)
        terminal.note(f"signed {bundle}: {SIGNATURE}, and {ARTIFACT_SIGNATURE} for devices")
    terminal.note(f"public key for em_open_signed: {digits}")
    return {"bundle": None if bundle is None else str(bundle), "public": public, "key": digits}
