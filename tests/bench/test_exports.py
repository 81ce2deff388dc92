"""The document of ``bench`` in other forms: what they must hold, and that they are repeatable."""

from __future__ import annotations

import copy
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from edgemon.bench import exports, page
from edgemon.compiler.errors import CompileError

TIMES = {"min": 10.0, "p50": 11.0, "p90": 12.0, "p99": 13.0, "max": 1400.5}
DOCUMENT: dict[str, Any] = {
    "bundle": "a<b>",
    "rounds": 400,
    **{key: dict(TIMES) for key in exports.PIPELINES},
    "first_us": 70.0,
    "session_overhead_us": 2.5,
    "overhead_ratio": 1.02,
    "overhead_interval": [1.01, 1.03],
    "trusted": True,
    "monitors": [
        {"name": "all", "c_ns": 10.0, "c_ns_p50": 11.0, "c_ns_distribution": dict(TIMES),
         "share_of_model": 0.01}
    ],
    "process_peak_bytes": 5_000_000,
    "environment": {"threads": 1, "processor": "some & other"},
    "device": None,
    "budget": [
        {"name": "flash_bytes", "monitor": None, "target": "m4", "limit": 1.0, "measured": 2.0,
         "met": False, "changes": ["leave out box (-9)"]},
        {"name": "instructions", "monitor": "box", "target": "m4", "limit": 1.0, "measured": None,
         "met": False, "changes": []},
    ],
}  # fmt: skip


def test_google_benchmark_has_every_time_in_its_unit() -> None:
    found = exports.google_benchmark(DOCUMENT)
    by_name = {b["name"]: (b["real_time"], b["time_unit"]) for b in found["benchmarks"]}
    assert by_name["with_monitors_min"] == (10.0, "us")
    assert by_name["session_median"] == (11.0, "us")
    assert by_name["c/all_p99"] == (13.0, "ns")
    assert len(by_name) == 3 * (len(exports.PIPELINES) + 1)
    assert found["context"]["edgemon_processor"] == "some & other"


def test_lines_of_benchmark_model() -> None:
    lines = exports.benchmark_model(DOCUMENT).splitlines()
    assert lines[0] == "Graph: [a<b>]"
    assert "model + monitors: count=400 min=10 p50=11 p99=13 max=1400" in lines
    assert lines[-2] == "Inference timings in us: First inference: 70, Inference (p50): 11"
    assert lines[-1] == "Memory footprint of the process (MB): 5"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.fetched += [v or "" for k, v in attrs if k in ("src", "href") and "#" not in (v or "")]


def test_the_page_says_all_runs_nothing_and_is_repeatable() -> None:
    text = page.render(DOCUMENT, exports.PIPELINES)
    assert text == page.render(copy.deepcopy(DOCUMENT), exports.PIPELINES)
    tags = Tags()
    tags.feed(text)
    assert tags.found.count("svg") == 2
    assert "script" not in tags.found
    assert tags.fetched == []
    for said in ("a&lt;b&gt;", "1.0200", "leave out box (-9)", "not measured", "some &amp; other"):
        assert said in text
    assert "Not to be trusted" not in text
    doubted = page.render({**DOCUMENT, "trusted": False}, exports.PIPELINES)
    assert "Not to be trusted" in doubted


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    exports.write(DOCUMENT, html=tmp_path / "a.html", google=tmp_path / "a.json", lines=None)
    assert json.loads((tmp_path / "a.json").read_text())["benchmarks"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "a.json"]
    with pytest.raises(CompileError, match=r"--html .* cannot be written"):
        exports.write(DOCUMENT, html=tmp_path / "no" / "a.html", google=None, lines=None)
