"""Help at 80 columns: what a reader has to type is whole."""

from __future__ import annotations

import re

import pytest
import typer
from typer.testing import CliRunner

from edgemon.compiler.commands.root import app

ROOT = typer.main.get_command(app)


def helped(*arguments: str) -> str:
    found = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*arguments])
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.parametrize("name", sorted(ROOT.commands))  # type: ignore[attr-defined]
def test_no_option_is_cut(name: str) -> None:
    shown = helped(name, "-h")
    assert shown == helped(name, "--help")
    assert "…" not in shown
    command = ROOT.commands[name]  # type: ignore[attr-defined]
    for option in (o for p in command.params for o in p.opts if o.startswith("--")):
        assert re.search(rf"(?m)^  .*{option}\b", shown), option


def test_no_key_becomes_a_picture_or_is_cut() -> None:
    shown = helped("compile", "-h")
    for key in ("mean=a:b:c", "std=a:b:c", "resize=30x30", "box:gamma=0.35", "box=gap,prophecy="):
        assert key in shown, key


def test_inspect_shows_whole_names() -> None:
    from tests.command_line import MODEL, document

    taps = document("inspect", MODEL)["suggested_taps"]
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["inspect", MODEL]).stdout
    assert "…" not in shown
    whole = "".join(shown.partition("rule for --taps")[2].split())  # long names go on below
    assert taps
    assert [rule for rule in taps if rule not in shown] == []
    assert [name for names in taps.values() for name in names if name not in whole] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("target", "check", "cortex-m4", "x"), "did you mean 'cortex-m4f'? There are"),
        (("compil",), "compile"),
        (("inspect", "m.onnx", "--jsn"), "--json"),
    ],
)
def test_a_typo_is_answered_with_what_is_near(arguments: tuple[str, ...], says: str) -> None:
    assert says in CliRunner().invoke(app, [*arguments]).stderr
