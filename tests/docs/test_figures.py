"""Every figure in the words of the README, the tutorials, the how-tos and the notebooks is one that
something gives: here stands what. Times that people take are none (``Ten minutes``)."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import edgemon
from edgemon.bench.cli import guarantee
from edgemon.bench.compare.references import UNITS
from edgemon.bench.compare.spec import Case
from edgemon.compiler.augmenting import FEW, MOST_WRONG
from edgemon.compiler.commands.named_monitors import MEMBERS
from edgemon.compiler.errors import (
    BudgetError,
    ChangedError,
    CompileError,
    OtherKeyError,
    ParityError,
    UnmeasuredError,
    UnsignedError,
)
from edgemon.compiler.faults.attacks import SEVERITIES
from edgemon.compiler.faults.registry import FAULTS
from edgemon.compiler.models.decision import OF_LOGIT, OF_PROBABILITY
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.accuracy import TRIED_ON
from edgemon.compiler.report import examples, seen, unusual
from edgemon.compiler.report.pictures import SIDES
from edgemon.runtime.errors import DamagedError
from edgemon.runtime.monitor import MAX_WORK
from edgemon.runtime.preprocess import LARGEST_SIDE
from tests.conftest import DEMO, ROOT
from tests.docs.commands import FENCE

WORDS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
)  # fmt: skip
# Without a second inference; of the early layers, and of what is near a class, a model is read by
# one of two.
ALONE = [set(members) - {"mirror", "subspace", "class_subspace"} for members in MEMBERS.values()]
CELLS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))["cells"]
    for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")
}


def code(notebook: str) -> str:
    return "\n".join(
        "".join(cell["source"]) for cell in CELLS[notebook] if cell["cell_type"] == "code"
    )


def of_code(notebook: str, pattern: str) -> str:
    (found,) = {*re.findall(pattern, code(notebook))}
    return str(found)


def of_page(page: str, pattern: str) -> list[Any]:
    return re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"), re.M)


BAD, MISSED, UNPROVEN, CHANGED, OTHER, UNSIGNED, UNMEASURED, DAMAGED = (
    kind.exit_code
    for kind in (
        CompileError, BudgetError, ParityError, ChangedError, OtherKeyError, UnsignedError,
        UnmeasuredError, DamagedError,
    )
)  # fmt: skip
PROMISE = FalseAlarmPromise()
PERCENT = f"{100 * PROMISE.rate:g} %"
COLUMNS = load_digits().data.shape[1]
RESPLITS = inspect.signature(guarantee).parameters["resplits"].default
((ACCURACY, KILOBYTES),) = of_page(
    "docs/tutorials/pipeline.md", r"^edgemon compile .* --expect-accuracy (\S+) --budget-kb (\S+)"
)
FALLS = of_code("operating_points", r"clean = .*, (\d+)\)")
STEPS = len(of_page("docs/porting.md", r"^[*][*][0-9][.] "))

# By page: sentences, with their figures from where these are decided.
FIGURES: dict[str, list[str]] = {
    "README.md": [
        f"Exit codes: 0 done, {BAD} bad input or usage, {MISSED} a budget missed, {UNPROVEN} the "
        f"proof failed, {UNMEASURED} a budget not measured, {DAMAGED} a damaged bundle or artifact",
        f"{CHANGED} the bundle was changed since it was signed, {OTHER} another key signed it, "
        f"{UNSIGNED} nobody did",
        ", 1 anything else",
        f"{len(FAULTS) + len(SEVERITIES)} kinds of fault",
        f"over {RESPLITS} resplits?",
        f"up to {WORDS[len(ALONE[0])]} cheap signals (`--profile scod` {WORDS[len(ALONE[1])]}",
        f"more than 2^{MAX_WORK.bit_length() - 1} element operations",
        f"decides at {'one half' if OF_PROBABILITY == 0.5 else OF_PROBABILITY}, or at "
        f"{OF_LOGIT:g} where it gives logits",
        f"takes {WORDS[STEPS]} steps",
        f"Of few fit images (no more than {FEW:,}, of which the model has no more than "
        f"{MOST_WRONG:.0%} wrong) `compile` tries".replace("%", " %", 1),
    ],
    "docs/tutorials/image.md": [f"({PERCENT} unless `--false-alarm` says otherwise)"],
    "docs/tutorials/pipeline.md": [
        f"{BAD} says bad input (an accuracy below {100 * float(ACCURACY):g} % too), {MISSED} that "
        f"the monitors take more than {KILOBYTES} kB, {UNPROVEN} that C, NumPy",
        f"Exit code {MISSED}: one is missed",
        f"{UNMEASURED}: one could not be measured",
    ],
    "docs/howto/compare.md": [
        f"how many, {Case.resplits} |",
        f"a network of {UNITS} units",
    ],
    "docs/howto/which_monitor.md": ["about 1 kB of tables"],  # of a bundle, below
    "docs/howto/report.md": [
        f"Of each group {WORDS[examples.EACH]} rows at most",
        f"{SIDES[0]} pixels at most",
        f"take at most {examples.PICTURE_BYTES // 1024} kB",
        f"(below) {seen.PICTURE_BYTES // 1024} kB",
        f"up to {WORDS[unusual.MOST_COLUMNS]} values are named that lie outside the middle "
        f"{100 * (unusual.TAILS[-1] - unusual.TAILS[0]):g} %",
        f"on {TRIED_ON} test rows",
        f"measured over {seen.FEWEST} rows and more",
    ],
    "docs/howto/preprocess.md": [f"at most {LARGEST_SIDE} |"],
    "images": [f"knows 0 to {np.load(DEMO / 'digits.npz')['y'].max()}"],
    "operating_points": [
        f"A promise of 1 % needs {FalseAlarmPromise(0.01).rows_needed()} right rows",
        f"with exit code {MISSED}",
        f"falls after {FALLS} of them",
    ],
    "tabular": [
        f"{COLUMNS} columns of counts, {WORDS[len(load_digits().target_names)]} classes",
        f"with {100 * PROMISE.confidence:g} % confidence",
    ],
}
NAMES = re.compile(  # with digits that are no figures: of things, versions, years, examples
    r"^#+ \d\. |Python 3\.11|ROS 2\b|x86-64|License 2\.0|ITU-R 601|[A-Z]\w+ 20\d\d|; k = 1\)"
    r"|vectors of length 1 |\"label 250 of them\"|or 1 kB is all there is",
    re.M,
)
CODE = re.compile(r"<!--.*?-->|`[^`]*`|\]\([^)]*\)")
ASIDE = re.compile(r"^edgemon .* {3,}(?!BUNDLE|MODEL)(\S.*)$", re.M)


def words(page: str) -> str:
    """What a page says, without blocks of code; of lists of commands what stands beside them."""
    if page in CELLS:
        text = "\n\n".join(
            "".join(cell["source"]) for cell in CELLS[page] if cell["cell_type"] == "markdown"
        )
    else:
        text = (ROOT / page).read_text(encoding="utf-8")
    return FENCE.sub(lambda block: "\n".join(ASIDE.findall(block[0])), text)


def unexplained(text: str, sentences: list[str]) -> list[str]:
    """Figures of a text that stand in none of the sentences."""
    rest = NAMES.sub("", text)
    for sentence in sentences:
        rest = re.sub(r"\s+".join(map(re.escape, sentence.split())), "", rest)
    return re.findall(r"(?<![\w.+-])\d[\d.,^]*.{0,20}", CODE.sub("", rest))


PAGES = sorted(
    {
        "README.md",
        *CELLS,
        *(
            path.relative_to(ROOT).as_posix()
            for folder in ("tutorials", "howto")
            for path in (ROOT / "docs" / folder).glob("*.md")
        ),
    }
)


@pytest.mark.parametrize("page", PAGES)
def test_figures_are_what_something_gives(page: str) -> None:
    text = " ".join(words(page).split())
    stale = [sentence for sentence in FIGURES.get(page, []) if sentence not in text]
    assert stale == [], "the page says otherwise"


@pytest.mark.parametrize("page", PAGES)
def test_no_figure_stands_without_what_gives_it(page: str) -> None:
    assert unexplained(words(page), FIGURES.get(page, [])) == [], "state in FIGURES what gives it"


def test_a_figure_that_nothing_gives_is_found() -> None:
    text = "## 1. First\n\nIt takes 5 % of `9` and\n12 kB, on x86-64 with int8."
    assert [f[:2] for f in unexplained(text, ["takes 5 % of"])] == ["12"]
    assert [f[:2] for f in unexplained(text, ["takes 6 % of"])] == ["5 ", "12"]


def test_about_a_kilobyte_is_what_the_smallest_monitor_takes() -> None:
    with np.load(DEMO / "digits.npz") as found, warnings.catch_warnings():
        warnings.simplefilter("ignore", edgemon.EdgemonWarning)
        bundle = edgemon.compile(
            DEMO / "digits_int8.tflite", found["x"], found["y"], monitor="msp_t",
            drift_run_length=0, target="host-x86_64-builtin",
        )  # fmt: skip
    assert "about 1 kB of tables, under a microsecond" in words("docs/howto/which_monitor.md")
    assert round(bundle.manifest["bytes"]["monitors"] / 1024) == 1
    assert bundle.manifest["estimated_us"] < 1
