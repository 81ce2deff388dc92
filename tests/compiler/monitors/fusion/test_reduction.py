"""Novelty signals become smaller until they fit, the largest first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler import fitting
from edgemon.compiler.cost.bill import KILOBYTE, Bill
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.monitors import MONITORS, MonitorEstimator
from edgemon.compiler.monitors.fusion.fusion import NOVELTY_SHARE, FusionMonitor
from edgemon.compiler.monitors.fusion.reduction import OVERHEAD, forms
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.recording import Recording

WIDE = 1152  # features of the convnet for which there was no novelty signal
KINDS = ("rmds", "prototypes", "density")


def wide(folder: Path, dtype: str, rows: int, width: int = WIDE, seed: int = 0) -> Recording:
    """Four classes, whose features are wide."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(9).normal(0, 1, (4, width))
    labels = rng.integers(0, 4, rows)
    features = np.maximum(centres[labels] + rng.normal(0, 3, (rows, width)), 0)
    logits = features @ centres.T / 60
    taps, files = [], []
    folder.mkdir()
    for name, real in {"output": logits, "logits": logits, "features": features}.items():
        taps.append(
            Tap(name, dtype, real.shape[1], *((0.2, -100) if dtype == "int8" else ()))
        )  # fmt: skip
        codes = real.astype(np.float32)
        if dtype == "int8":
            codes = np.clip(np.rint(real / 0.2) - 100, -128, 127).astype(np.int8)
        files.append(RowFile.create(folder / f"{name}.npy", codes.shape, dtype))
        files[-1].write(0, codes)
    predicted = files[0].read(np.arange(rows)).argmax(axis=1).astype(np.int32)
    return Recording(tuple(taps), tuple(files), np.arange(rows), predicted, labels, 4)


def signals() -> list[MonitorEstimator]:
    return [MONITORS[k](taps=("features",)) for k in KINDS]


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_smaller_form_takes_fewer_bytes_and_says_which_it_is(
    tmp_path: Path, kind: str, dtype: str
) -> None:
    rows = wide(tmp_path / "r", dtype, 150)
    form: MonitorEstimator | None = MONITORS[kind](taps=("features",))
    said, sizes, reckoned = [], [], []
    while form is not None:
        said.append(form.stored_as)
        reckoned.append(form.least_bytes(rows))
        if len(said) % 4 == 1:  # not each: fitting takes a while
            fitted = form.fit(rows)
            program = lowered([fitted], rows.taps, "output").quantised()
            sizes.append((Bill(program, None).together().size_bytes, reckoned[-1]))
        form = form.smaller(rows)
    assert len(set(said)) == len(said) > 4
    assert reckoned == sorted(reckoned, reverse=True)
    assert reckoned[-1] < 4 * KILOBYTE
    assert all(least <= size <= least + OVERHEAD + least // 8 for size, least in sizes), sizes


def test_the_largest_is_reduced_first_until_all_fit(tmp_path: Path) -> None:
    rows = wide(tmp_path / "r", "float32", 150)
    whole = {m.kind: m for m in signals()}
    found = {f.whole.kind: f for f in forms(list(whole.values()), rows, 16.0)}
    assert all(f.why for f in found.values())
    assert sum(f.taken.least_bytes(rows) + OVERHEAD for f in found.values()) <= 16 * KILOBYTE
    assert "where there are 16 kB (32 directions would take" in found["density"].why
    # With more room, only the largest: density.
    sizes = {k: m.least_bytes(rows) + OVERHEAD for k, m in whole.items()}
    assert max(sizes, key=lambda k: sizes[k]) == "density"
    room = (sum(sizes.values()) - 1) / KILOBYTE
    more = forms(list(whole.values()), rows, room)
    assert [f.whole.kind for f in more if f.why] == ["density"]
    assert not any(f.why for f in forms(list(whole.values()), rows, room + 1))


def test_one_that_fits_in_no_form_does_not_shrink_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = wide(tmp_path / "r", "float32", 150, width=97)

    huge, small = (MONITORS[k](taps=("features",)) for k in ("density", "prototypes"))
    huge.set_params(dims=512)
    monkeypatch.setattr(type(huge), "smaller", lambda *_: None)
    assert huge.least_bytes(rows) > 16 * KILOBYTE
    assert not any(f.why for f in forms([huge, small], rows, 16.0))


def test_wide_features_have_novelty_signals(tmp_path: Path) -> None:
    """Of an ONNX convnet with 1,152 features all were left out, and scod became errors."""
    names = Splits("fit", "threshold", "test")
    seeds = {name: i for i, name in enumerate(names.values())}
    rows = names.map(lambda name, _: wide(tmp_path / name, "float32", 400, seed=seeds[name]))
    fusion = MONITORS["scod"](
        taps=("features", "logits"), signals=(MONITORS["msp_t"](taps=("logits",)),),
        novelty=tuple(signals()),
    )  # fmt: skip
    assert isinstance(fusion, FusionMonitor)
    fitted = fitting.fit_monitors([fusion], "output", rows, FalseAlarmPromise())
    assert {t.member.kind for t in fusion.terms_ if t.novelty} == set(KINDS)
    assert set(fusion.left_out_) == set(KINDS)
    assert all("reduced to" in why for why in fusion.left_out_.values())
    assert Bill(fitted.program, None).together().size_bytes < fusion.budget_kb * KILOBYTE
    of_novelty = lowered(fusion.novelty_, rows.fit.taps, "output").quantised()
    share = NOVELTY_SHARE * fusion.budget_kb * KILOBYTE
    assert Bill(of_novelty, None).together().size_bytes <= share


def test_signals_of_errors_are_reduced_to_what_novelty_leaves(tmp_path: Path) -> None:
    """On 43 classes a second opinion on three layers had no room, and scod was left with the
    softmax alone, though one on two layers fits."""
    rows = wide(tmp_path / "r", "float32", 300, width=700)
    taps = ("logits", "features")
    opinion = MONITORS["second_opinion"](taps=taps)
    fusion = MONITORS["scod"](
        taps=taps, signals=(MONITORS["msp_t"](taps=("logits",)), opinion),
        novelty=(MONITORS["prototypes"](taps=("features",)),), budget_kb=8.0,
    )  # fmt: skip
    assert isinstance(fusion, FusionMonitor)
    fusion.fit(rows)
    assert [m.taps for m in fusion.members_ if m.kind == "second_opinion"] == [("logits",)]
    assert "reduced to weights of 1 layer, so that" in fusion.left_out_["second_opinion"]
    more = fusion.set_params(budget_kb=20.0).fit(rows)
    assert [m.taps for m in more.members_ if m.kind == "second_opinion"] == [taps]
