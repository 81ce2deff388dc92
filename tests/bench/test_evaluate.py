"""``edgemon evaluate``: files of any kind in, metrics or one sentence out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from edgemon.bench import verdicts
from edgemon.bench.errors import BenchError
from edgemon.bench.evaluate import evaluate_files
from edgemon.runtime.evaluation import Verdict
from tests.command_line import document, edgemon, refused

HEADER = "row,label,prediction,verdict,score\n"
ROWS = "0,1,1,trust,0.1\n1,1,0,alarm,0.9\n2,0,0,uncertain,0.6\n3,0,1,trust,0.2\n"


def _file(folder: Path, content: str | bytes, name: str = "v.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_csv_counts_uncertain_as_alarm(tmp_path: Path) -> None:
    found = document("evaluate", _file(tmp_path, HEADER + ROWS))
    (monitor,) = found["monitors"]
    assert monitor["confusion"] == {"tp": 1, "fp": 1, "tn": 1, "fn": 1}
    assert (monitor["mcc"], monitor["auroc"]) == (0.0, 0.75)
    assert monitor["verdicts"] == {"trust": 2, "uncertain": 1, "alarm": 1, "fault": 0}
    assert monitor["risk_coverage"][-1] == [1.0, 0.5]
    assert found["constant_predictors"] == []


def test_right_answers_and_false_alarms_at_95_percent_caught_are_shown(tmp_path: Path) -> None:
    path = _file(tmp_path, HEADER + ROWS)
    (monitor,) = document("evaluate", path)["monitors"]
    assert monitor["fpr_at_95_tpr"] == 0.5  # at the score 0.2, which 0.6 is above
    assert monitor["aupr_right"] == pytest.approx((1 + 2 / 3) / 2)
    shown = edgemon("evaluate", path).stdout
    for heading in ("AUPR, wrong", "AUPR, right", "false alarms at 95 % caught"):
        assert heading in shown


def test_json_lines_of_run_with_a_fault_and_two_monitors(tmp_path: Path) -> None:
    rows = [
        {"prediction": "cat", "verdict": "alarm", "score": 2, "correct": False,
         "monitors": {"a": "alarm", "b": "trust"}},
        {"prediction": "dog", "verdict": "fault", "score": None, "correct": False,
         "monitors": {"a": "fault", "b": "fault"}},
        {"prediction": "dog", "verdict": "trust", "score": 1, "correct": True,
         "monitors": {"a": "trust", "b": "trust"}},
    ]  # fmt: skip
    path = _file(tmp_path, "\n".join(json.dumps(r) for r in rows), "run.jsonl")
    found = {m["name"]: m for m in evaluate_files([path])["monitors"]}
    assert list(found) == ["run", "run: a", "run: b"]
    assert found["run"]["auroc"] == 1.0
    assert found["run: b"]["confusion"] == {"tp": 1, "fp": 0, "tn": 1, "fn": 1}
    assert found["run: b"]["auroc"] is None


def test_output_of_run_is_accepted(bundle: Path, tiny_data: Path, tmp_path: Path) -> None:
    lines = edgemon("run", bundle, "--data", f"{tiny_data}[0:200]", "--json-lines").stdout
    (monitor,) = document("evaluate", _file(tmp_path, lines, "run.jsonl"))["monitors"]
    assert monitor["rows"] == 200
    assert monitor["auroc"] > 0.5


def test_constant_predictors_are_apart_and_names_tell_files_apart(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    same = _file(tmp_path / "a", HEADER + "0,1,1,trust,1\n1,0,1,alarm,2\n")
    found = evaluate_files([same, _file(tmp_path, HEADER + ROWS)])
    assert [m["name"] for m in found["constant_predictors"]] == ["a/v"]
    shown = edgemon("evaluate", same)
    assert "constant predictors" in shown.stdout


def test_writes_what_it_reads(tmp_path: Path) -> None:
    verdict = np.array([Verdict.TRUST, Verdict.ALARM, Verdict.UNCERTAIN], np.uint8)
    labels, predicted = np.array([1, 2, 0]), np.array([1, 0, 0])
    verdicts.write(tmp_path / "v.csv", labels, predicted, verdict, np.array([0.1, 0.5, 0.2]))
    (found,) = verdicts.read(tmp_path / "v.csv")
    assert found.verdict.tolist() == verdict.tolist()
    assert found.wrong.tolist() == [False, True, False]
    assert found.score is not None
    assert found.score.tolist() == [0.1, 0.5, 0.2]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        (HEADER, "holds no verdict"),
        ("a,b\n1,2\n", "no column 'verdict'"),
        (HEADER + "0,1,1,trust\n", "line 2 does not have 5 columns"),
        (HEADER + "0,1,1,maybe,1\n", "line 2: unknown verdict 'maybe'"),
        (HEADER + "0,1,,trust,1\n", "line 2 tells neither"),
        (HEADER + "0,1,1,trust,high\n", "line 2: the score 'high'"),
        ("correct,verdict\nperhaps,trust\n", "line 2: correct is 'perhaps'"),
        ('{"verdict": "trust"}\n', "line 1 tells neither"),
        ('{"verdict": "trust", "correct": true}\n[1]\n', "line 2 is not a JSON object"),
        ('{"correct": true}\n', "line 1 has no 'verdict'"),
        (
            '{"verdict": "trust", "correct": true, "monitors": {"a": "trust", "b": "trust"}}\n'
            '{"verdict": "trust", "correct": true, "monitors": 3}\n',
            "line 2: unknown verdict None",
        ),
        (b"\xff\xfe\x00\x01", "not text in UTF-8"),
    ],
)
def test_bad_files_are_one_sentence(content: str | bytes, sentence: str, tmp_path: Path) -> None:
    path = _file(tmp_path, content)
    assert sentence in refused("evaluate", path)
    with pytest.raises(BenchError, match=path.name):
        verdicts.read(path)


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    assert "No such file" in refused("evaluate", tmp_path / "none.csv")
