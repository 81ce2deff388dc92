"""``edgemon compile --group`` as a user types it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import document, edgemon, refused
from tests.conftest import DEMO
from tests.tiny_tflite import write_tiny

COPIES = 3


@pytest.fixture(scope="module")
def tracks(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each row of the tiny data as a track of three frames that hardly differ; numbers of tracks
    start anew in each class."""
    rng = np.random.default_rng(1)
    with np.load(tiny_data) as data:
        x, y = data["x"], data["y"]
    number = np.zeros(len(y), np.int64)
    for label in range(3):
        number[y == label] = np.arange((y == label).sum())
    order = rng.permutation(COPIES * len(y))
    frames = np.repeat(x, COPIES, axis=0)
    frames = frames + rng.normal(0, 1e-3, frames.shape).astype(np.float32)
    track = np.stack([np.repeat(number, COPIES), np.tile(np.arange(COPIES), len(y))], axis=1)
    folder = tmp_path_factory.mktemp("tracks")
    arrays = {"x": frames[order], "y": np.repeat(y, COPIES)[order], "track": track[order]}
    np.savez(folder / "d.npz", **arrays)
    with (folder / "d.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["a", "b", "track", "c", "d", "label"])
        for row, label, (t, _) in zip(*arrays.values(), strict=True):
            table.writerow([*map(repr, row[:2].tolist()), t, *map(repr, row[2:].tolist()), label])
    write_tiny(folder / "tiny.tflite")
    return folder


def _sides(bundle: Path, groups: np.ndarray) -> list[set[int]]:
    with np.load(bundle / "splits.npz") as splits:
        return [set(groups[splits[name]].tolist()) for name in ("fit", "threshold", "test")]


def test_npz_and_csv_in_groups_make_the_same_bundle(tracks: Path, tmp_path: Path) -> None:
    with np.load(tracks / "d.npz") as data:
        groups = data["y"] * 1000 + data["track"][:, 0]
    found = {}
    for file, group in (("d.npz", "y+track[0]"), ("d.csv", "label+track")):
        out = tmp_path / file
        found[file] = document(
            "compile", tracks / "tiny.tflite", "--data", tracks / file, "--group", group,
            "--monitor", "softmax,errors", "--out", out,
        )  # fmt: skip
        sides = _sides(out, groups)
        assert sum(map(len, sides)) == len(set.union(*sides)) == 900
        assert sum(found[file]["rows"].values()) == 2700
        counted = found[file]["groups"]
        assert [counted[n] for n in ("fit", "threshold", "test")] == list(map(len, sides))
        assert counted["by"] == group == found[file]["options"]["group"]
        assert 59 <= counted["drawn"] < 180
        assert found[file]["proof"]["mismatches"] == 0
    artifacts = [(tmp_path / file / "monitor.emon").read_bytes() for file in found]
    assert artifacts[0] == artifacts[1]


def test_a_csv_in_groups_is_read_by_all_commands_as_by_compile(
    tracks: Path, tmp_path: Path
) -> None:
    """The column with the groups was taken for a feature by all but compile."""
    with (tracks / "d.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    at = header.index("track")
    tables = {"with": [header], "without": [[c for c in header if c != "track"]]}
    for cells in lines:
        client = [*cells[:at], f"client {cells[-1]}-{cells[at]}", *cells[at + 1 :]]
        tables["with"].append(client)
        tables["without"].append(cells[:at] + cells[at + 1 :])
    for name, rows in tables.items():
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    grouped, plain = tmp_path / "with.csv", tmp_path / "without.csv"
    bundle, model = tmp_path / "b", tracks / "tiny.tflite"
    document("compile", model, "--data", grouped, "--group", "track", "--monitor", "msp_t",
             "--out", bundle)  # fmt: skip
    for command, *options in (
        ("verify",), ("run",), ("bench", "--rounds", "4", "--max-seconds", "0"),
        ("guarantee", "--resplits", "10"),
    ):  # fmt: skip
        results = [edgemon(command, bundle, "--data", f, "--json", *options)
                   for f in (f"{grouped}[:900]", f"{plain}[:900]")]  # fmt: skip
        for result in results:
            assert result.exit_code == 0, (command, result.stderr)
        found = [json.loads(result.stdout) for result in results]
        if command == "guarantee":  # whose file it is makes a difference, and nothing else
            assert [f["own"].pop("same_rows_as_compiled") for f in found] == [True, False]
        if command in ("verify", "run", "guarantee"):
            assert found[0] == found[1]
    # Rows of a table are no images; that there are four features is what matters here.
    assert "shape (20, 4)" in refused("shift", bundle, "--data", grouped, "--images", "20")


def test_the_hint_for_words_names_both_options_where_there_are_both(
    tracks: Path, bundle: Path, tmp_path: Path
) -> None:
    """A column of words was always said to be the label."""
    table = tmp_path / "d.csv"
    table.write_text("a,b,client,c,d,label\n1,2,anna,3,4,0\n1,2,bert,3,5,1\n")
    label = "if one is the label, give --label-column client"
    group = "; if it is the group, --group client"
    says = refused("compile", tracks / "tiny.tflite", "--data", table, "--out", tmp_path / "b")
    assert says.endswith(label + group)
    assert refused("guarantee", bundle, "--data", table).endswith(label + group)
    assert refused("run", bundle, "--data", table).endswith(label)


def test_what_is_promised_is_said_of_groups(tracks: Path, tmp_path: Path) -> None:
    result = edgemon(
        "compile", tracks / "tiny.tflite", "--data", tracks / "d.npz", "--group", "y+track[0]",
        "--monitor", "softmax", "--out", tmp_path / "b", "-v",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "rows of groups by y+track[0]: fit 1,6" in text
    assert "thresholds are set on one right answer of each of 1" in text
    assert "a random right answer of a new group" in text
    assert "in streams of whole groups of at most" in text
    assert "and not of a random row: on the test rows the verdict has" in text
    report = json.loads((tmp_path / "b" / "report.json").read_text())
    assert report["promise"]["rows"] == report["groups"]["drawn"]
    assert "grouped_rows" in {f["kind"] for f in report["findings"]}


def test_one_row_of_each_class_of_a_group_is_not_one_row_of_the_group(
    tracks: Path, tmp_path: Path
) -> None:
    """With --per-class it was said that each group gave one row, and it gave one of each class."""
    with np.load(tracks / "d.npz") as data:
        arrays = {**data, "g": np.arange(len(data["y"])) % 1350}  # most pairs have two classes
    np.savez(tmp_path / "d.npz", **arrays)
    result = edgemon(
        "compile", tracks / "tiny.tflite", "--data", tmp_path / "d.npz", "--group", "g",
        "--per-class", "each", "--monitor", "msp_t", "--out", tmp_path / "b",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    counted = json.loads((tmp_path / "b" / "manifest.json").read_text())["groups"]
    groups, rows = counted["drawn"], counted["drawn_rows"]
    assert groups + 50 < rows <= 2 * groups
    each = f"of each predicted class in each of {groups} groups"
    assert f"one right answer {each}, {rows} in all" in " ".join(result.stdout.split())
    page = " ".join((tmp_path / "b" / "report.html").read_text().split())
    assert f"{rows} held-out right answers, one {each}." in page
    assert "one such row of each predicted class in each test group" in page


def test_rows_without_groups_are_as_before(tiny_data: Path, tmp_path: Path) -> None:
    model = write_tiny(tmp_path / "tiny.tflite")
    found = document("compile", model, "--data", tiny_data, "--monitor", "softmax", "--out",
                     tmp_path / "b")  # fmt: skip
    assert found["groups"] is None
    assert found["options"]["group"] is None


def test_mistakes_about_groups_get_one_sentence(tracks: Path, tmp_path: Path) -> None:
    model, data, out = tracks / "tiny.tflite", f"{tracks / 'd.npz'}", tmp_path / "b"
    for arguments, says in (
        (("--data", data, "--group", "trak"), "there are x, y, track"),
        (("--data", data, "--group", "track"), "choose one, track[0]"),
        (("--data", tracks / "d.csv", "--group", "trak"), "columns: a, b, track, c, d, label"),
        (
            ("--fit", data + "[:900]", "--calibrate", data + "[900:1800]", "--test",
             data + "[1800:]", "--group", "y+track[0]"),
            "which --group forbids",
        ),
        (("--data", data + "[:200]", "--group", "y+track[0]"), "needs 59 groups with correct"),
    ):  # fmt: skip
        assert says in refused("compile", model, *arguments, "--monitor", "softmax", "--out", out)
        assert not out.exists()


def test_a_folder_of_images_has_no_groups(tmp_path: Path) -> None:
    from PIL import Image

    for name in "01":
        (tmp_path / "images" / name).mkdir(parents=True)
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "images" / name / "a.png")
    message = refused(
        "compile", DEMO / "digits_int8.tflite", "--data", tmp_path / "images", "--group", "track",
        "--out", tmp_path / "b",
    )  # fmt: skip
    assert "--group names an array of an .npz or a column of a CSV" in message


def test_groups_of_one_test_row_each(tiny_data: Path, tmp_path: Path) -> None:
    """Where no two test rows are of one group, the report ended in a traceback."""
    with np.load(tiny_data) as data:
        np.savez(tmp_path / "d.npz", x=data["x"], y=data["y"], track=np.arange(len(data["y"])))
    model = write_tiny(tmp_path / "tiny.tflite")
    result = edgemon(
        "compile", model, "--data", tmp_path / "d.npz", "--group", "track", "--monitor", "softmax",
        "--out", tmp_path / "b",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert manifest["groups"]["test"] == manifest["rows"]["test"]
    share = manifest["realised"]["by_row"]["verdict"]["rate"]
    assert f"{share:.2%} false alarms counted by group, {share:.2%} counted by row" in " ".join(
        result.stdout.split()
    )
    assert "On one such row of each test group" in (tmp_path / "b" / "report.html").read_text()
