"""Signed bundles: whole, changed by a byte, signed by another, by nobody; on the device too."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.keys import private_key, public_key
from edgemon.compiler.bundle.signature import checked_copy
from edgemon.runtime.errors import ArtifactError, EdgemonError
from tests.command_line import document, edgemon, refused
from tests.runtime.c_compilers import C_FLAGS, SOURCES, C, need, run
from tests.tiny_tflite import write_tiny

CHANGED, OTHER, UNSIGNED = 5, 6, 7


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "fleet.pem"
    assert edgemon("sign", "--key", path, "--new-key").exit_code == 0
    return path


@pytest.fixture(scope="module")
def public(key: Path) -> Path:
    return key.with_name("fleet.pub.pem")


@pytest.fixture(scope="module")
def whole(bundle: Path, key: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed bundle; copy it before you change it."""
    out = tmp_path_factory.mktemp("signed") / "b"
    shutil.copytree(bundle, out)
    assert edgemon("sign", out, "--key", key).exit_code == 0
    return out


@pytest.fixture
def signed(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "b"))


def test_three_sentences_and_three_exit_codes(signed: Path, public: Path, tmp_path: Path) -> None:
    """SEC6. A signed bundle, one with a changed byte, one signed by another key."""
    result = edgemon("verify", signed, "--key", public)
    assert result.exit_code == 0, result.stderr
    assert f"signed by the key of {public}, and as it was signed" in result.stdout
    assert document("verify", signed, "--key", public)["signed"] is True
    other = tmp_path / "other.pem"
    edgemon("sign", "--key", other, "--new-key")
    assert "is signed by another key" in refused(
        "verify", signed, "--key", tmp_path / "other.pub.pem", code=OTHER
    )
    content = bytearray((signed / "monitor.emon").read_bytes())
    content[200] ^= 1
    (signed / "monitor.emon").write_bytes(content)
    sentence = refused("verify", signed, "--key", public, code=CHANGED)
    assert "was changed since it was signed (monitor.emon is another)" in sentence


def test_a_bundle_that_nobody_signed(bundle: Path, public: Path) -> None:
    assert "is not signed" in refused("verify", bundle, "--key", public, code=UNSIGNED)


