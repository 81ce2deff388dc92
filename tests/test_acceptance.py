"""Real models and data: the whole way, as a user goes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.runtime.preprocess import Preprocess


@dataclass(frozen=True)
class Case:
    model: str
    data: str
    accuracy: float
    preprocess: str = ""
    label_order: str = "numeric"


CASES = {
    "resnet8": Case("mlperf_tiny_resnet8_int8", "cifar10_test", 0.8697),
    "gtsrb": Case(
        "gtsrb_nihal1521_traffic_sign_model",
        "gtsrb_test",
        0.9473,
        "scale=1/255,resize=30x30",
        "string",
    ),
    "mnist_edgeairtt": Case("mnist_edgeairtt", "mnist_test", 0.9651, "scale=1/255"),
    "resnet_large": Case("mlperf_tiny_resnet_large_int8", "cifar10_test", 0.9131),
    "resnet8_float": Case("mlperf_tiny_resnet8_float", "cifar10_test", 0.8719),
}
# All monitors and both fusions, whose signals are monitors too, in one artifact.
EVERYTHING = (
    "errors,scod,softmax,entropy,energy,gen,doctor,odin_t,rmds,forest,pattern,box,prophecy,"
    "deepinfer,selfchecker"
)
VERIFIED = ("resnet8", "resnet8_float")  # by a second proof, of rows that compile has not proven
EVERYWHERE = ("resnet8", "gtsrb")  # of codes, and of floats
FEW = "errors,softmax,box,prophecy"


@pytest.mark.parametrize("name", CASES)
def test_compile_and_verify(name: str, shared: Path, tmp_path: Path) -> None:
    case = CASES[name]
    images = shared / "data" / "images"
    data = str(images / f"{case.data}.npz")
    monitors = EVERYTHING if name in EVERYWHERE else FEW
    options = Options(
        monitors=monitors,
        thresholds="method",
        preprocess=Preprocess.parse(case.preprocess),
        label_order=case.label_order,
    )
    manifest = compile_bundle(
        images / "models" / f"{case.model}.tflite", Sources(data=data), tmp_path / "b", options
    )
    assert manifest["accuracy"] == pytest.approx(case.accuracy, abs=5e-5)
    assert [m["name"] for m in manifest["monitors"]] == monitors.split(",")
    assert manifest["proof"]["mismatches"] == 0
    assert manifest["proof"]["output_rows"] == 1000
    assert manifest["proof"]["output_mismatches"] == 0
    if name in VERIFIED:
        proof = verify_bundle(tmp_path / "b", data + "[0:5000]")
        assert (proof.rows, proof.mismatches) == (5000, 0)
        assert proof.neighbours > 10_000


def test_memory_does_not_grow_with_the_rows(shared: Path, tmp_path: Path) -> None:
    """Half of the rows take at most a tenth less memory: rows are streamed."""
    import json
    import subprocess
    import sys

    images = shared / "data" / "images"
    test = images / "cifar10_test.npz"
    peaks = {}
    for rows in (10_000, 20_000):
        command = [
            sys.executable, "-c", "from edgemon.compiler.commands.main import main; main()",
            "compile",
            str(images / "models" / "mlperf_tiny_resnet8_int8.tflite"),
            "--fit", f"{images / 'cifar10_train20k.npz'}[0:{rows}]",
            "--calibrate", f"{test}[0:5000]", "--test", f"{test}[5000:]",
            "--out", str(tmp_path / str(rows)), "--json",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[rows] = json.loads(done.stdout)["peak_memory_bytes"]
    assert peaks[20_000]["compile"] < 1.2e9
    for kind in ("compile", "largest_worker"):
        assert peaks[10_000][kind] > 0.9 * peaks[20_000][kind]


@pytest.mark.parametrize("name", ["BM1", "HP1", "PD1"])
def test_a_model_with_one_output_unit(name: str, shared: Path, tmp_path: Path) -> None:
    """Two classes, decided at one half; the counts of the study's Table 2."""
    import csv

    study = shared / "data" / "trustdnn"
    splits = {}
    held_out: set[tuple[str, ...]] = set()
    for part in ("test", "val", "train"):
        source = study / "splits" / name[:2] / part
        with (source / "x.csv").open() as x, (source / "y.csv").open() as y:
            rows = [[*a, b[-1]] for a, b in zip(csv.reader(x), csv.reader(y), strict=True)]
        rows[0][-1] = "label"
        # The study's own splits share a few rows, which compile refuses.
        rows[1:] = [row for row in rows[1:] if tuple(row) not in held_out]
        held_out.update(map(tuple, rows[1:]))
        splits[part] = tmp_path / f"{part}.csv"
        with splits[part].open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    sources = Sources(None, str(splits["train"]), str(splits["val"]), str(splits["test"]))
    model = study / "tflite_float32" / f"{name}.tflite"
    # So many monitors together need more rows than the study has; BM1, with most rows, has few.
    monitors = FEW if name == "BM1" else EVERYTHING
    options = Options(
        monitors=monitors, thresholds="method", promise=FalseAlarmPromise(whose="monitor")
    )
    manifest = compile_bundle(model, sources, tmp_path / "b", options)
    with (study / "expected" / "table2_models.csv").open() as file:
        expected = {row["model"]: int(row["n_correct"]) for row in csv.DictReader(file)}
    right = manifest["accuracy_by_split"]["test"] * manifest["rows"]["test"]
    assert round(right) == expected[name]
    assert manifest["proof"]["mismatches"] == 0
