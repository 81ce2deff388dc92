from __future__ import annotations

import numpy as np

from edgemon.compiler.monitors.shared.vectors import log_odds_against
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap


def test_log_odds_against_the_answer_of_one_output_unit() -> None:
    """Which is an ``exceeds`` node: of two classes, the other one speaks against it."""
    b = Builder([Tap("scores", "float32", 2), Tap("unit", "float32", 1)], real=True)
    predicted = b.node("exceeds", 1, tables=[np.zeros(1)])
    score = log_odds_against(b, 0, predicted)
    program = b.program(predicted, [Monitor("m", score, 0.0, 0.0)])
    scores = np.random.default_rng(0).normal(0, 3, (40, 2))
    unit = np.random.default_rng(1).normal(0, 1, (40, 1))
    found = reference.run_real(program, [scores, unit])[score][:, 0]
    other = (unit[:, 0] <= 0).astype(int)
    expected = scores[np.arange(40), other] - scores[np.arange(40), 1 - other]
    np.testing.assert_allclose(found, expected, atol=1e-12)
