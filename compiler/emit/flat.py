"""A device program as the flat binary that the C runtime reads: ``runtime/FORMAT.md``.

``write`` is deterministic: equal inputs give equal bytes. ``read`` is its inverse, for tools on
the workstation; it decodes only what the C loader has accepted (``edgemon.runtime.Monitor``
validates first), so that there is one validator and not two.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.accuracy.table import AccuracyTable
from edgemon.compiler.emit import accuracy_section, drift_section, self_test_section
from edgemon.compiler.emit.alignment import PART, padded, round_up
from edgemon.compiler.emit.raw_scores import pack_score, unpack_score
from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.ir import Builder, Monitor, Node, Program, Tap
from edgemon.compiler.program.ops import DEVICE_OPS, OPS
from edgemon.compiler.program.ops.op import MAX_WORKSPACE
from edgemon.compiler.promise.drift.detector import DriftTest
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import CompanionInfo
from edgemon.runtime.monitor import Monitor as LoadedMonitor
from edgemon.runtime.names import UNIQUE_PART, stored_name
from edgemon.runtime.views import VIEWS

Array = npt.NDArray[Any]

MAGIC = b"\x8eEMON\r\n\x1a"
MAJOR, MINOR, CANARY = 1, 5, 0x01020304
NO_MODEL = "00" * 32  # the hash of a program's model that there is not
BEFORE, NEWEST_BEFORE = 4, 28  # the minor version of files without what MINOR brought; its last op
NONE = 0xFFFFFFFF
DTYPES = {"int8": 1, "uint8": 2, "int16": 3, "int32": 4, "int64": 5, "float32": 6, "uint32": 7}
DTYPE_NAMES = {code: name for name, code in DTYPES.items()}
DISPLAYS = ("linear", "odds")
PROGRAM, TAPS, NODES, TABLES, MONITORS, STRINGS, DATA, COMPANIONS = range(1, 9)
SELF_TEST, META, DRIFT, ACCURACY = 0x80000001, 0x80000002, 0x80000003, 0x80000004
SECTION_NAMES = {
    PROGRAM: "program", TAPS: "taps", NODES: "nodes", TABLES: "tables", MONITORS: "monitors",
    STRINGS: "strings", DATA: "data", COMPANIONS: "companions", SELF_TEST: "self_test",
    META: "meta", DRIFT: "drift", ACCURACY: "accuracy",
}  # fmt: skip
HEADER = struct.Struct("<8sHHIIIII32s")
SECTION = struct.Struct("<IIII")
PROGRAM_RECORD = struct.Struct("<8I")
TAP_RECORD = struct.Struct("<IHHIidII")
NODE_RECORD = struct.Struct("<HHIIIIHHII")
TABLE_RECORD = struct.Struct("<HHIII")
MONITOR_RECORD = struct.Struct("<II8s8sIIdII")
COMPANION_RECORD = struct.Struct("<IIII32s")


@dataclass(frozen=True, eq=False)
class SelfTest:
    """Inputs (n rows a tap) with the exact results that the device must reproduce."""

    taps: tuple[Array, ...]
    expected: Evaluation


@dataclass(frozen=True, eq=False)
class Artifact:
    """What a flat file holds."""

    program: Program
    model_sha256: str  # hexadecimal
    metadata: Mapping[str, Any]
    self_test: SelfTest | None = None
    drift: DriftTest | None = None
    accuracy: AccuracyTable | None = None
    companions: tuple[CompanionInfo, ...] = ()


def write(artifact: Artifact) -> bytes:
    """The bytes of a flat file."""
    program = artifact.program
    strings = _Strings()
    taps = b"".join(
        TAP_RECORD.pack(
            strings.add(t.tensor),
            DTYPES[t.dtype],
            VIEWS.index(t.view),
            t.length,
            t.zero_point,
            t.scale,
            0,
            0,
        )
        for t in program.taps
    )
    nodes, workspace, n_tables = b"", 0, 0
    for node in program.nodes:
        inputs = (*node.inputs, NONE, NONE)
        value = node.value
        count = len(node.tables)
        nodes += NODE_RECORD.pack(
            OPS[node.op].number, DTYPES[value.dtype], value.length, inputs[0], inputs[1],
            n_tables if count else NONE, count, value.bits, workspace, 0,
        )  # fmt: skip
        n_tables += count
        workspace = round_up(workspace + value.length * np.dtype(value.dtype).itemsize, 8)
        workspace = round_up(workspace + OPS[node.op].scratch(program.value(node.inputs[0])), 8)
    if workspace > MAX_WORKSPACE:
        raise CompileError(
            f"the program needs {workspace} bytes of workspace; the format permits {MAX_WORKSPACE}"
        )
    monitors = b"".join(_monitor(m, program, strings.add(m.name)) for m in program.monitors)
    counts = PROGRAM_RECORD.pack(
        len(program.taps), len(program.nodes), n_tables, len(program.monitors),
        program.predicted, workspace, 0, 0,
    )  # fmt: skip
    sections = {
        PROGRAM: counts,
        TAPS: taps,
        NODES: nodes,
        TABLES: b"\0" * (TABLE_RECORD.size * n_tables),
        MONITORS: monitors,
        STRINGS: bytes(strings),
        DATA: b"",
    }
    companions = _companions(artifact)
    if companions:
        sections[COMPANIONS] = b"".join(
            COMPANION_RECORD.pack(VIEWS.index(c.view), c.size, 0, 0, bytes.fromhex(c.sha256))
            for c in companions
        )
    given = (artifact.self_test, artifact.drift, artifact.accuracy)
    optional = 1 + sum(part is not None for part in given)
    start = HEADER.size + SECTION.size * (len(sections) + optional)
    data_start = start + sum(round_up(len(s), PART) for k, s in sections.items() if k < DATA)
    sections[TABLES], sections[DATA] = _tables(program, data_start)
    if artifact.self_test is not None:
        sections[SELF_TEST] = self_test_section.pack(
            program, artifact.self_test.taps, artifact.self_test.expected
        )
    sections[META] = json.dumps(artifact.metadata, sort_keys=True, separators=(",", ":")).encode()
    if artifact.drift is not None:
        sections[DRIFT] = drift_section.pack(artifact.drift)
    if artifact.accuracy is not None:
        sections[ACCURACY] = accuracy_section.pack(artifact.accuracy)

    body, index, offset = b"", b"", start
    for kind, content in sections.items():
        index += SECTION.pack(kind, offset, len(content), 0)
        body += padded(content)
        offset = start + len(body)
    sha = bytes.fromhex(artifact.model_sha256)
    new = any(
        OPS[node.op].number > NEWEST_BEFORE or (node.op == "reduce" and node.tables[0].size > 1)
        for node in program.nodes
    )
    minor = MINOR if companions or new else BEFORE
    fields = (MAGIC, MAJOR, minor, CANARY, offset, len(sections), 0)
    rest = index + body
    crc = zlib.crc32(rest, zlib.crc32(sha, zlib.crc32(HEADER.pack(*fields, 0, sha)[:28])))
    return HEADER.pack(*fields, crc, sha) + rest


def _companions(artifact: Artifact) -> tuple[CompanionInfo, ...]:
    """Those that the program's views need. A program of no model, which is only costed or
    evaluated, needs none that exists."""
    known = {c.view: c for c in artifact.companions}
    if artifact.model_sha256 == NO_MODEL:
        made_up = {v: CompanionInfo(v, 1, NO_MODEL) for v in artifact.program.companions}
        known = {**made_up, **known}
    return tuple(known[view] for view in artifact.program.companions)


def read(data: bytes) -> Artifact:
    """Decode a flat file. Raises ArtifactError with the loader's reason if it is invalid."""
    loaded = LoadedMonitor(data)
    found = sections(data)
    at = {kind: data[offset : offset + size] for kind, (offset, size) in found.items()}
    counts = PROGRAM_RECORD.unpack(at[PROGRAM])
    tables = [
        np.frombuffer(data, DTYPE_NAMES[dtype], count, offset)
        for dtype, _, offset, count, _ in TABLE_RECORD.iter_unpack(at[TABLES])
    ]
    builder = Builder(
        [
            Tap(_string(at[STRINGS], name), DTYPE_NAMES[dtype], length, scale, zero, VIEWS[view])
            for name, dtype, view, length, zero, scale, _, _ in TAP_RECORD.iter_unpack(at[TAPS])
        ]
    )
    for op, _, _, x, y, first, count, _, _, _ in NODE_RECORD.iter_unpack(at[NODES]):
        inputs = [i for i in (x, y) if i != NONE]
        own = tables[first : first + count] if count else []
        builder.node(DEVICE_OPS[op].name, *inputs, tables=own)
    monitors = []
    for name, score, alarm, uncertain, display, _, scale, _, _ in MONITOR_RECORD.iter_unpack(
        at[MONITORS]
    ):
        dtype = builder.value(score).dtype
        monitors.append(
            Monitor(
                _string(at[STRINGS], name), score, unpack_score(alarm, dtype),
                unpack_score(uncertain, dtype), DISPLAYS[display], scale,
            )
        )  # fmt: skip
    program = builder.program(counts[4], monitors)
    test = SelfTest(*self_test_section.unpack(program, at[SELF_TEST])) if SELF_TEST in at else None
    dtypes = [program.value(m.score).dtype for m in program.monitors]
    drift = drift_section.unpack(at[DRIFT], dtypes) if DRIFT in at else None
    accuracy = accuracy_section.unpack(at[ACCURACY], dtypes) if ACCURACY in at else None
    return Artifact(
        program, data[32:64].hex(), loaded.metadata, test, drift, accuracy, loaded.companions
    )


