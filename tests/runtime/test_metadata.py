"""Metadata that contradicts its artifact is refused: an artifact's checksum is no signature."""

from __future__ import annotations

import json
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.emit import flat
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.names import is_stored, stored_name
from edgemon.runtime.session import MONITOR, Session


def with_metadata(artifact: bytes, content: bytes) -> bytes:
    """The file with another META section, under a right checksum."""
    found = flat.sections(artifact)
    kinds = list(found)
    offset, body, index = found[kinds[0]][0], b"", b""
    for kind in kinds:
        start, size = found[kind]
        section = content if kind == flat.META else artifact[start : start + size]
        index += flat.SECTION.pack(kind, offset + len(body), len(section), 0)
        body += section + b"\0" * (-len(section) % 16)
    head = bytearray(artifact[: flat.HEADER.size])
    struct.pack_into("<I", head, 16, offset + len(body))
    crc = zlib.crc32(index + body, zlib.crc32(head[32:], zlib.crc32(head[:28])))
    struct.pack_into("<I", head, 28, crc)
    return bytes(head) + index + body


@pytest.fixture
def rewritten(digits_bundle: Path, tmp_path: Path) -> Callable[[Callable[[Any], Any]], Path]:
    """A copy of a bundle after a change of its metadata, given as text or as an object."""

    def change(how: Callable[[Any], Any]) -> Path:
        copy = Path(shutil.copytree(digits_bundle, tmp_path / "copy"))
        artifact = (copy / MONITOR).read_bytes()
        metadata = Monitor(artifact).metadata
        content = how(metadata)
        if not isinstance(content, str):
            content = json.dumps(metadata)
        (copy / MONITOR).write_bytes(with_metadata(artifact, content.encode()))
        return copy

    return change


def _exchange_names(m: Any) -> None:
    a, b = m["taps"][0], m["taps"][-1]
    a["name"], b["name"] = b["name"], a["name"]


def _exchange_outputs(m: Any) -> None:
    a, b = m["taps"][0], m["taps"][-1]
    a["output"], b["output"] = b["output"], a["output"]


def _set(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(m: Any) -> None:
        for key in path[:-1]:
            m = m[key]
        m[path[-1]] = to

    return change


def _remove(*path: Any) -> Callable[[Any], None]:
    def change(m: Any) -> None:
        for key in path[:-1]:
            m = m[key]
        del m[path[-1]]

    return change


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no labels": (_set("labels", to=[]), "0 labels, but the model has 8 classes"),
    "a label less": (_remove("labels", 7), "7 labels, but the model has 8 classes"),
    "labels are no list": (_set("labels", to=7), "missing or damaged"),
    "no label entry": (_remove("labels"), "missing or damaged"),
    "two classes of one label": (_set("label_values", 3, to=4), "a label value of its own"),
    "a label value less": (_remove("label_values", 0), "a label value of its own"),
    "exchanged names": (_exchange_names, "stands where the artifact has"),
    "exchanged outputs": (_exchange_outputs, "is exchanged with|but the tap"),
    "one output twice": (_set("taps", 1, "output", to=0), "to be the same output"),
    "a tap less": (_remove("taps", 0), "taps, but the artifact has"),
    "taps are words": (_set("taps", to=["a", "b"]), "missing or damaged"),
    "an output beyond": (_set("taps", 0, "output", to=99), "lacks outputs"),
    "an unknown monitor": (_set("monitors", 0, "name", to="other"), "one monitor 'other'"),
    "a monitor twice": (lambda m: m["monitors"].append(m["monitors"][0]), "one monitor"),
    "monitors are words": (_set("monitors", to=["softmax"]), "missing or damaged"),
    "a key twice": (lambda m: json.dumps(m)[:-1] + ', "labels": []}', "states a key twice"),
    "a key twice inside": (
        lambda m: json.dumps(m).replace('"output": 0', '"output": 1, "output": 0', 1),
        "states a key twice",
    ),
    "a list": (lambda _: "[]", "not a JSON object"),
    "no JSON": (lambda _: "{", "not JSON"),
}


def test_metadata_written_anew_is_as_good(rewritten: Callable[..., Path]) -> None:
    copy = rewritten(lambda _: None)
    assert len(Session(copy).labels) == 8
    assert Bundle.open(copy).model


@pytest.mark.parametrize("name", WRONG)
def test_metadata_that_contradicts_the_artifact(name: str, rewritten: Callable[..., Path]) -> None:
    change, message = WRONG[name]
    copy = rewritten(change)
    with pytest.raises(ArtifactError, match=message):
        Session(copy)
    if name not in ("exchanged outputs", "an output beyond"):  # only a model tells
        with pytest.raises(ArtifactError, match=message):
            Bundle.open(copy)


@pytest.mark.parametrize("name", ["plain", "größe/π", "tab\there", "n" * 300, "StatefulCall:0~7"])
def test_names_are_known_again_as_they_are_stored(name: str) -> None:
    stored = stored_name(name)
    assert stored.isascii()
    assert stored.isprintable()
    assert len(stored) <= 255
    assert is_stored(stored, name)
    assert is_stored(stored[:247] + "~12", name)
    assert not is_stored("x" + stored[1:], name)
