"""Bundles that somebody else may have made: endless files, odd JSON, texts that steer terminals."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from edgemon.compiler.bundle.bundle import Bundle, reading_of
from edgemon.compiler.terminal import Terminal
from edgemon.runtime import Session, formats, untrusted
from edgemon.runtime import session as sessions
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.untrusted import parse_json, printable, read
from tests.tiny_onnx import write_tiny_onnx


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle, tmp_path / "copy"))


@pytest.mark.parametrize("name", ["monitor.emon", "model.tapped.tflite"])
def test_a_link_to_an_endless_file_is_refused_by_a_session(name: str, copy: Path) -> None:
    """SEC11."""
    (copy / name).unlink()
    (copy / name).symlink_to("/dev/zero")
    with pytest.raises(ArtifactError):
        Session(copy)


@pytest.mark.parametrize("name", ["manifest.json", "monitor.onnx", "monitor.emon", "report.html"])
def test_a_link_to_an_endless_file_is_refused_by_commands(name: str, copy: Path) -> None:
    (copy / name).unlink()
    (copy / name).symlink_to("/dev/zero")
    with pytest.raises(ArtifactError):
        Bundle.open(copy).require_intact()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "monitor.emon")
    with pytest.raises(ArtifactError, match="no regular file"):
        read(tmp_path / "monitor.emon")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """SEC11."""
    path = tmp_path / "manifest.json"
    with path.open("wb") as file:
        file.truncate(untrusted.MOST_BYTES["manifest.json"] + 1)
    with pytest.raises(ArtifactError, match="larger than the 67,108,864 bytes"):
        read(path)


ODD = {
    "nested": "[" * 200_000 + "]" * 200_000,
    "objects": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "digits": "[" + "9" * 100_000 + "]",
    "65 bits": "[18446744073709551616]",
    "beyond": "[1e999]",
    "nan": "[NaN]",
    "infinity": "[-Infinity]",
    "no text": "\ud800",
}


@pytest.mark.parametrize("name", ODD)
def test_json_that_python_cannot_take_is_an_error(name: str, copy: Path) -> None:
    text = ODD[name].encode("utf-8", "surrogatepass")
    with pytest.raises(ValueError, match=r"nested|64 bits|largest|not a number|decode"):
        parse_json(text)
    (copy / "manifest.json").write_bytes(text)
    with pytest.raises(ArtifactError):
        Bundle.open(copy)
    assert reading_of(copy).aside is None


def test_ordinary_json_is_what_it_was() -> None:
    assert parse_json(b'{"a": [1, -2.5, "\\u00e9", null, true], "b": 9223372036854775807}') == {
        "a": [1, -2.5, "é", None, True], "b": (1 << 63) - 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("stop sign", "stop sign"),
        ("\x1b[2J\x1b]0;owned\x07", "\\x1b[2J\\x1b]0;owned\\x07"),
        ("a\rb\nc\x00", "a\\rb\\nc\\x00"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\u202efdp", "abc\\u202efdp"),
        ("\ud800", "\\ud800"),
        ("Straße 東京 \u00a0", "Straße 東京 \u00a0"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    printable(text).encode("utf-8")


def test_control_characters_never_reach_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """SEC10."""
    evil = "\x1b[2J\x07\x9b1A"
    terminal = Terminal()
    terminal.note(f"label {evil}\nnext line")
    terminal.warn(evil)
    terminal.table(("name",), [(f"{evil}\nforged",)])
    said = "".join(capfd.readouterr())
    assert not set(said) & {"\x1b", "\x07", "\x9b"}
    assert "\nnext line" in said
    assert "\nforged" not in said


def test_a_model_swapped_after_it_was_hashed_does_not_run(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC9."""
    """What is hashed is what runs: the file is read once."""
    path = copy / "model.tapped.tflite"
    right = [m.score for m in Session(copy).evaluate([1, 0, 2, 3]).monitors]

    def swapped(folder: Path, name: str) -> bytes:
        content = read(folder / name)
        if name == path.name:
            path.write_bytes(b"\x00\x00\x00\x00TFL3 another model")
        return content

    monkeypatch.setattr(sessions, "_read", swapped)
    found = Session(copy).evaluate([1, 0, 2, 3])
    assert path.read_bytes().endswith(b"another model")
    assert [m.score for m in found.monitors] == right


def test_onnx_is_opened_from_its_content_too(tmp_path: Path) -> None:
    path = write_tiny_onnx(tmp_path / "tiny.onnx")
    content = path.read_bytes()
    path.unlink()
    assert formats.open_classifier(path, kernels="onnxruntime", content=content).n_outputs >= 1


DAMAGED: dict[str, dict[str, object]] = {
    "a threshold that is not a number": {"decision_threshold": "much"},
    "no threshold": {"decision_threshold": None},
    "taps that are no list": {"taps": 3},
    "no taps": {"taps": []},
    "an output that is not a number": {"taps": [{"output": "first"}]},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_metadata_of_a_model_is_an_error(name: str, bundle: Path) -> None:
    opened = Bundle.open(bundle)
    metadata = {**opened.artifact.metadata, **DAMAGED[name]}
    damaged = replace(opened, artifact=replace(opened.artifact, metadata=metadata))
    with pytest.raises(ArtifactError, match="the metadata is damaged"):
        _ = damaged.model
