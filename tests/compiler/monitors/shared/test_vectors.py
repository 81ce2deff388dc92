from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.monitors.shared import vectors
from edgemon.compiler.monitors.shared.vectors import (
    Block,
    blocks_of,
    joined_values,
    log_odds_against,
    logits_of,
)
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import DEVIATION, MEAN, Builder, Monitor, Tap
from edgemon.compiler.program.quantise import quantise, quantise_scores
from tests.compiler.recordings import make_recording


def test_log_odds_against_the_answer_of_one_output_unit() -> None:
    """Which is an ``exceeds`` node: of two classes, the other one speaks against it."""
    b = Builder([Tap("scores", "float32", 2), Tap("unit", "float32", 1)], real=True)
    predicted = b.node("exceeds", 1, tables=[np.zeros(1)])
    score = log_odds_against(b, 0, predicted)
    program = b.program(predicted, [Monitor("m", score, 0.0, 0.0)])
    scores = np.random.default_rng(0).normal(0, 3, (40, 2))
    unit = np.random.default_rng(1).normal(0, 1, (40, 1))
    found = reference.run_real(program, [scores, unit])[score][:, 0]
    other = (unit[:, 0] <= 0).astype(int)
    expected = scores[np.arange(40), other] - scores[np.arange(40), 1 - other]
    np.testing.assert_allclose(found, expected, atol=1e-12)


CODES = {"int8": (-128, 128), "uint8": (0, 256), "int16": (-32768, 32768)}


@pytest.mark.parametrize("dtype", CODES)
def test_logarithms_of_whole_number_probabilities_are_those_of_the_probabilities(
    dtype: str,
) -> None:
    """Of int8 they were those of a code less: 1/256 was taken for 0, and 0 for less."""
    first, last = CODES[dtype]
    tap = Tap("p", dtype, 2, 1 / (last - first), first, probabilities=True)
    b = Builder([tap], real=True)
    predicted = b.node("argmax", 0)
    logs = logits_of(b, "p", predicted)
    program, (represented,) = quantise_scores(
        b.program(predicted, [Monitor("m", b.node("max", logs), 0.0, 0.0)])
    )
    codes = np.unique(np.linspace(first, last - 1, 512).round()).astype(dtype)
    codes = np.union1d(codes, np.array([first, first + 1, first + 2], dtype))
    both = np.stack([codes, np.full_like(codes, first)], axis=1)
    scores = reference.run_device(program, [both])[0][program.monitors[0].score][:, 0]
    share = (codes.astype(np.float64) - first) / (last - first)
    np.testing.assert_allclose(
        represented.real(scores), np.log(share + 2.0**-40), rtol=1e-5, atol=1e-6
    )


def test_a_bound_below_all_whole_numbers_is_itself() -> None:
    """It was the least number that its bits hold, less their sign: -127 of int8."""
    b = Builder([Tap("x", "int8", 3, 0.5, -128)], real=True)
    predicted = b.node("argmax", 0)
    least = b.node("clip", b.node("max", 0), tables=[np.array([-3.0])])
    program, (represented,) = quantise_scores(b.program(predicted, [Monitor("m", least, 0.0, 0.0)]))
    codes = np.array([[-128, -128, -128], [5, 127, -128]], np.int8)
    scores = reference.run_device(program, [codes])[0][program.monitors[0].score][:, 0]
    np.testing.assert_array_equal(represented.real(scores), [-3.0, -3.0])


def test_features_of_several_taps_take_no_more_memory_than_they_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_recording(tmp_path, "float32", 5000, 3)
    taps = ("logits", "features")
    whole = np.concatenate([rows.features(name) for name in taps], axis=1)
    monkeypatch.setattr(vectors, "BLOCK_ELEMENTS", 999)  # divides nothing
    assert (joined_values(rows, taps) == whole).all()
    assert (joined_values(rows, taps, np.float32) == whole.astype(np.float32)).all()
    tracemalloc.start()
    try:
        joined_values(rows, taps)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.3 * whole.nbytes, peak / whole.nbytes  # at once: twice as much


