"""``alocc study`` on its whole way, on images that a companion blurs instead of redrawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.bench.alocc.judges import Reconstruction, Shipped
from edgemon.bench.alocc.show import mean, show, winners
from edgemon.bench.compare import costs
from edgemon.bench.compare.panel import PanelOptions
from edgemon.bench.compare.recorder import with_taps
from edgemon.bench.farm import measures
from edgemon.bench.farm.compiled import CERTIFIED, NATIVE
from edgemon.bench.farm.spec import FarmSpec
from edgemon.bench.farm.subjects import OfCase
from edgemon.compiler.data.loading import load
from edgemon.compiler.models import open_model
from edgemon.compiler.models.tflite_model import TfliteModel
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.terminal import Terminal
from tests.command_line import DATA, MODEL, document, refused
from tests.conftest import DEMO
from tests.tiny_companions import write_blurring

SPEC = """
rows = 60
[faults]
impulse_noise = [5]
fgsm = [1]
[[case]]
name = "digits"
model = "digits_int8.tflite"
fit = "digits.npz[0:500]"
calibrate = "digits.npz[500:890]"
test = "digits.npz[890:1395]"
novel = ["novelty.npz"]
full_scale = 16
monitors = ["msp_t"]
"""


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Times and intervals are not what is tested."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(measures, "RESAMPLES", 10)
        patched.setattr(costs, "ROUNDS", 3)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A description; one companion, and one for each of the classes 0 to 8."""
    made = tmp_path_factory.mktemp("study")
    (made / "spec.toml").write_text(SPEC)
    entry = TfliteModel.open(Path(MODEL)).input
    blurring = write_blurring(made / "blur.tflite", entry)
    (made / "each").mkdir()
    for c in range(9):
        (made / "each" / f"class_{c:03d}.tflite").write_bytes(blurring.read_bytes())
    return made


def arguments(folder: Path) -> list[str | Path]:
    return ["alocc", "study", folder / "spec.toml", "--root", DEMO, "--case", "digits"]


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    both = "--companion", folder / "blur.tflite", "--companion", folder / "each"
    return document(*arguments(folder), *both, "--monitors", "msp_t,box")


def test_each_monitor_is_judged_on_each_set_by_both_oracles(found: Any) -> None:
    names = ["msp_t", "box", "alocc blur.tflite", "alocc each"]
    assert [m["monitor"] for m in found["monitors"]] == names
    assert [(r["fault"], r["oracle"], r["monitor"]) for r in found["results"]] == [
        (fault, oracle, name)
        for fault in ("novelty", "impulse_noise") for name in names
        for oracle in ("specific", "overall")
    ]  # fmt: skip
    assert [n.get("fault") for n in found["not_available"]] == ["fgsm"]


def test_noise_is_what_it_sees(found: Any) -> None:
    of_noise = {
        r["monitor"]: r for r in found["results"]
        if (r["fault"], r["oracle"]) == ("impulse_noise", "specific")
    }  # fmt: skip
    assert of_noise["alocc blur.tflite"]["auroc"] > 0.7
    assert of_noise["alocc blur.tflite"]["native"]["mcc"] is not None
    assert of_noise["msp_t"]["native"] is None


def test_who_wins_on_which_fault(found: Any) -> None:
    won = winners(found, "specific", "certified")
    assert won.keys() == {"novelty", "impulse_noise"}
    name, best = won["impulse_noise"]
    three = [m["monitor"] for m in found["monitors"] if m["monitor"] != "msp_t"]
    of_noise = [r for r in found["results"] if r["fault"] == "impulse_noise"]
    assert name in three
    assert best == max(mean(of_noise, m, "specific", "mcc") for m in three)
    assert mean(of_noise, "msp_t", "specific", "mcc", "native") is None


def test_the_bundle_and_the_companion_count(found: Any, folder: Path) -> None:
    one = next(m for m in found["monitors"] if m["monitor"] == "alocc blur.tflite")
    assert one["bytes"] > (folder / "blur.tflite").stat().st_size
    assert one["milliseconds"] > 0


