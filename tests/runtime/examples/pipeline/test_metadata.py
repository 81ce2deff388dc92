"""The pipeline's reader of bundles refuses the metadata that a session refuses."""

from __future__ import annotations

import copy
import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.runtime import Session
from edgemon.runtime.errors import EdgemonError
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.session import MONITOR
from tests.conftest import DEMO
from tests.runtime.examples.pipeline.conftest import Program, filmed, restate
from tests.runtime.test_metadata import WRONG, with_metadata

pytestmark = pytest.mark.xdist_group("pipeline")
REFUSED = (3, 4)
MUTATIONS = 120
ODD: list[Any] = [None, True, -1, 0, 7, 1e300, "", "x", [], {}, [1, 2], {"a": 1}]


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    image = np.load(DEMO / "digits.npz")["x"][0]
    return filmed(tmp_path_factory.mktemp("metadata") / "frames", [image])


def rewritten(bundle: Path, to: Path, content: str) -> Path:
    """A copy of the bundle with other metadata, of which its manifest knows."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(bundle, to)
    artifact = (to / MONITOR).read_bytes()
    (to / MONITOR).write_bytes(with_metadata(artifact, content.encode()))
    restate(to, MONITOR)
    return to


def refused_by_a_session(bundle: Path, image: Any) -> bool:
    try:
        Session(bundle, kernels="builtin").evaluate(image)
    except EdgemonError:
        return True
    return False


@pytest.mark.parametrize("name", WRONG)
def test_metadata_that_contradicts_the_artifact(
    name: str, digits_bundle: Path, frames: Path, tflite_program: Program, tmp_path: Path
) -> None:
    metadata = Monitor((digits_bundle / MONITOR).read_bytes()).metadata
    content = WRONG[name][0](metadata)
    text = content if isinstance(content, str) else json.dumps(metadata)
    ran = tflite_program.run(rewritten(digits_bundle, tmp_path / "copy", text), frames)
    assert ran.code in REFUSED, ran.sentences
    assert len(ran.sentences.splitlines()) == 1


def places(found: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = (
        found if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ()
    )
    return [p for key in keys for p in ((*path, key), *places(found[key], (*path, key)))]


def mutated(metadata: Any, rng: random.Random) -> tuple[Any, str]:
    """One entry removed, or something odd in its place; and what was done."""
    changed = copy.deepcopy(metadata)
    *above, last = rng.choice(places(changed))
    at = changed
    for key in above:
        at = at[key]
    if rng.random() < 0.4:
        del at[last]
        return changed, f"without {[*above, last]}"
    at[last] = rng.choice(ODD)
    return changed, f"{[*above, last]} = {at[last]!r}"


def test_random_damage_is_refused_where_a_session_refuses_it(
    digits_bundle: Path, frames: Path, tflite_program: Program, tmp_path: Path
) -> None:
    """Or the pipeline is the stricter one: never does it run what a session does not."""
    rng, image = random.Random(0), np.load(DEMO / "digits.npz")["x"][0]
    metadata = Monitor((digits_bundle / MONITOR).read_bytes()).metadata
    refused = 0
    for _ in range(MUTATIONS):
        changed, what = mutated(metadata, rng)
        bundle = rewritten(digits_bundle, tmp_path / "copy", json.dumps(changed))
        ran = tflite_program.run(bundle, frames)
        fault = ran.code == 0 and ran.frames[0]["verdict"] == "fault"
        assert ran.code in (0, *REFUSED), f"{what}: {ran.sentences}"
        if refused_by_a_session(bundle, image):
            assert ran.code in REFUSED or fault, what
            refused += 1
    assert MUTATIONS / 4 < refused < MUTATIONS
