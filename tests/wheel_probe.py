"""What an installed wheel does with NumPy alone: ``python wheel_probe.py FOLDER [BUNDLE]`` opens
the artifacts in FOLDER, and prints a document with the hash of their verdicts and scores."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import time
from pathlib import Path

began = time.process_time()
import edgemon  # noqa: E402 - timed

IMPORT = time.process_time() - began

import numpy as np  # noqa: E402

from edgemon.runtime import EdgemonError, Monitor  # noqa: E402

ROWS = 50


def results(folder: Path) -> tuple[int, str]:
    """How many artifacts, and the SHA-256 of what they say of made-up taps."""
    rng, found = np.random.default_rng(0), hashlib.sha256()
    files = sorted(folder.glob("*.emon"))
    for path in files:
        monitor = Monitor(path.read_bytes())
        monitor.self_test()
        taps = [
            rng.integers(-100, 100, (ROWS, tap.length)).astype(tap.dtype) for tap in monitor.taps
        ]
        said = monitor.evaluate(taps)
        for values in (said.verdict, *said.scores):
            found.update(values.tobytes())
    return len(files), found.hexdigest()


def without_interpreter(bundle: str) -> str:
    """What `edgemon.load` says where no interpreter is installed."""
    try:
        edgemon.load(bundle)
    except EdgemonError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    artifacts, sha = results(Path(sys.argv[1]))
    print(
        json.dumps(
            {
                "machine": platform.machine(),
                "numpy": np.__version__,
                "import_s": round(IMPORT, 3),
                "where": str(Path(edgemon.__file__).parent),
                "artifacts": artifacts,
                "results": sha,
                "load": [without_interpreter(bundle) for bundle in sys.argv[2:]],
            }
        )
    )
