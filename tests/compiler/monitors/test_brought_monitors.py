"""Monitors that packages of their own bring, installed beside edgemon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import parse, registry
from tests.conftest import ROOT
from tests.tiny_onnx import write_linear_onnx

GUIDE = (ROOT / "docs" / "extending.md").read_text()
MARGIN = GUIDE.partition("## A monitor")[2].partition("```python\n")[2].partition("```")[0]


def install(
    site: Path, code: str = MARGIN, name: str = "margin", target: str = "stranger:Margin",
    package: str = "stranger",
) -> Path:  # fmt: skip
    """A package as pip leaves it."""
    (site / f"{package}.py").write_text(code)
    about = site / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{name} = {target}\n")
    return site


def python(site: Path, code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path}, check=False,
    )  # fmt: skip


def edgemon(site: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    code = "from edgemon.compiler.commands.main import main; main()"
    return python(site, code, *arguments)


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path of this interpreter; what is imported from it is forgotten."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    return tmp_path


def test_a_monitor_of_another_package_is_compiled_proven_and_run(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(site)
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(0, 2, (3, 3)), np.zeros(3)
    x = rng.normal(size=(900, 3)).astype(np.float32)
    noisy = x @ weight + rng.normal(0, 1, (900, 3))
    np.savez(tmp_path / "rows.npz", x=x, y=noisy.argmax(axis=1))
    model = write_linear_onnx(tmp_path / "model.onnx", (3,), weight, bias)
    out = tmp_path / "bundle"
    rows = tmp_path / "rows.npz"

    made = edgemon(
        site, "compile", model, "--data", rows, "--monitor", "margin:power=2,softmax",
        "--out", out, "--json",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    assert [m["name"] for m in manifest["monitors"]] == ["margin", "softmax"]
    assert manifest["monitors"][0]["auroc"] > 0.6
    assert manifest["proof"]["mismatches"] == 0
    assert manifest["proof"]["rows"] > 0

    # A device has the bundle, and not the package.
    run = edgemon(tmp_path, "run", out, "--data", f"{rows}[0:200]", "--json")
    assert run.returncode == 0, run.stderr
    assert len(json.loads(run.stdout)["rows"]) == 200

    checked = python(
        site,
        "from stranger import Margin\n"
        "from edgemon.compiler.checks import check_monitor\n"
        "check_monitor(Margin())",
    )
    assert checked.returncode == 0, checked.stderr


def test_it_is_named_among_the_monitors_and_not_imported(brought: Path) -> None:
    install(brought, code="raise RuntimeError('imported')")
    with pytest.raises(CompileError, match=r"unknown monitor 'x'; there are auto, .*, margin$"):
        parse("x")
    assert parse("softmax")


def test_its_settings_are_checked_as_ours(brought: Path) -> None:
    install(brought)
    (found,) = parse("margin:power=2.5")
    assert found.get_params()["power"] == 2.5
    with pytest.raises(CompileError, match=r"power=20\.0 must lie between 0\.1 and 10"):
        parse("margin:power=20")


ABSTRACT = """
from edgemon.compiler.monitors import MonitorEstimator

class Margin(MonitorEstimator):
    kind = "margin"
"""
POWER, CLASS = "power=1.0", "stranger:Margin"


@pytest.mark.parametrize(
    ("code", "target", "message"),
    [
        ("import nowhere", CLASS, "cannot be imported .ModuleNotFoundError: No module named"),
        ("raise RuntimeError('a\\nb')", CLASS, "cannot be imported .RuntimeError: a b"),
        ("1 +", CLASS, "cannot be imported .SyntaxError"),
        (MARGIN, "stranger:Nothing", "cannot be imported .AttributeError"),
        ("Margin = 3", CLASS, "is not a class derived from MonitorEstimator"),
        ("class Margin: pass", CLASS, "is not a class derived from MonitorEstimator"),
        (MARGIN.replace('"margin"', '"other"'), CLASS, "has kind='other'"),
        (ABSTRACT, CLASS, "it does not define _fit, lower, reason"),
        (MARGIN.replace("_fit(", "fit("), CLASS, "does not define _fit"),
        (MARGIN + "\n    def fit(self, r): pass", CLASS, "it overrides fit"),
        (MARGIN.replace(POWER, "*, power"), CLASS, "no default for power"),
        (MARGIN.replace(POWER, "power=100.0"), CLASS, "power=100.0 is not within limits"),
        (MARGIN.replace("limits =", "limit ="), CLASS, "power=1.0 is not within limits"),
        (MARGIN.replace(POWER, "power=None"), CLASS, "cannot be typed as a setting"),
        (MARGIN.replace("taps=(), ", ""), CLASS, "its constructor lacks taps"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_refused_in_a_sentence(
    brought: Path, code: str, target: str, message: str
) -> None:
    install(brought, code, target=target)
    with pytest.raises(CompileError, match=message) as refused:
        parse("margin")
    assert "stranger" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["softmax", "auto"])
def test_a_name_that_edgemon_has_itself_is_refused(brought: Path, name: str) -> None:
    install(brought, MARGIN.replace('"margin"', f'"{name}"'), name=name)
    with pytest.raises(CompileError, match="by stranger, but edgemon has a monitor of that name"):
        parse(name)


def test_two_packages_with_one_name_are_refused(brought: Path) -> None:
    install(brought)
    install(brought, package="copycat")
    with pytest.raises(CompileError, match="brought by copycat and stranger, but one name"):
        parse("margin")
