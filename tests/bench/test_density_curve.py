"""``edgemon density-curve``: forms against the exact densities, by bytes."""

from __future__ import annotations

import pytest

from tests.command_line import DATA, MODEL, document, edgemon, refused

FIT, TEST = f"{DATA}[0:900]", f"{DATA}[900:1395]"


@pytest.fixture(scope="module")
def curve() -> dict[str, object]:
    found: dict[str, object] = document("density-curve", MODEL, "--fit", FIT, "--test", TEST)
    return found


def test_every_form_is_measured_within_its_bytes(curve: dict[str, object]) -> None:
    assert curve["rows"] == {
        "density": 720,
        "validation": 180,
        "test": 495,
        "wrong_test": curve["rows"]["wrong_test"],  # type: ignore[index]
    }
    layers = curve["layers"]
    assert isinstance(layers, list)
    assert layers
    for layer in layers:
        assert layer["forms"].keys() == {"gaussian", "marginal", "subset"}
        assert 0.5 < layer["exact_of_half_of_the_rows"]["agreement"] < 1
        for points in layer["forms"].values():
            assert len(points) == len(curve["sizes_kb"])  # type: ignore[arg-type]
            found = [p for p in points if p is not None]
            assert found
            assert all(p["bytes"] <= 1024 * p["kb"] for p in found)
            assert all(0 < p["agreement"] <= 1 for p in found)
    large = [p[-1]["agreement"] for layer in layers for p in layer["forms"].values()]
    assert max(large) > 0.9


def test_alarms_are_compared_row_by_row(curve: dict[str, object]) -> None:
    alarm = curve["alarm"]
    assert isinstance(alarm, dict)
    assert alarm["compact"]
    for point in alarm["compact"]:
        assert point["bytes"] <= 1024 * point["kb"]
        assert point["difference"] == pytest.approx(point["mcc"] - alarm["exact"]["mcc"])
        low, high = point["difference_interval"]
        assert low <= point["difference"] <= high


def test_tables_for_people() -> None:
    result = edgemon(
        "density-curve", MODEL, "--fit", FIT, "--test", TEST, "--taps", "logits", "--rows", 200
    )
    assert result.exit_code == 0, result.stderr
    assert "share of 200 test rows" in result.stdout
    assert "256 kB" in result.stdout
    assert "difference to exact" in result.stdout
    assert result.stdout.count("the exact densities of half of the rows") == 1


def test_mistakes_are_one_sentence() -> None:
    assert "--rows 0" in refused(
        "density-curve", MODEL, "--fit", FIT, "--test", TEST, "--rows", "0"
    )
    assert "--rule vote: use majority" in refused(
        "density-curve", MODEL, "--fit", FIT, "--test", TEST, "--rule", "vote"
    )
    assert "equal rows" in refused("density-curve", MODEL, "--fit", FIT, "--test", FIT)
