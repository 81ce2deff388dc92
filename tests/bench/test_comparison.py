"""``bench --compare``, on made-up documents."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from edgemon.bench.comparison import UNTRUSTED, compare, read
from edgemon.bench.errors import BenchError

OLDER = json.dumps({"block_minima": {}, "memory_copy_us": 500.0})  # once after all rounds


def estimate(value: float, width: float = 0.004) -> dict[str, Any]:
    return {"value": value, "interval": [value * (1 - width / 2), value * (1 + width / 2)]}


def document(**times: float) -> dict[str, Any]:
    """``model``, ``overhead``, ``c_ns`` and ``copy``: middles; ``width`` of their intervals."""
    model, overhead = times.get("model", 100.0), times.get("overhead", 1.04)
    width, c_ns = times.get("width", 0.004), times.get("c_ns", 50.0)
    factors = {"model_us": 1.0, "with_monitors_us": overhead, "bare_us": 1.01, "session_us": 1.2}
    return {
        "block_minima": {
            name: {**estimate(model * factor, width), "to_model": estimate(factor, width)}
            for name, factor in factors.items()
        },
        "monitors": [
            {
                "name": "all",
                "c_ns_rounds": {
                    **estimate(c_ns, width), "to_model": estimate(c_ns / model / 1e3, width),
                },
            }
        ],
        "memory_copy_us": estimate(times.get("copy", 1000.0), 0.05),
        "environment": {"processor": "a", "threads": 1},
        "crc32": {"model": "01", "inputs": "02", "taps": "03", "outputs": "04"},
        "device": {"flash_bytes": 100, "ram_bytes": 10, "artifact_bytes": 50},
    }  # fmt: skip


def verdicts(old: dict[str, Any], new: dict[str, Any]) -> dict[str, str]:
    return {line["name"]: line["verdict"] for line in compare(old, new)["lines"]}


def test_the_same_document_is_the_same_in_every_line() -> None:
    found = compare(document(), document())
    assert {line["verdict"] for line in found["lines"]} == {"same"}
    assert found["notes"] == []


@pytest.mark.parametrize(("c_ns", "verdict"), [(40.0, "faster"), (60.0, "slower"), (50.1, "same")])
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


def test_of_a_slower_clock_the_shares_of_the_model_are_trusted_and_the_times_are_not() -> None:
    found = verdicts(document(), document(model=102.0, c_ns=51.0))
    assert found["model_us"] == found["all c_ns"] == found["session_us"] == UNTRUSTED
    assert found["overhead_ratio"] == found["all c_ns / model_us"] == "same"
    slower = verdicts(document(), document(model=102.0, c_ns=60.0))
    assert slower["all c_ns"] == UNTRUSTED
    assert slower["all c_ns / model_us"] == "slower"


def test_a_share_that_moved_with_the_model_alone_is_not_trusted() -> None:
    """The same monitor beside a model that lay at better addresses by chance."""
    found = verdicts(document(), document(model=95.5, c_ns=50.0))
    assert found["all c_ns / model_us"] == UNTRUSTED


def test_of_another_state_not_even_the_same_is_trusted() -> None:
    """A third slower: neither the monitor's time, the same by chance, nor the overhead's."""
    found = verdicts(document(), document(model=130.0))
    assert {v for name, v in found.items() if "bytes" not in name} == {UNTRUSTED}


@pytest.mark.parametrize("c_ns", [48.8, 51.2])
def test_code_at_other_addresses_is_no_difference(c_ns: float) -> None:
    """Of the same bundle on a quiet machine: 2.5 % between two processes, with narrow intervals
    in either."""
    assert verdicts(document(), document(c_ns=c_ns))["all c_ns"] == UNTRUSTED


def test_no_difference_is_trusted_where_the_control_is_unsure() -> None:
    """Two hogs, then memory-heavy load: the model's time was the same within 1.3 %, the session's
    3.7 % longer, of the same session."""
    old, new = document(), document()
    new["block_minima"]["model_us"] |= estimate(100, 0.025)
    new["block_minima"]["session_us"] |= estimate(103.7)
    assert verdicts(old, new)["session_us"] == UNTRUSTED


@pytest.mark.parametrize("busy", [document(copy=1500.0), document(copy=700.0)])
def test_nothing_is_trusted_where_the_memory_was_busy(busy: dict[str, Any]) -> None:
    """The model stayed in its cache and took the same time; the session did not."""
    found = verdicts(document(), busy)
    assert {v for name, v in found.items() if "bytes" not in name} == {UNTRUSTED}
    unsure = document()
    unsure["memory_copy_us"] = estimate(1000.0, 0.5)  # in a part of the run
    assert verdicts(document(), unsure)["overhead_ratio"] == UNTRUSTED


def test_wide_intervals_and_none_are_not_trusted() -> None:
    assert verdicts(document(), document(width=0.05))["overhead_ratio"] == UNTRUSTED
    without = document()
    without["block_minima"]["with_monitors_us"]["to_model"]["interval"] = None
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


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"model_us": {}}), OLDER])
def test_another_file_is_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(text)
    with pytest.raises(BenchError, match="--compare"):
        read(tmp_path / "old.json")
