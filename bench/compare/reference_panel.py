"""References on the splits of a panel, judged as its monitors are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgemon.bench.compare.judges import Scores
from edgemon.bench.compare.measures import Numbers, measure
from edgemon.bench.compare.panel import Document, Indices, Panel
from edgemon.bench.compare.read_by_references import Reads, blocks_json
from edgemon.bench.compare.references import REFERENCES, TOGETHER, ReferenceScores

TOO_FEW = "the calibration rows of a split are too few to learn from half of them"


def judge_references(panel: Panel, reads: Reads, names: Sequence[str]) -> dict[str, Any]:
    """What they ``read``, and ``references``: numbers of each, or why it is left out. Neither bytes
    nor times: nothing of them ships."""
    if not names:
        return {"references": [], "references_read": []}
    alone = [name for name in names if name != TOGETHER]
    rows, seed = panel.rows, panel.options.seed
    found = ReferenceScores.of(rows, reads, alone, seed)
    judged: dict[str, Document] = {name: {"left_out": why} for name, why in found.left_out.items()}
    for name, scores in found.scores.items():
        numbers = [_measured(panel, scores, s.calibration, s.test) for s in panel.splits]
        judged[name] = {
            "what": REFERENCES[name].what, "reads": REFERENCES[name].reads,
            **panel.quality(scores, numbers),
        }  # fmt: skip
    if TOGETHER in names:
        judged[TOGETHER] = _together(panel, found)
    return {
        "references": [{"reference": name, **judged[name]} for name in names],
        "references_read": blocks_json(reads.blocks(rows.fit.taps, rows.logits)),
    }


def _together(panel: Panel, found: ReferenceScores) -> Document:
    if not panel.learns_from_calibration:
        return {"left_out": TOO_FEW}
    numbers: list[Numbers] = []
    for split in reversed(panel.splits):  # so that the scores of the first are known at the end
        calibration, learn = panel.halves(split, panel.options.seed)
        scores = found.together(panel.wrong, learn)
        numbers.append(_measured(panel, scores, calibration, split.test))
    return {
        "what": "the others and the softmax, weighed by logistic regression of errors",
        "reads": ", ".join(["softmax", *found.scores]),
        **panel.quality(scores, numbers[::-1]),
    }


def _measured(panel: Panel, scores: Scores, calibration: Indices, test: Indices) -> Numbers:
    return measure(
        scores, scores, panel.wrong, calibration, test, None, panel.options.target
    )  # fmt: skip