MAP = Tap("map", "int8", 48, 0.1, -20, channels=3)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_deviations_of_a_map_are_those_of_its_channels(dtype: str, *, first: bool) -> None:
    """Whichever axis has the channels; on the device in half codes, rounded down."""
    tap = replace(MAP, dtype=dtype, channels_first=first)
    tap = tap if dtype == "int8" else replace(tap, scale=1.0, zero_point=0)
    codes = np.random.default_rng(0).integers(-90, 90, (20, 48)).astype(dtype)
    maps = tap.values(codes).reshape(20, *((3, 16) if first else (16, 3)))
    expected = maps.std(axis=2 if first else 1)
    b = Builder([Tap("output", "float32", 2), tap], real=True)
    id_ = b.node("sum", b.features("map", DEVIATION))
    program = b.program(b.node("argmax", 0), [Monitor("m", id_, 0.0, 0.0)])
    output = np.zeros((20, 2))
    found = reference.run_real(program, [output, tap.values(codes)])[id_][:, 0]
    np.testing.assert_allclose(found, expected.sum(axis=1), rtol=1e-9)
    device = quantise(program)
    scores = reference.evaluate(device, [output.astype(np.float32), codes]).scores[0]
    shown = np.array([device.monitors[0].shown(v) for v in scores.tolist()])
    below = expected.sum(axis=1) - shown
    assert (below > -1e-4).all()
    assert (below < (3 * tap.scale / 2 if dtype == "int8" else 1e-4)).all()


def test_means_that_another_tap_holds_are_not_taken_twice() -> None:
    """The output of a pooling over the whole map is its means."""
    pooled, logits = Tap("pooled", "int8", 3, means_of="map"), Tap("logits", "int8", 5)
    assert [(b.tap.name, b.statistic) for b in blocks_of([pooled, logits, MAP])] == [
        ("pooled", MEAN), ("logits", MEAN), ("map", DEVIATION),
    ]  # fmt: skip
    mirrored = replace(pooled, view="mirror")
    assert [b.statistic for b in blocks_of([mirrored, MAP])] == [MEAN, MEAN, DEVIATION]


def test_bands_hold_the_means_of_the_map_and_what_was_pooled_of_it() -> None:
    """As many bands as divide the rows; a pooled tap says nothing more, another layer does."""
    pooled, logits = Tap("pooled", "int8", 3, means_of="map"), Tap("logits", "int8", 5)
    tall = replace(MAP, map_rows=8)

    def found(tap: Tap, bands: int) -> list[tuple[str, str, int]]:
        blocks = blocks_of([pooled, logits, tap], bands=bands)
        return [(b.tap.name, b.statistic, b.bands) for b in blocks]

    banded = [("logits", MEAN, 1), ("map", MEAN, 8), ("map", DEVIATION, 1)]
    assert found(tall, 8) == banded
    assert found(tall, 7) == [banded[0], ("map", MEAN, 4), banded[2]]
    plain = [("pooled", MEAN, 1), banded[0], banded[2]]
    assert found(tall, 1) == found(MAP, 8) == found(replace(MAP, map_rows=11), 8) == plain
    other = replace(pooled, view="mirror")
    kept = blocks_of([other, tall], bands=8)
    assert [(b.tap.name, b.bands) for b in kept] == [("pooled@mirror", 1), ("map", 8), ("map", 1)]
    assert [b.width for b in kept] == [3, 24, 3]


@pytest.mark.parametrize(
    ("dtype", "rows", "expected"),
    [
        ("int8", 8, 2),
        ("int8", 1, 2),
        ("int8", 0, 2),
        ("uint8", 1, 2),
        ("float32", 8, 4),
        ("int16", 8, 4),
    ],
)
def test_weights_of_narrow_sums_are_short(dtype: str, rows: int, expected: int) -> None:
    """16 codes of int8 fill 11 bits, those of int16 too many."""
    tap = replace(MAP, dtype=dtype, map_rows=rows, scale=1.0, zero_point=0)
    block = Block(tap, MEAN, bands=max(1, rows))
    assert block.weight_bytes == expected
    b = Builder([Tap("output", "float32", 2), tap], real=True)
    weights = np.random.default_rng(0).normal(size=(2, block.width))
    scores = b.node("affine", block.lower(b), tables=[weights.ravel(), np.zeros(2)])
    program = b.program(b.node("argmax", 0), [Monitor("m", b.node("max", scores), 0.0, 0.0)])
    (affine,) = (node for node in quantise(program).nodes if node.op == "affine")
    assert affine.tables[0].itemsize == expected


def test_a_layer_as_wide_as_the_map_has_channels_is_no_pooling() -> None:
    """64 units of a dense layer behind a map of 64 channels were taken for its means, and left out
    beside bands."""
    dense, tall = Tap("dense", "int8", 3), replace(MAP, map_rows=8)
    assert [b.tap.name for b in blocks_of([dense, tall], bands=8)] == ["dense", "map", "map"]
    kept = [(b.tap.name, b.statistic) for b in blocks_of([dense, MAP])]
    assert kept == [("dense", MEAN), ("map", MEAN), ("map", DEVIATION)]
