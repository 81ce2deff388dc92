"""Help at 80 columns: what a reader has to type is whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from edgemon.compiler.commands.command import PANEL_OF, PANELS
from edgemon.compiler.commands.root import app
from tests.docs.commands import split

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


def test_the_first_sentence_of_every_command_is_whole() -> None:
    for path, shown in (((), helped("-h")), (("target",), helped("target", "-h"))):
        assert "..." not in shown.partition("-h, --help")[2]
        below = ROOT.commands["target"] if path else ROOT  # type: ignore[attr-defined]
        words = " ".join(shown.split())
        for name, command in below.commands.items():
            first = " ".join(command.help.strip().partition("\n\n")[0].split())
            assert f" {name} {first}" in words
    titles = re.findall(r"(?m)^(\S.*):$", helped("-h"))
    assert titles == ["Options", "Commands", "Measurements and studies"]


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


def leaves(node: Any = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands, by the words that name them."""
    for name, command in getattr(node, "commands", {}).items():
        yield from leaves(command, (*path, name))
    if not hasattr(node, "commands"):
        yield path, node


@pytest.mark.parametrize(("path", "command"), list(leaves()), ids=lambda p: str(p)[:40])
def test_every_command_has_an_example_that_can_be_typed(
    path: tuple[str, ...], command: Any
) -> None:
    shown = helped(*path, "-h")
    lines = shown.partition("Example:\n")[2].splitlines()
    assert lines
    for line in lines:
        assert len(line) <= 80
        start, *words = split(line)
        assert start == "edgemon"
        assert tuple(words[: len(path)]) == path
        command.make_context(path[-1], words[len(path) :])


def test_options_of_a_large_command_are_in_groups() -> None:
    shown = helped("compile", "-h")
    titles = re.findall(r"(?m)^(\S.*):$", shown)
    assert titles[:2] == ["Arguments", "Rows"]
    assert titles[-2:] == ["Options", "Example"]
    for param in ROOT.commands["compile"].params:  # type: ignore[attr-defined]
        if param.param_type_name == "option":
            assert param.name in {*PANEL_OF, "seed"}, "give it a group in commands/command.py"


def test_a_name_is_in_one_group() -> None:
    assert len(PANEL_OF) == sum(map(len, PANELS.values()))
