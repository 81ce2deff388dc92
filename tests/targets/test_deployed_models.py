"""One hash of results for each deployed model, on every target: `make test-targets`."""

from __future__ import annotations

import os

import pytest

from edgemon import targets
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands.target_check import taps_of
from edgemon.compiler.program import reference
from edgemon.compiler.program.ops import DEVICE_OPS
from edgemon.compiler.proof.on_target import prove_on, result_sha256
from edgemon.compiler.reporter import Reporter
from tests.command_line import edgemon
from tests.conftest import DEMO, SHARED
from tests.same_artifacts import cases
from tests.targets.emulated import LITTLE, SAME, emulated

IMAGES, ROWS = SHARED / "data" / "images", 150
LONG = "takes minutes: run by `make test-targets`"
MODELS = ("digits", "ResNet8", "GTSRB", "BM4", "HP2")


def rows_of(name: str, arguments: list[str]) -> str:
    """Rows that the model is run on."""
    if name == "GTSRB":
        return f"{IMAGES}/gtsrb_test.npz[0:{ROWS}]"
    if name == "digits":
        return f"{DEMO}/digits.npz[0:{ROWS}]"
    data = arguments[arguments.index("--test") + 1].partition("[")[0]
    return f"{data}[0:{min(ROWS, 140)}]"


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Arguments of ``edgemon compile``."""
    if not os.environ.get("EDGEMON_ALL_TARGETS"):
        pytest.skip(LONG)
    if not IMAGES.is_dir():
        pytest.skip(f"{IMAGES} is missing: real models and data are not in the repository")
    found = cases(tmp_path_factory.mktemp("tables"))
    test = f"{IMAGES}/gtsrb_test.npz"
    found["GTSRB"] = [
        f"{IMAGES}/models/gtsrb_nihal1521_traffic_sign_model.tflite",
        "--fit", f"{IMAGES}/gtsrb_train.npz", "--calibrate", f"{test}[0:4000]",
        "--test", f"{test}[4000:6315]", "--preprocess", "scale=1/255,resize=30x30",
        "--label-order", "string",
    ]  # fmt: skip
    return found


@pytest.fixture(scope="module", params=MODELS)
def compiled(
    request: pytest.FixtureRequest, commands: dict[str, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Bundle, list[reference.Array]]:  # fmt: skip
    """A bundle of each model, and recorded rows of its taps."""
    name = request.param
    out = tmp_path_factory.mktemp("bundles") / name
    result = edgemon("compile", *commands[name], "--out", out)
    assert result.exit_code == 0, result.stderr
    bundle = Bundle.open(out)
    return name, bundle, taps_of(bundle, rows_of(name, commands[name]), None, Reporter())


@pytest.mark.xdist_group("deployed models")
@pytest.mark.parametrize("target", LITTLE)
def test_one_hash_of_results(
    target: str, compiled: tuple[str, Bundle, list[reference.Array]]
) -> None:
    name, bundle, rows = compiled
    program = bundle.artifact.program
    if name == "ResNet8":  # every monitor: most ops by themselves
        assert len({node.op for node in program.nodes}) > 0.8 * len(DEVICE_OPS)
    found = prove_on(emulated(target), bundle.artifact_bytes, rows)
    found.require()
    assert found.rows >= 100
    assert found.result_sha256 == result_sha256(reference.evaluate(program, rows))


@pytest.mark.xdist_group("deployed models")
def test_a_big_endian_host_refuses_each(
    compiled: tuple[str, Bundle, list[reference.Array]],
) -> None:
    _, bundle, rows = compiled
    found = prove_on(emulated("s390x"), bundle.artifact_bytes, [x[:1] for x in rows])
    found.require()
    assert found.refused is not None


def test_these_are_all_targets() -> None:
    assert {*LITTLE, "s390x", SAME} == set(targets.names())
    assert targets.load(SAME).cflags == targets.load("host-x86_64").cflags
