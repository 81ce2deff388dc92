"""The flat file: round trip, determinism, and refusal of damage."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Program, Tap
from edgemon.compiler.program.ir import Monitor as ProgramMonitor
from edgemon.compiler.program.quantise import quantise
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.monitor import Monitor
from tests.compiler.programs import DTYPES, real_program, rows_of, taps_of


def artifact(dtype: str, seed: int) -> tuple[flat.Artifact, list[Any]]:
    rng = np.random.default_rng(seed)
    taps = taps_of(dtype, rng)
    rows = rows_of(taps, rng, 60)
    program: Program = quantise(real_program(taps, rows, rng))
    few = [x[:4] for x in rows]
    test = flat.SelfTest(tuple(few), reference.evaluate(program, few))
    return flat.Artifact(program, "5a" * 32, {"a": [1, "é"]}, test), rows


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(DTYPES), st.integers(0, 10_000))
def test_read_inverts_write(dtype: str, seed: int) -> None:
    written, _ = artifact(dtype, seed)
    data = flat.write(written)
    back = flat.read(data)
    assert flat.write(back) == data
    assert back.program.taps == written.program.taps
    assert back.program.monitors == written.program.monitors
    assert back.metadata == written.metadata
    assert back.model_sha256 == written.model_sha256


def test_self_test_finds_a_wrong_expectation() -> None:
    written, _ = artifact("int8", 0)
    Monitor(flat.write(written)).self_test()
    assert written.self_test is not None
    written.self_test.expected.scores[0][0] += 1
    with pytest.raises(ArtifactError, match="self-test"):
        Monitor(flat.write(written)).self_test()


def test_every_truncation_is_refused() -> None:
    data = flat.write(artifact("int8", 0)[0])
    for size in [*range(0, 600), *range(600, len(data), 97)]:
        with pytest.raises(ArtifactError):
            Monitor(data[:size])


def test_every_flipped_bit_is_refused() -> None:
    data = flat.write(artifact("int8", 0)[0])
    rng = np.random.default_rng(0)
    for bit in [*range(64 * 8), *rng.integers(0, len(data) * 8, 500)]:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(ArtifactError):
            Monitor(bytes(damaged))


def test_binding_to_another_model_is_refused() -> None:
    monitor = Monitor(flat.write(artifact("int8", 0)[0]))
    monitor.bind_model("5a" * 32)
    with pytest.raises(ArtifactError, match="another model"):
        monitor.bind_model("5b" * 32)


def test_wrong_tap_type_or_length_is_a_fault() -> None:
    written, rows = artifact("int8", 0)
    monitor = Monitor(flat.write(written))
    assert (monitor.evaluate(rows).verdict != 3).all()
    shorter = [rows[0][:, :-1], *rows[1:]]
    wider = [rows[0].astype(np.int16), *rows[1:]]
    for wrong in (shorter, wider, rows[:2]):
        found = monitor.evaluate(wrong)
        assert (found.verdict == 3).all()
        assert (found.reason != 0).all()


def test_names_are_escaped_and_bounded() -> None:
    strings = flat._Strings()
    strings.add("tap;é\n" + "x" * 400)
    assert bytes(strings).startswith(b"tap;\\xe9?xxx")
    assert len(bytes(strings)) == 256


def test_c_header_holds_the_same_bytes() -> None:
    data = flat.write(artifact("int8", 0)[0])
    text = flat.c_header(data)
    body = text[text.index("{") : text.index("}")]
    assert bytes(int(v, 16) for v in body.replace("{", "").split(",") if v.strip()) == data


@pytest.mark.parametrize(("shape", "minor"), [((2,), 4), ((2, 3), 5)])
def test_a_file_states_the_version_that_brought_what_it_has(
    shape: tuple[int, ...], minor: int
) -> None:
    """Groups of positions are the only novelty: an older reader knows the op, not its table."""
    b = Builder([Tap("logits", "float32", 3), Tap("map", "int8", 12, 0.5, 1)], real=True)
    sums = b.node("reduce", 1, tables=[np.array(shape, np.uint32)])
    monitors = [ProgramMonitor("m", b.node("max", sums), 0.0, 0.0)]
    program = quantise(b.program(b.node("argmax", 0), monitors))
    data = flat.write(flat.Artifact(program, "5a" * 32, {}, None))
    assert struct.unpack_from("<2H", data, 8) == (flat.MAJOR, minor)
    Monitor(data)


def test_a_file_of_another_minor_version_is_evaluated_by_the_present_rules() -> None:
    """FORMAT.md, section 2: an infinity between two nodes, which 1.1 let pass, is a fault."""
    b = Builder([Tap("x", "float32", 2)])
    square = b.node("mul", 0, 0)
    over = b.node("clip", b.node("max", square), tables=[np.ones(1, np.float32)])
    program = b.program(b.node("argmax", 0), [ProgramMonitor("m", over, 2.0, 2.0)])
    data = bytearray(flat.write(flat.Artifact(program, "00" * 32, {})))
    assert struct.unpack_from("<HH", data, 8) == (1, 4)
    rows = [np.array([[1, 2], [1, 3e38]], np.float32)]
    for minor in (0, 1, 2, 3, 9):
        struct.pack_into("<H", data, 10, minor)
        struct.pack_into("<I", data, 28, zlib.crc32(data[32:], zlib.crc32(data[:28])))
        assert Monitor(bytes(data)).evaluate(rows).verdict.tolist() == [0, 3]
