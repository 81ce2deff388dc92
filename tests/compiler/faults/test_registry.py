"""Faults by name: seeded by row, of any images, and those that other packages bring."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults import registry
from edgemon.compiler.faults.contract import check_fault
from edgemon.compiler.faults.registry import FAULTS, GROUP, Fault, digest, find, make
from tests.compiler.faults.images import rng

# Of 8 images, 16 x 16 x 3, at severity 3 or the worst; whole numbers and NumPy's draws make them.
KNOWN = {
    "gaussian_noise": "55dccc2fff2095dc",
    "impulse_noise": "bff68f17f18fe5e0",
    "glass_blur": "bb69b9cf63757bf9",
    "contrast": "af3702c0b2899ba8",
    "brightness": "7d60b912a17f1cdf",
    "fog": "017b60ed127bf95b",
    "dead_rows": "2d399b30fd433891",
    "stuck_columns": "21f482e5e9a0ae1a",
    "shifted_lines": "f03d23e3c434f509",
    "byte_shift": "91f7b947485f3ace",
}  # fmt: skip


def images(count: int = 8, shape: tuple[int, ...] = (16, 16, 3)) -> np.ndarray:
    return np.arange(count * int(np.prod(shape))).reshape(count, *shape).astype(np.uint8) * 37


def test_all_18_corruptions_and_five_severities_of_each() -> None:
    shifts = [f for f in FAULTS.values() if f.kind in ("noise", "blur", "weather", "digital")]
    assert len(shifts) == 18
    assert {f.severities for f in shifts} == {5}
    assert "frost" in registry.LEFT_OUT


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_keeps_the_contract(name: str) -> None:
    check_fault(FAULTS[name])


@pytest.mark.parametrize("name", KNOWN)
def test_two_machines_make_the_same_images(name: str) -> None:
    severity = min(3, FAULTS[name].severities)
    assert digest(make(images(), name, severity, seed=1, rows=range(8)))[:16] == KNOWN[name]


@given(st.permutations(range(8)), st.integers(1, 7), st.sampled_from(sorted(FAULTS)))
@settings(max_examples=40, deadline=None)
def test_a_row_is_the_same_in_every_order_and_block(order: list[int], cut: int, name: str) -> None:
    x, rows = images(), np.array(order) + 100
    kept = {"seed": 3, "frame": x[5]}
    whole = make(x, name, 1, rows=range(100, 108), **kept)  # type: ignore[arg-type]
    parts = [make(x[part], name, 1, rows=part + 100, **kept)  # type: ignore[arg-type]
             for part in (np.array(order)[:cut], np.array(order)[cut:])]  # fmt: skip
    np.testing.assert_array_equal(np.concatenate(parts), whole[rows - 100])


def test_seed_severity_and_row_all_matter() -> None:
    x = np.repeat(images(1), 2, axis=0)
    first = make(x, "gaussian_noise", 3, seed=0, rows=(0, 1))
    assert (first[0] != first[1]).any()
    assert (first[0] != make(x, "gaussian_noise", 3, seed=1, rows=(0, 1))[0]).any()
    assert (first[0] != make(x, "gaussian_noise", 4, seed=0, rows=(0, 1))[0]).any()


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 1), (12, 9, 3)])
def test_images_of_any_shape(shape: tuple[int, ...]) -> None:
    x = rng().integers(0, 256, (3, *shape)).astype(np.uint8)
    channels = 1 if len(shape) == 2 else shape[2]
    for fault in FAULTS.values():
        if not fault.channels or channels in fault.channels:
            found = make(x, fault, fault.severities, seed=0, rows=range(3), frame=x[0])
            assert (found.shape, found.dtype) == (x.shape, np.uint8)


def test_full_scale_is_where_white_is() -> None:
    x = rng().integers(0, 17, (2, 8, 8, 1)).astype(np.uint8)
    assert (make(x, "white", 1, seed=0, rows=(0, 1), full_scale=16) == 16).all()
    assert (make(x, "grey", 1, seed=0, rows=(0, 1), full_scale=16) == 8).all()
    told: list[str] = []
    registry.warn_of_scale(x, 255, "full_scale", told.append)
    registry.warn_of_scale(x, 16, "full_scale", told.append)
    registry.warn_of_scale(x + 240, 16, "full_scale", told.append)
    assert len(told) == 2
    assert "the largest value of these images is 16" in told[0]


def test_a_frozen_frame_is_the_one_that_was_given() -> None:
    x = images()
    assert (make(x, "frozen", 1, seed=0, rows=range(8), frame=x[3]) == x[3]).all()
    with pytest.raises(FaultError, match="needs the frame that stays"):
        make(x, "frozen", 1, seed=0, rows=range(8))


def test_what_cannot_be_made_is_refused_in_a_sentence() -> None:
    x = images()
    with pytest.raises(FaultError, match="8 bits"):
        make(x / 255, "fog", 3, seed=0, rows=range(8))
    with pytest.raises(FaultError, match="severity 6: 1 to 5 exist"):
        make(x, "fog", 6, seed=0, rows=range(8))
    with pytest.raises(FaultError, match="needs images of 3 channels, not 1"):
        make(x[..., :1], "saturate", 1, seed=0, rows=range(8))
    with pytest.raises(FaultError, match="numbers of 7 rows"):
        make(x, "fog", 1, seed=0, rows=range(7))
    with pytest.raises(FaultError, match=r"unknown fault 'rain'; .* There are gaussian_noise"):
        find("rain")
    with pytest.raises(FaultError, match="not available: frost"):
        find("frost")
    assert find("jpeg") is FAULTS["jpeg_compression"]


MODULE = """
from edgemon.compiler.faults.registry import Fault

