"""Signed bundles: the manifest holds the hashes of all files, and a signature holds the manifest.

``manifest.sig`` signs the bytes of ``manifest.json``; ``monitor.emon.sig``, 64 bytes, signs those
of ``monitor.emon``, for devices that have only these two files. Nothing of a bundle is parsed
before its signature was found good, but ``manifest.sig`` itself.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.output_folder import (
    ARTIFACT_SIGNATURE,
    MANIFEST,
    SIGNATURE,
    is_bundle,
)
from edgemon.compiler.errors import ChangedError, CompileError, OtherKeyError, UnsignedError
from edgemon.runtime.errors import ArtifactError, DamagedError
from edgemon.runtime.session import MONITOR
from edgemon.runtime.untrusted import parse_json, printable, read

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

VERSION, ALGORITHM = 1, "Ed25519"
BESIDE = frozenset((MANIFEST, SIGNATURE, ARTIFACT_SIGNATURE))  # which no hash of a manifest binds


def sign(path: Path, key: Ed25519PrivateKey) -> str:
    """Signs a bundle that is as compile wrote it; returns the public key in hexadecimal. A
    signature that is there is replaced. Raises EdgemonError if a file is not the manifest's."""
    bundle = Bundle.open(path)
    bundle.require_intact()
    manifest = read(path / MANIFEST)
    for name, content in _bound(path, manifest, _unbound).items():
        if name == MONITOR and content != bundle.artifact_bytes:
            raise CompileError(f"{path}: is being changed; sign it when that is over")
    public = key.public_key().public_bytes_raw().hex()
    stated = {
        "edgemon_signature": VERSION, "algorithm": ALGORITHM, "public_key": public,
        "signature": key.sign(manifest).hex(),
    }  # fmt: skip
    _write(path / ARTIFACT_SIGNATURE, key.sign(bundle.artifact_bytes))
    _write(path / SIGNATURE, (json.dumps(stated, indent=2) + "\n").encode())
    return public


def _unbound(path: Path, name: str, stated: str | None) -> CompileError:
    why = "is not the file that compile wrote" if stated else "is not bound by the manifest"
    return CompileError(
        f"{path / printable(name)} {why}, so that a signature would say nothing of it; compile the "
        "bundle again"
    )


def _write(path: Path, content: bytes) -> None:
    """The whole file or none."""
    scratch = path.with_name(path.name + ".new")
    try:
        scratch.write_bytes(content)
        scratch.replace(path)
    except OSError as error:
        raise CompileError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        scratch.unlink(missing_ok=True)


def checked_copy(path: Path, key: Ed25519PublicKey, to: Path) -> Path:
    """A copy of a bundle, made of the very bytes that were found to be signed, so that what is
    opened is what was checked. Raises UnsignedError, OtherKeyError, ChangedError."""
    if not is_bundle(path):
        raise ArtifactError(f"{path}: not an edgemon bundle (no {MONITOR} in it)")
    if not os.path.lexists(path / SIGNATURE):
        raise UnsignedError(f"{path}: is not signed (no {SIGNATURE}); `edgemon sign` signs it")
    try:
        signature, manifest = read(path / SIGNATURE), read(path / MANIFEST)
    except OSError as error:
        raise ChangedError(f"{path}: was changed since it was signed ({error})") from None
    _require_signed(path, signature, manifest, key)
    files = _bound(path, manifest, _changed)
    try:
        found = read(path / ARTIFACT_SIGNATURE)
    except OSError:
        raise _changed(path, ARTIFACT_SIGNATURE, None) from None
    if MONITOR not in files or not _is_good(key, found, files[MONITOR]):
        raise _changed(path, ARTIFACT_SIGNATURE, None)
    to.mkdir()
    for name, content in {**files, MANIFEST: manifest}.items():
        (to / name).write_bytes(content)
    return to


def _require_signed(path: Path, signature: bytes, manifest: bytes, key: Ed25519PublicKey) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        stated = parse_json(signature)
        good = (stated["edgemon_signature"], stated["algorithm"]) == (VERSION, ALGORITHM)
        signer, of_manifest = (bytes.fromhex(stated[n]) for n in ("public_key", "signature"))
        own = Ed25519PublicKey.from_public_bytes(signer)
    except (ValueError, TypeError, KeyError):
        good = False
    if not good:
        raise ChangedError(
            f"{path}: was changed since it was signed ({SIGNATURE} is no signature of this version)"
        )
    if not _is_good(own, of_manifest, manifest):
        raise ChangedError(
            f"{path}: was changed since it was signed ({MANIFEST} or {SIGNATURE} is another)"
        )
    if signer != key.public_bytes_raw():
        raise OtherKeyError(
            f"{path}: is signed by another key ({signer.hex()}) than --key ("
            f"{key.public_bytes_raw().hex()})"
        )


def _is_good(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _bound(path: Path, manifest: bytes, wrong: Any) -> dict[str, bytes]:
    """The content of all files but those of ``BESIDE``, each with the hash that the manifest has.
    Raises ``wrong(path, name, hash)`` for one that has not, or whose hash the manifest lacks."""
    try:
        stated = parse_json(manifest)["sha256"]
        known = {str(n): str(h) for n, h in stated.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DamagedError(
            f"{path / MANIFEST}: names no hashes; compile the bundle again"
        ) from None
    found = {}
    for name in sorted(p.name for p in path.iterdir()):
        if name in BESIDE:
            continue
        content = read(path / name) if name in known and (path / name).is_file() else None
        if content is None or hashlib.sha256(content).hexdigest() != known[name]:
            raise wrong(path, name, known.get(name))
        found[name] = content
    return found


def _changed(path: Path, name: str, stated: str | None) -> ChangedError:
    added = stated is None and name not in BESIDE
    return ChangedError(
        f"{path}: was changed since it was signed ({printable(name)} "
        f"{'was added' if added else 'is another'})"
    )
