"""Mistakes that users of ``edgemon compile`` make: each gets one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import DATA, MODEL, refused
from tests.conftest import DEMO

MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "no such model": (("nowhere.tflite", "--data", DATA), "does not exist"),
    "model is a text file": (
        (str(DEMO / "train.py"), "--data", DATA),
        "not a model that edgemon can read",
    ),
    "model is data": ((DATA, "--data", DATA), "not a model that edgemon can read"),
    "no such data": ((MODEL, "--data", "nowhere.npz"), "no such file"),
    "data is the model": ((MODEL, "--data", MODEL), "not data that edgemon can read"),
    "no data at all": ((MODEL,), "give either --data, or all of --fit, --calibrate and --test"),
    "half of the files": ((MODEL, "--fit", DATA), "give either --data, or all of"),
    "overlapping files": (
        (
            MODEL,
            "--fit",
            DATA + "[0:600]",
            "--calibrate",
            DATA + "[500:900]",
            "--test",
            DATA + "[900:]",
        ),
        "equal rows are in two of them (100 in fit and threshold)",
    ),
    "range beyond the end": ((MODEL, "--data", DATA + "[5000:6000]"), "5000"),
    "labels of other classes": ((MODEL, "--data", str(DEMO / "novelty.npz")), "has no class"),
    "wrong size": ((MODEL, "--data", DATA, "--preprocess", "resize=16x16"), "needs (8, 8, 1)"),
    "wrong scale": ((MODEL, "--data", DATA, "--preprocess", "scale=1/255"), "with no --preprocess"),
    "wrong order": ((MODEL, "--data", DATA, "--label-order", "alphabetical"), "alphabetical"),
    "unknown preprocessing": ((MODEL, "--data", DATA, "--preprocess", "scael=2"), "scael"),
    "accuracy below": (
        (MODEL, "--data", DATA, "--expect-accuracy", "0.99"),
        "below the 99.00% expected",
    ),
    "unknown monitor": ((MODEL, "--data", DATA, "--monitor", "sofmax"), "unknown monitor 'sofmax'"),
    "unknown tap": (
        (MODEL, "--data", DATA, "--monitor", "box", "--taps", "box=layer9"),
        "layer9",
    ),
    "a class without enough rows": (
        (MODEL, "--data", DATA, "--monitor", "softmax", "--per-class", "each"),
        "needs 59 correct threshold rows of each predicted class",
    ),
    "too few errors for a miss rate": (
        (MODEL, "--data", DATA, "--monitor", "softmax", "--miss-rate", "0.01"),
        "needs 299 wrong threshold rows, but there are 27",
    ),
    "two promises": (
        (MODEL, "--data", DATA, "--miss-rate", "0.2", "--per-class", "each"),
        "does not go with --miss-rate",
    ),
    "two promises of a rate": (
        (MODEL, "--data", DATA, "--miss-rate", "0.2", "--false-alarm", "0.05"),
        "--miss-rate and --false-alarm are two promises",
    ),
    "unknown repeats": ((MODEL, "--data", DATA, "--repeats", "drop"), "use keep or group"),
    "unknown promise": ((MODEL, "--data", DATA, "--promise", "all"), "use verdict or monitor"),
    "unknown profile": ((MODEL, "--data", DATA, "--profile", "ood"), "use errors or scod"),
    "unknown thresholds": (
        (MODEL, "--data", DATA, "--thresholds", "tuned"),
        "use guaranteed or method",
    ),
    "tap of no monitor": (
        (MODEL, "--data", DATA, "--taps", "bx=gap"),
        "'bx' is not among the monitors",
    ),
    "taps that no monitor reads": (
        (MODEL, "--data", DATA, "--monitor", "softmax", "--taps", "penultimate"),
        "no monitor here reads layers; write softmax=penultimate",
    ),
    "taps that the model lacks": (
        (MODEL, "--data", DATA, "--monitor", "box", "--taps", "gap"),
        "the rule 'gap' finds no tensor",
    ),
    "percent for a share": ((MODEL, "--data", DATA, "--expect-accuracy", "85"), "as 0.85"),
    "tree without depth": (
        (MODEL, "--data", DATA, "--monitor", "prophecy:max_depth=0"),
        "max_depth=0 must lie between 1 and 64",
    ),
    "infinite boxes": (
        (MODEL, "--data", DATA, "--monitor", "box:gamma=inf"),
        "gamma=inf must lie between 0 and 100",
    ),
    "no clusters": ((MODEL, "--data", DATA, "--monitor", "box:max_clusters=0"), "max_clusters=0"),
    "endless name": (("x" * 300, "--data", DATA), "x" * 300),
    "unknown target": ((MODEL, "--data", DATA, "--target", "toaster"), "there are aarch64, "),
    "too few rows": ((MODEL, "--data", DATA + "[0:200]"), "correct threshold rows"),
    "rate out of range": ((MODEL, "--data", DATA, "--false-alarm", "5"), "between 0 and 1"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence_and_leaves_nothing(mistake: str, tmp_path: Path) -> None:
    arguments, sentence = MISTAKES[mistake]
    assert sentence in refused("compile", *arguments, "--out", tmp_path / "bundle")
    assert not list(tmp_path.iterdir())