def test_every_file_is_bound(signed: Path, public: Path, tmp_path: Path) -> None:
    """SEC6. One byte of each, a file that is added, and one that is exchanged with its hash."""
    names = sorted(p.name for p in signed.iterdir())
    assert {"manifest.sig", "monitor.emon.sig", "splits.npz", "report.html"} < set(names)
    for name in names:
        path, content = signed / name, (signed / name).read_bytes()
        for at in (0, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
            with pytest.raises(EdgemonError) as caught:
                checked_copy(signed, public_key(public), tmp_path / "copy")
            assert caught.value.exit_code in (CHANGED, OTHER), (name, at)
            assert not (tmp_path / "copy").exists()
        path.write_bytes(content)
    (signed / "model.tapped.onnx").write_bytes(b"another model")
    with pytest.raises(EdgemonError, match=r"model\.tapped\.onnx was added"):
        checked_copy(signed, public_key(public), tmp_path / "copy")


@pytest.mark.parametrize(
    "name", ["manifest.json", "monitor.emon.sig", "monitor.onnx", "model.tapped.tflite"]
)
def test_a_signed_bundle_that_lacks_a_file(name: str, signed: Path, public: Path) -> None:
    (signed / name).unlink()
    result = edgemon("verify", signed, "--key", public)
    assert result.exit_code in (9, CHANGED)
    assert len(result.stderr.strip().splitlines()) == 1


def test_what_no_device_needs_may_be_gone(signed: Path, public: Path) -> None:
    (signed / "splits.npz").unlink()
    assert edgemon("verify", signed, "--key", public).exit_code == 0


def test_nothing_is_opened_before_the_signature_is_good(
    signed: Path, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC5."""
    opened: list[Path] = []
    original: Callable[[Path], Bundle] = Bundle.open
    monkeypatch.setattr(Bundle, "open", lambda path: opened.append(path) or original(path))
    (signed / "manifest.json").write_text((signed / "manifest.json").read_text() + " ")
    refused("verify", signed, "--key", public, code=CHANGED)
    assert opened == []


def test_what_is_opened_is_what_was_checked(signed: Path, public: Path, tmp_path: Path) -> None:
    """SEC5. Whatever becomes of the bundle meanwhile."""
    copy = checked_copy(signed, public_key(public), tmp_path / "copy")
    for path in signed.iterdir():
        path.write_bytes(b"")
    opened = Bundle.open(copy)
    opened.require_intact()
    assert opened.path == copy


def test_a_damaged_bundle_is_not_signed(bundle: Path, key: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bundle, tmp_path / "b"))
    (copy / "report.html").write_text("better numbers")
    assert "is not the file that compile wrote" in refused("sign", copy, "--key", key, code=9)
    shutil.copy(bundle / "report.html", copy)
    (copy / "notes.txt").write_text("mine")
    assert "is not bound by the manifest" in refused("sign", copy, "--key", key)
    assert not (copy / "manifest.sig").exists()


def test_keys(key: Path, public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "a key is never replaced" in refused("sign", "--key", key, "--new-key")
    assert "name a bundle" in refused("sign", "--key", key)
    (tmp_path / "monitor.emon").touch()
    assert "make a key with --new-key" in refused("sign", tmp_path, "--key", tmp_path / "no.pem")
    with pytest.raises(EdgemonError, match="a private key; verify takes its public half"):
        public_key(key)
    with pytest.raises(EdgemonError, match="no private key in PEM"):
        private_key(public)
    with pytest.raises(EdgemonError, match="cannot be read"):
        public_key(tmp_path / "x.pem")
    locked = tmp_path / "locked.pem"
    monkeypatch.setenv("EDGEMON_KEY_PASSWORD", "word")
    assert edgemon("sign", "--key", locked, "--new-key").exit_code == 0
    assert "word" not in locked.read_text()
    private_key(locked)
    monkeypatch.setenv("EDGEMON_KEY_PASSWORD", "other")
    with pytest.raises(EdgemonError, match="is not its password"):
        private_key(locked)
    monkeypatch.delenv("EDGEMON_KEY_PASSWORD")
    with pytest.raises(EdgemonError, match="set EDGEMON_KEY_PASSWORD"):
        private_key(locked)


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    made = generate_private_key(SECP256R1())
    private, public = tmp_path / "a.pem", tmp_path / "a.pub.pem"
    private.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    for read, path in ((private_key, private), (public_key, public)):
        with pytest.raises(EdgemonError, match="not an Ed25519 key"):
            read(path)


def test_force_replaces_a_signed_bundle(signed: Path, tiny_data: Path) -> None:
    model = write_tiny(signed.parent / "tiny.tflite")
    result = edgemon("compile", model, "--data", tiny_data, "--monitor", "softmax", "--out", signed,
                     "--force")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert not (signed / "manifest.sig").exists()


def test_a_manifest_binds_all_other_files(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    assert set(manifest["sha256"]) == {p.name for p in bundle.iterdir()} - {"manifest.json"}
    for name in ("splits.npz", "report.json"):
        copy = bundle.parent / f"changed-{name}"
        shutil.copytree(bundle, copy)
        (copy / name).write_bytes((copy / name).read_bytes() + b"\n")
        with pytest.raises(ArtifactError, match="is not the file that compile wrote"):
            Bundle.open(copy).require_intact()


def test_a_device_checks_the_signature_with_libsodium(
    signed: Path, key: Path, tmp_path: Path
) -> None:
    """SEC7. The example, against what ``edgemon sign`` wrote."""
    header = tmp_path / "probe.c"
    header.write_text("#include <sodium.h>\n")
    probe = [need("gcc"), "-fsyntax-only", str(header)]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("libsodium-dev is not installed")
    program = tmp_path / "signed"
    run("gcc", *C_FLAGS, C / "examples" / "signed.c", *SOURCES, "-lsodium", "-o", program)
    digits = private_key(key).public_key().public_bytes_raw().hex()
    artifact, signature = signed / "monitor.emon", signed / "monitor.emon.sig"
    assert run(program, artifact, signature, digits).endswith(": ok\n")
    wrong = digits[:-1] + ("0" if digits[-1] != "0" else "1")
    damaged = bytearray(artifact.read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "damaged.emon").write_bytes(damaged)
    for arguments in ((artifact, signature, wrong), (tmp_path / "damaged.emon", signature, digits),
                      (artifact, artifact, digits)):  # fmt: skip
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "not signed by this key" in done.stdout