def test_monitors_beside_it_are_judged_as_without_it(found: Any, folder: Path) -> None:
    """Both wrote the tapped model to one file: the box read other layers, or none that there
    were."""
    alone = document(
        *arguments(folder), "--companion", folder / "each", "--monitors", "msp_t,box"
    )  # fmt: skip
    for monitor in ("msp_t", "box"):
        one, other = ([r for r in d["results"] if r["monitor"] == monitor] for d in (found, alone))
        assert one == other


def test_verdicts_of_c_are_those_of_its_companion_alone(folder: Path, tmp_path: Path) -> None:
    """The monitor that is shipped says of each row what the interpreter and NumPy say."""
    spec, options = FarmSpec.read(folder / "spec.toml", DEMO), PanelOptions()
    (case,) = spec.cases
    path = folder / "blur.tflite"
    scratch = tmp_path / "subject", tmp_path / "shipped"
    for own in scratch:
        own.mkdir()
    subject = OfCase(case, spec.root, options, scratch[0], Reporter())
    by_hand = Reconstruction(path, subject, case, options.target, Reporter())
    shipped = Shipped(path, case, spec.root, options, scratch[1], Reporter())
    data = subject.data.pool[-1]
    rows = subject.record(data, "test")
    one, other = by_hand.judge(data, rows), shipped.judge(data, rows)
    assert one.score is not None
    assert other.score is not None
    ratio = one.score / other.score
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    for kind in (CERTIFIED, NATIVE):
        np.testing.assert_array_equal(one.verdicts[kind], other.verdicts[kind], kind)
        assert 0 < one.alarms[kind].sum() < len(data)


def test_a_case_of_farm_takes_a_companion(folder: Path, tmp_path: Path) -> None:
    lines = SPEC.replace('["msp_t"]', '["msp_t", "alocc"]').replace("fgsm = [1]\n", "")
    given = tmp_path / "spec.toml"
    given.write_text(f'{lines}companion = "{folder / "blur.tflite"}"\n')
    made = farmed(given, tmp_path / "with")
    assert {r["monitor"] for r in made["results"]} == {"msp_t", "alocc"}


def test_a_case_without_a_companion_leaves_it_out(folder: Path, tmp_path: Path) -> None:
    (case,) = FarmSpec.read(folder / "spec.toml", DEMO).cases
    case = replace(case, monitors=("alocc",))
    rows = load(f"{DATA}[0:20]", tmp_path)
    model = open_model(Path(MODEL), tmp_path)
    _, refused_, _ = with_taps(case, DEMO, model, rows, 0, Reporter())
    assert "give its file with --companion" in refused_["alocc"]


def farmed(spec: Path, out: Path) -> Any:
    return document("farm", spec, "--root", DEMO, "--out", out)


def test_the_tables_name_what_is_missing(found: Any, capsys: pytest.CaptureFixture[str]) -> None:
    show(found, Terminal(markdown=True))
    shown = "".join(capsys.readouterr())
    assert "AUROC, specific, certified" in shown
    assert "AUROC / MCC, overall, native, means over sets of a kind" in shown
    won = [name for name, _ in winners(found, "overall", "certified").values()]
    assert f"overall, certified: {won[0]} {won.count(won[0])}" in shown
    assert shown.count("not available: fgsm") == 1


def test_what_is_not_there_is_refused(folder: Path) -> None:
    gone = folder / "gone.tflite"
    assert "gone.tflite: cannot be read" in refused(*arguments(folder), "--companion", gone)
    wrong = [*arguments(folder)[:-1], "letters", "--companion", folder / "blur.tflite"]
    assert "--case 'letters'" in refused(*wrong)
    text = folder / "text.tflite"
    text.write_bytes(b"no model" * 8)
    assert "text.tflite" in refused(*arguments(folder), "--companion", text)
