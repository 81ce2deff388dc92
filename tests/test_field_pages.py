"""docs/fleet.md and docs/security.md: programs compile as printed, bytes lie where it says."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

from edgemon.runtime.window import HEAD, Report
from tests.conftest import ROOT
from tests.runtime.c_compilers import C_FLAGS, need, run

FLEET, SECURITY = (ROOT / "docs" / name for name in ("fleet.md", "security.md"))
AROUND = """\
#include <edgemon/edgemon.h>
int crypto_sign_verify_detached(const uint8_t *signature, const void *message, size_t size,
                                const void *key);
uint64_t seconds_since_1970(void);
void send(const void *bytes, size_t size);
void program(em_monitor m, em_drift drift, em_result result, const em_tap *taps, size_t n,
             void *workspace_of, size_t size, const void *artifact, const uint8_t *signature,
             uint8_t *public_key, uint64_t serial_number);
"""
BEGIN = """\
void program(em_monitor m, em_drift drift, em_result result, const em_tap *taps, size_t n,
             void *workspace_of, size_t size, const void *artifact, const uint8_t *signature,
             uint8_t *public_key, uint64_t serial_number) {
    static uint64_t workspace[64];
    (void)workspace_of, (void)size, (void)artifact, (void)signature, (void)public_key;
    (void)serial_number, (void)drift, (void)result, (void)taps, (void)n, (void)workspace;
"""


def blocks(page: Path, language: str) -> list[str]:
    """What stands between fences."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_programs_compile_as_printed(tmp_path: Path) -> None:
    (window,), (signed,) = blocks(FLEET, "c"), blocks(SECURITY, "c")
    function, statement = signed.split("\n}\n")
    for name, text in (
        ("window", f"{AROUND}{BEGIN}{window}}}\n"),
        ("signed", f"{AROUND}{function}\n}}\n{BEGIN}{statement}}}\n"),
    ):
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        run(need("gcc"), *C_FLAGS, "-c", source, "-o", tmp_path / "o.o")


def test_the_line_of_json_is_a_report() -> None:
    (line,) = blocks(FLEET, "json")
    found = Report.from_json(json.loads(line))
    assert json.loads(line) == json.loads(json.dumps(found.to_json()))


def test_the_fields_of_a_report_lie_where_the_page_says() -> None:
    rows = re.findall(r"^\| (\d+) \| (u\d+)(?:\[(\d+)\])? \|", FLEET.read_text(), re.MULTILINE)
    at, places = 0, []
    for code in re.findall(r"\d*[a-zA-Z]", HEAD.format.removeprefix("<")):
        count, kind = int(code[:-1] or 1), code[-1]
        size = struct.calcsize("<" + kind)
        repeats = 1 if kind == "s" else count
        places += [(at + i * size, kind) for i in range(repeats)]
        at += struct.calcsize(f"<{code}")
    kinds = {"s": "u8", "H": "u16", "I": "u32", "Q": "u64"}
    stated = [
        (int(offset) + 4 * i, kind)
        for offset, kind, count in rows
        for i in range(int(count) if count and kind == "u32" else 1)
    ]
    assert stated == [(place, kinds[kind]) for place, kind in places]
    assert HEAD.size == 112
