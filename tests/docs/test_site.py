"""The site is built strictly: a broken link, anchor or docstring fails, as in ``make docs``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.commands import pages
from tests.runtime.c_compilers import C

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'edgemon[docs]'")
HEADER = C / "include" / "edgemon" / "edgemon.h"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", out]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_every_page_is_in_the_navigation() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    docs = ROOT / "docs"
    missing = [p for p in pages() if p.is_relative_to(docs)]
    missing = [p for p in missing if f" {p.relative_to(docs).as_posix()}\n" not in listed]
    assert missing == [], "add a line to nav in mkdocs.yml"


def test_the_c_reference_has_every_declaration(site: Path) -> None:
    shown = (site / "reference" / "c.html").read_text(encoding="utf-8")
    declared = set(re.findall(r"^EM_API [^(;]*?(em_\w+)\(", HEADER.read_text(), re.M))
    assert len(declared) > 30
    assert {name for name in declared if f"<code>{name}</code>" not in shown} == set()
    for name in ("em_open_signed", "em_verify", "em_result", "em_verdict", "EM_WINDOW_BYTES"):
        assert f'id="{name}"' in shown, name


def test_the_references_are_made(site: Path) -> None:
    commands = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for option in ("--false-alarm", "--expect-accuracy", "--junit", "mean=a:b:c"):
        assert option in commands, option
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in ("operating_points", "Session", "DamagedError"):
        assert name in python, name


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    """A reader without a network sees the site as it is."""
    fetched = re.compile(r"<(?:script|link|img)[^>]*(?:src|href)=\"(https?://[^\"]+)\"")
    for page in site.rglob("*.html"):
        assert fetched.findall(page.read_text(encoding="utf-8")) == [], page.name
