"""``bench --compare``, on made-up documents."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from edgemon.bench.comparison import UNTRUSTED, compare, read
from edgemon.bench.errors import BenchError
from edgemon.bench.pipelines import NAMES


def estimate(value: float, width: float = 0.004) -> dict[str, Any]:
    return {"value": value, "interval": [value * (1 - width / 2), value * (1 + width / 2)]}


def document(**times: float) -> dict[str, Any]:
    model, overhead = times.get("model", 100.0), times.get("overhead", 1.04)
    width = times.get("width", 0.004)
    return {
        "block_minima": {name: estimate(model, width) for name in NAMES},
        "overhead_ratio": overhead,
        "overhead_interval": estimate(overhead, width)["interval"],
        "monitors": [{"name": "all", "c_ns_rounds": estimate(times.get("c_ns", 50.0), width)}],
        "memory_copy_us": 1000.0,
        "environment": {"processor": "a", "threads": 1},
        "crc32": {"model": "01", "inputs": "02", "taps": "03", "outputs": "04"},
        "device": {"flash_bytes": 100, "ram_bytes": 10, "artifact_bytes": 50},
    }


def verdicts(old: dict[str, Any], new: dict[str, Any]) -> dict[str, str]:
    return {line["name"]: line["verdict"] for line in compare(old, new)["lines"]}


def test_the_same_document_is_the_same_in_every_line() -> None:
    found = compare(document(), document())
    assert {line["verdict"] for line in found["lines"]} == {"same"}
    assert found["notes"] == []


@pytest.mark.parametrize(("c_ns", "verdict"), [(40.0, "faster"), (60.0, "slower")])
def test_a_monitor_that_changed_alone_is_trusted(c_ns: float, verdict: str) -> None:
    found = verdicts(document(), document(c_ns=c_ns))
    assert found["all c_ns"] == verdict
    assert found["model_us"] == "same"


def test_under_memory_load_a_moved_ratio_is_not_trusted_though_its_interval_is_narrow() -> None:
    found = compare(document(overhead=1.042), document(model=130.0, overhead=1.077, c_ns=70))
    lines = {line["name"]: line["verdict"] for line in found["lines"]}
    assert lines["overhead_ratio"] == lines["all c_ns"] == lines["model_us"] == UNTRUSTED
    assert lines["flash_bytes"] == "same"
    assert any("another state" in note for note in found["notes"])


def test_a_slower_machine_with_the_same_ratio_is_the_same() -> None:
    assert verdicts(document(), document(model=130.0))["overhead_ratio"] == "same"


def test_no_difference_is_trusted_where_the_control_is_unsure() -> None:
    """Two hogs, then memory-heavy load: the model's time was the same within 1.3 %, the session's
    3.7 % longer, of the same session."""
    old, new = document(), document()
    new["block_minima"]["model_us"] = estimate(100, 0.025)
    new["block_minima"]["session_us"] = estimate(103.7)
    assert verdicts(old, new)["session_us"] == UNTRUSTED


def test_no_difference_is_trusted_where_the_memory_was_busy() -> None:
    """The model stayed in its cache and took the same time; the session did not."""
    old, new = document(), document(c_ns=52.0)
    new["block_minima"]["session_us"] = estimate(103.1)
    assert verdicts(old, new)["session_us"] == "slower"
    new["memory_copy_us"] = 1500.0
    found = verdicts(old, new)
    assert found["session_us"] == found["all c_ns"] == UNTRUSTED
    assert found["overhead_ratio"] == "same"


def test_wide_intervals_and_none_are_not_trusted() -> None:
    assert verdicts(document(), document(width=0.05))["overhead_ratio"] == UNTRUSTED
    without = document()
    without["overhead_interval"] = None
    assert verdicts(document(), without)["overhead_ratio"] == UNTRUSTED


def test_other_machines_and_other_outputs_are_said() -> None:
    other = copy.deepcopy(document(model=200.0))
    other["environment"]["processor"] = "b"
    other["crc32"]["outputs"] = "ff"
    notes = compare(document(), other)["notes"]
    assert "processor: a before, b now" in notes
    assert "CRC of outputs: 04 before, ff now" in notes


def test_one_byte_more_is_larger() -> None:
    new = document()
    new["device"]["flash_bytes"] += 1
    assert verdicts(document(), new)["flash_bytes"] == "larger"


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"model_us": {}})])
def test_another_file_is_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(text)
    with pytest.raises(BenchError, match="--compare"):
        read(tmp_path / "old.json")
