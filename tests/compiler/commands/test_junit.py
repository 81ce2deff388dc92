"""The JUnit file says how this run ended, or nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from junitparser import JUnitXml

from edgemon.compiler.commands import junit
from edgemon.compiler.commands.early import require_baseline
from edgemon.compiler.errors import CompileError
from tests.command_line import DATA, MODEL, copy, edgemon, refused

BUNDLE = "BUNDLE"  # stands for one
EARLIER = '<?xml version="1.0"?>\n<testsuites name="which passed" />\n'


def test_a_file_that_cannot_be_written_is_found_before_the_work(tmp_path: Path) -> None:
    begun = []

    def work() -> None:
        with junit.reported(tmp_path / "none" / "j.xml", "s", "compile"):
            begun.append(1)

    with pytest.raises(CompileError, match="--junit"):
        work()
    assert not begun


def test_a_file_that_cannot_be_written_hides_no_outcome(tmp_path: Path) -> None:
    folder = tmp_path / "below"
    folder.mkdir()

    def work() -> None:
        with junit.reported(folder / "j.xml", "s", "compile"):
            shutil.rmtree(folder)
            raise CompileError("missed")

    with pytest.raises(CompileError, match="missed"):
        work()


def test_the_file_of_an_earlier_pass_does_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "j.xml"
    path.write_text(EARLIER)
    junit.start(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "none.onnx", "--data", DATA, "--out", "never"),
        ("compile", MODEL, "--out", "never", "--nosuch"),
        ("verify", BUNDLE),
    ],
)
def test_a_file_that_is_something_else_is_not_destroyed(
    arguments: tuple[str, ...], tmp_path: Path, bundle: Path
) -> None:
    """Rows and manifests that --junit named became XML."""
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    given = [str(bundle) if word == BUNDLE else word for word in arguments]
    assert f"--junit {path}: exists and is no JUnit file; name another" in refused(
        *given, "--junit", path
    )
    assert path.read_text() == "a,b\n1,2\n"
    path.write_text("")  # as a pipeline makes it beforehand
    junit.start(path)
    assert not path.exists()


def test_a_command_without_the_option_leaves_its_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "keep.xml"
    path.write_text(EARLIER)
    assert edgemon("run", "never", "--junit", path).exit_code == 2
    assert path.read_text() == EARLIER


def test_an_empty_folder_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="not an edgemon bundle"):
        require_baseline(tmp_path)


BENCH = ("bench", "never", "--data", "never.npz")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("compile", MODEL, "--data", DATA, "--out", "never", "--monitor", "softmx"), "softmax"),
        (("compile", MODEL, "--data", DATA, "--out", "never", "--seed", "x"), "--seed"),
        (("compile", MODEL, "--out", "never", "--nosuch"), "--nosuch"),
        (("verify", "never"), "does not exist"),
        (BENCH, "does not exist"),
        (("target", "check", "cortexm4f", "never"), "cortex-m4f"),
        (("target", "check", "cortex-m4f", "never"), "does not exist"),
        (("target", "check", "cortex-m4f", BUNDLE, "--budget", "code=1"), "unknown budget 'code'"),
        (("target", "check", "cortex-m4f", BUNDLE), "give --budgets too"),
    ],
)  # fmt: skip
def test_a_mistake_is_what_the_file_says_now(
    arguments: tuple[str, ...], says: str, tmp_path: Path, bundle: Path
) -> None:
    """Whoever finds it first: the words, the checks before anything heavy, or the command."""
    path = tmp_path / "j.xml"
    path.write_text(EARLIER)
    given = [str(bundle) if word == BUNDLE else word for word in arguments]
    assert edgemon(*given, "--junit", path).exit_code == 2
    (suite,) = JUnitXml.fromfile(str(path))
    (case,) = suite
    assert (suite.errors, case.name) == (1, "check" if "target" in given else given[0])
    assert says in case.result[0].message


def test_a_file_that_the_project_names_does_not_stay_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edgemon.toml").write_text('[target.check]\njunit = "j.xml"\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    for arguments, says in ((("--nosuch",), "--nosuch"), (("never",), "does not exist")):
        (tmp_path / "j.xml").write_text(EARLIER)
        assert edgemon("target", "check", "cortex-m4f", *arguments).exit_code == 2
        ((case,),) = JUnitXml.fromfile(str(tmp_path / "j.xml"))
        assert says in case.result[0].message


def test_a_damaged_baseline_is_found_before_anything_is_compiled(
    bundle: Path, tmp_path: Path
) -> None:
    old = copy(bundle, tmp_path / "old")
    (old / "monitor.onnx").write_bytes(b"torn")
    said = refused(
        "compile", MODEL, "--data", DATA, "--out", tmp_path / "new", "--baseline", old, code=9
    )
    assert "--baseline" in said
    assert str(old) in said
    assert not (tmp_path / "new").exists()
