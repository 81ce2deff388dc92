"""Do two versions of edgemon compile the same bytes?

    make same-artifacts BEFORE=COMMIT

``monitor.emon`` and ``monitor.onnx`` of the demonstration, of ResNet8 (int8, every monitor) and of
two tabular models, by both versions in turn; a line for each file with both hashes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from edgemon.compiler.monitors import AUTO, MONITORS

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
COMMAND = (
    "from importlib.metadata import entry_points\n"
    "(first, *_) = entry_points(group='console_scripts', name='edgemon')\n"
    "first.load()()"
)
# ``auto`` is one of the fusions, and with both the signals are too many; odin needs a float source,
# alocc a companion.
LEFT_OUT = ("errors", "scod", "odin", "alocc")
FILES = ("monitor.emon", "monitor.onnx")


def cases(folder: Path) -> dict[str, list[str]]:
    """Arguments of ``edgemon compile``, by name; the ``folder`` is for data."""
    demo, images, tables = ROOT / "bench" / "demo", SHARED / "images", SHARED / "trustdnn"
    test = f"{images}/cifar10_test.npz"
    found = {
        "digits": [
            f"{demo}/digits_int8.tflite", "--data", f"{demo}/digits.npz", "--expect-accuracy",
            "0.85", "--target", "host-x86_64-builtin",
        ],
        "ResNet8": [
            f"{images}/models/mlperf_tiny_resnet8_int8.tflite",
            "--fit", f"{images}/cifar10_train20k.npz[0:4000]", "--calibrate", f"{test}[0:4000]",
            "--test", f"{test}[5000:7000]", "--budget-kb", "512",
            "--monitor", ",".join([AUTO, *(name for name in MONITORS if name not in LEFT_OUT)]),
        ],
    }  # fmt: skip
    for name in ("BM4", "HP2"):
        rows = [
            _table(tables / "splits" / name[:2] / part, folder / f"{name}_{part}.npz")
            for part in ("train", "val", "test")
        ]
        found[name] = [
            f"{tables}/tflite_float32/{name}.tflite", "--fit", rows[0], "--calibrate", rows[1],
            "--test", rows[2], "--promise", "monitor", "--shared-rows", "drop",
        ]  # fmt: skip
    return found


def _table(source: Path, out: Path) -> str:
    """The rows of x.csv and y.csv as one .npz, if they are there."""
    if source.exists():
        x, y = (np.loadtxt(source / f"{n}.csv", delimiter=",", skiprows=1) for n in "xy")
        np.savez(out, x=x.astype(np.float32), y=y.astype(np.int64))
    return str(out)


def hashes(packages: str, arguments: list[str]) -> dict[str, str]:
    """Of the files of a bundle that the edgemon in a folder of packages compiles."""
    path = os.pathsep.join(filter(None, [packages, os.environ.get("PYTHONPATH", "")]))
    (Path(packages) / "edgemon" / "__init__.py").touch()  # of old versions: else another one wins
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "bundle"
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, "compile", *arguments, "--out", str(out)],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False,
        )  # fmt: skip
        if done.returncode:
            return {"": done.stderr.strip().splitlines()[-1]}
        return {f: hashlib.sha256((out / f).read_bytes()).hexdigest() for f in FILES}


def main(before: str, after: str = "") -> int:
    """Compares the packages in two folders; the second is empty for what is installed."""
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in cases(Path(folder)).items():
            if not Path(arguments[0]).exists():
                print(f"{name}: skipped, {Path(arguments[0]).name} is not there")
                continue
            first, second = (hashes(packages, arguments) for packages in (before, after))
            for file in first.keys() | second.keys():
                a, b = first.get(file, "none"), second.get(file, "none")
                same = a == b and file in FILES
                different += not same
                print(
                    f"{name} {file}: {'same' if same else 'DIFFERENT'} {a[:200]} {b[:200]}",
                    flush=True,
                )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
