"""A file that breaks a rule of perfect trees is refused (FORMAT.md, section 7.13)."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.perfect import PerfectForest, keys_of
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.monitor import Monitor as LoadedMonitor

SHAPE, KEYS, FEATURES, EXITS, VALUES = range(5)


def artifact(dtype: str = "float32") -> bytearray:
    b = Builder([Tap("x", dtype, 3)])
    perfect = PerfectForest(
        keys_of(np.array([[1, 2, 3], [4, 5, 6]], dtype)),
        np.array([[0, 1, 2], [2, 1, 0]], np.int16),
        np.array([[0, 1, 2, 3], [3, 2, 1, 0]], np.int16),
        np.array([[5], [6], [-7], [8]], np.int16),
    )
    score = b.node("perfect_trees", 0, tables=perfect.pack())
    program = b.program(b.node("argmax", 0), [Monitor("m", score, 1, 1)])
    return bytearray(flat.write(flat.Artifact(program, "00" * 32, {})))


def changed(data: bytearray, table: int, at: int, form: str, value: int) -> bytes:
    """With ``value`` at byte ``at`` of a table's content, or of its record if ``at`` < 0."""
    start = flat.sections(bytes(data))[flat.TABLES][0] + 16 * table
    (content,) = struct.unpack_from("<I", data, start + 4)
    struct.pack_into(form, data, content + at if at >= 0 else start - at, value)
    struct.pack_into("<I", data, 28, zlib.crc32(data[32:], zlib.crc32(data[:28])))
    return bytes(data)


@pytest.mark.parametrize(
    ("table", "at", "form", "value"),
    [
        (SHAPE, 0, "<I", 0), (SHAPE, 0, "<I", 1), (SHAPE, 0, "<I", 13), (SHAPE, 0, "<I", 1 << 31),
        (SHAPE, 4, "<I", 0), (SHAPE, 4, "<I", 3), (SHAPE, 4, "<I", 0xFFFFFFFF),
        (KEYS, 8, "<I", 0x7FFFFFFF), (KEYS, 8, "<I", 0xFF800000), (KEYS, 8, "<I", 0),
        (FEATURES, 2, "<h", 3), (FEATURES, 10, "<h", -1),
        (EXITS, 0, "<h", 4), (EXITS, 14, "<h", -1),
        (VALUES, 2, "<h", 9), (VALUES, -8, "<I", 3), (EXITS, -8, "<I", 7), (KEYS, -8, "<I", 5),
        (FEATURES, -8, "<I", 5),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused(table: int, at: int, form: str, value: int) -> None:
    LoadedMonitor(bytes(artifact()))
    with pytest.raises(ArtifactError):
        LoadedMonitor(changed(artifact(), table, at, form, value))


def test_keys_of_integers_may_be_anything() -> None:
    """One code beyond either end of a tap's type says never, or always."""
    LoadedMonitor(changed(artifact("int8"), KEYS, 8, "<I", 0))
    LoadedMonitor(changed(artifact("int8"), KEYS, 8, "<I", 0xFFFFFFFF))