def darker(x, severity, rng):
    return x * (1 - 0.2 * severity)

def nothing(x, severity, rng):
    return x

DARKER = Fault("darker", "digital", "a cheaper lens", darker, 3)
NOTHING = Fault("nothing", "digital", "no change", nothing)
STRING = "darker"
"""


def bring(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, target: str) -> None:
    """A package ``lenses`` beside edgemon."""
    about = folder / "lenses-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lenses\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {target}\n")
    (folder / "lenses.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "lenses", raising=False)


def test_another_package_brings_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(tmp_path, monkeypatch, "darker", "lenses:DARKER")
    assert registry.names()[-1] == "darker"
    x = images()
    found = make(x, "darker", 2, seed=0, rows=range(8))
    np.testing.assert_array_equal(found, np.rint(0.6 * x))


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        ("nothing", "lenses:NOTHING", "breaks the contract: severity 1 changes no image"),
        ("fog", "lenses:DARKER", "there is another of that name"),
        ("dark", "lenses:DARKER", "must have the entry point's name"),
        ("darker", "lenses:STRING", "is not a Fault"),
        ("darker", "lenses:ABSENT", "cannot be imported"),
    ],
)
def test_a_fault_that_cannot_be_taken(
    name: str, target: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(tmp_path, monkeypatch, name, target)
    with pytest.raises(FaultError, match=words):
        find(name)


def broken(what: str) -> Fault:
    def change(x: np.ndarray, _: int, __: np.random.Generator) -> np.ndarray:
        if what == "fails":
            raise ValueError("no")
        if what == "in place":
            x *= 0.5
        if what == "shape":
            return x[1:]
        if what == "nan":
            return x * np.nan
        if what == "draws":
            return x * np.random.random()  # noqa: NPY002
        return x * 0.5

    return Fault("mine", "weird" if what == "kind" else "noise", "mine", change)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("fails", "it fails at severity 1"),
        ("in place", "changes the image that it was given"),
        ("shape", "it gives"),
        ("nan", "not finite"),
        ("draws", "one row two results"),
        ("kind", "kind is 'weird'"),
    ],
)
def test_the_contract_names_what_is_wrong(what: str, words: str) -> None:
    with pytest.raises(FaultError, match=words):
        check_fault(broken(what))
