"""Keys that sign bundles: Ed25519, as PEM files, by the package ``cryptography``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from edgemon.compiler.errors import CompileError, MissingPackageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

PASSWORD = "EDGEMON_KEY_PASSWORD"  # of an encrypted private key
PUBLIC = ".pub.pem"
MOST_BYTES = 1 << 16


def _require_package() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            "signatures need the package cryptography: pip install 'edgemon[compile]'"
        ) from None


def public_path(private: Path) -> Path:
    """Where the public half of a new key is written."""
    return private.with_name(private.name.removesuffix(".pem") + PUBLIC)


def create(private: Path) -> Path:
    """A new key: writes the private half (only its owner may read it) and the public one beside
    it, whose path is returned. Raises CompileError if either file exists or cannot be written."""
    _require_package()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key, public = Ed25519PrivateKey.generate(), public_path(private)
    word = os.environ.get(PASSWORD, "")
    locked = BestAvailableEncryption(word.encode()) if word else NoEncryption()
    halves = (
        (public, 0o644, key.public_key().public_bytes(
            Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)),
        (private, 0o600, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked)),
    )  # fmt: skip
    for path, _, _ in halves:
        if os.path.lexists(path):
            raise CompileError(f"{path} exists; a key is never replaced: choose another --key")
    for path, mode, content in halves:
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content)
        except OSError as error:
            raise CompileError(f"--key {path}: cannot be written ({error.strerror})") from None
    return public


def private_key(path: Path) -> Ed25519PrivateKey:
    """Raises CompileError unless the file holds one; see ``PASSWORD`` for encrypted ones."""
    _require_package()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if not path.exists():
        raise CompileError(f"--key {path}: no such file; make a key with --new-key")
    content = _content(path)
    word = os.environ.get(PASSWORD, "").encode() if b"ENCRYPTED" in content else None
    try:
        key = load_pem_private_key(content, word or None)
    except TypeError:
        raise CompileError(f"{path}: the key is encrypted; set {PASSWORD}") from None
    except Exception:
        raise CompileError(
            f"{path}: no private key in PEM, or {PASSWORD} is not its password; "
            "`edgemon sign --new-key` makes one"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise CompileError(f"{path}: not an Ed25519 key; `edgemon sign --new-key` makes one")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """Raises CompileError unless the file holds one."""
    _require_package()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    content = _content(path)
    if b"PRIVATE" in content:
        raise CompileError(f"{path}: a private key; verify takes its public half (*{PUBLIC})")
    try:
        key = load_pem_public_key(content)
    except Exception:
        raise CompileError(f"{path}: no public key in PEM (*{PUBLIC})") from None
    if not isinstance(key, Ed25519PublicKey):
        raise CompileError(f"{path}: not an Ed25519 key")
    return key


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError as error:
        raise CompileError(f"--key {path}: cannot be read ({error.strerror})") from None