def sections(data: bytes) -> dict[int, tuple[int, int]]:
    """Offset and size in bytes of each section, by kind, of a valid file."""
    count = struct.unpack_from("<I", data, 20)[0]
    table = data[HEADER.size : HEADER.size + SECTION.size * count]
    return {kind: (offset, size) for kind, offset, size, _ in SECTION.iter_unpack(table)}


def node_bytes(node: Node) -> int:
    """Bytes of a node and its tables."""
    tables = sum(round_up(t.nbytes, PART) + TABLE_RECORD.size for t in node.tables)
    return tables + NODE_RECORD.size


class _Strings:
    def __init__(self) -> None:
        self._bytes = b""
        self._names: set[bytes] = set()
        self._known: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Offset of a name; characters that the format does not permit are escaped. A name that is
        added again, as that of a tensor with two taps, is the same string."""
        if text not in self._known:
            self._known[text] = self._append(text)
        return self._known[text]

    def _append(self, text: str) -> int:
        plain = stored_name(text).encode()
        if plain in self._names:  # names that only differ in what was cut off
            plain = plain[:UNIQUE_PART] + b"~%d" % len(self._bytes)
        self._names.add(plain)
        self._bytes += plain + b"\0"
        return len(self._bytes) - len(plain) - 1

    def __bytes__(self) -> bytes:
        return self._bytes


def _string(section: bytes, offset: int) -> str:
    return section[offset : section.index(b"\0", offset)].decode("ascii")


def _monitor(m: Monitor, program: Program, name: int) -> bytes:
    dtype = program.value(m.score).dtype
    return MONITOR_RECORD.pack(
        name, m.score, pack_score(m.alarm_above, dtype), pack_score(m.uncertain_above, dtype),
        DISPLAYS.index(m.display), 0, m.display_scale, 0, 0,
    )  # fmt: skip


def _tables(program: Program, start: int) -> tuple[bytes, bytes]:
    """The TABLES and DATA sections; ``start`` is the file offset of DATA."""
    records, data = b"", b""
    for table in (t for node in program.nodes for t in node.tables):
        data = padded(data)
        records += TABLE_RECORD.pack(DTYPES[table.dtype.name], 0, start + len(data), table.size, 0)
        data += table.tobytes()
    return records, data


def c_header(data: Sequence[int] | bytes, symbol: str = "edgemon_monitor") -> str:
    """The same bytes as a C array, aligned as the loader wants them."""
    lines = [
        "  " + " ".join(f"0x{b:02x}," for b in data[i : i + 16]) for i in range(0, len(data), 16)
    ]
    return (
        "/* Written by edgemon compile; the flat format is described in FORMAT.md. */\n"
        "#ifndef __cplusplus\n#include <stdalign.h>\n#endif\n#include <stdint.h>\n\n"
        f"alignas(16) static const uint8_t {symbol}[{len(data)}] = {{\n"
        + "\n".join(lines)
        + "\n};\n"
    )
