"""A mistyped argument is answered before anything heavy is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edgemon.bench.replicate.tools import METHODS
from edgemon.bench.robustness.together import COMBINERS
from edgemon.compiler.commands import named_monitors
from edgemon.compiler.commands.named_monitors import (
    MEMBERS,
    NO_LAYERS,
    SETTINGS,
    YES_NO,
    Number,
    Setting,
    require_monitors,
    require_taps,
)
from edgemon.compiler.commands.typed import CHECKS, WORDS
from edgemon.compiler.data.classes import ORDERS
from edgemon.compiler.data.images import EXIF
from edgemon.compiler.data.repeats import POLICIES
from edgemon.compiler.data.splits import SHARING
from edgemon.compiler.errors import CompileError
from edgemon.compiler.estimation.asking import WAYS
from edgemon.compiler.models import open_model
from edgemon.compiler.models.front_ends import CONVERSIONS
from edgemon.compiler.monitors import AUTO, MONITORS, PROFILES, MonitorEstimator, parse, registry
from edgemon.compiler.monitors.estimator import SEEDS
from edgemon.compiler.options import RULES
from edgemon.compiler.promise.thresholds import PER_CLASS, WHOSE
from edgemon.compiler.statistics.trust import PRIORS, SCENARIOS
from edgemon.compiler.trust.document import figures
from edgemon.compiler.trust.requirements import OF_TRUST
from tests.command_line import DATA, MODEL

LONGEST_S = 0.5
COMPILE = ("compile", MODEL, "--data", DATA, "--out", "never")


def declared(monitor: type[MonitorEstimator]) -> dict[str, Setting]:
    """The settings of a monitor, as it declares them itself."""
    limits = {**monitor.limits, "seed": SEEDS}
    return {
        name: YES_NO if isinstance(default, bool)
        else monitor.choices[name] if isinstance(default, str)
        else Number(type(default), *limits[name])
        for name, default in registry.settings(monitor).items()
    }  # fmt: skip


def test_settings_are_those_of_the_monitors() -> None:
    found = {name: declared(monitor) for name, monitor in MONITORS.items()}
    assert found == SETTINGS, "state them in compiler/commands/named_monitors.py"
    assert named_monitors.AUTO == AUTO
    assert set(PROFILES) == set(MEMBERS)
    assert {n for n, m in MONITORS.items() if not m.reads_layers} == {*NO_LAYERS}


def test_members_are_those_of_the_fusions(tmp_path: Path) -> None:
    model = open_model(Path(MODEL), tmp_path)
    for profile in PROFILES:
        (fusion,) = parse(AUTO, profile=profile, mirror=True)
        fusion.set_params(**fusion.analyse(model).parameters)
        found = {member.kind for member in fusion.members}
        either = {"density", "subspace"} & {*MEMBERS[profile]}  # as the model is deep
        pixels = {"class_subspace"} & found  # of a shallow one that reads an image
        assert (
            found == {*MEMBERS[profile]} - either - {"class_subspace"} | (found & either) | pixels
        )
        assert len(found & either) == (profile == "scod")


@pytest.mark.parametrize(
    "text",
    [
        "softmx", "softmax:", "box:gama=1", "box:gamma", "box:gamma=x", "box:gamma=-5",
        "box:gamma=nan", "box:gamma=1:gamma=2", "forest:trees=1.5", "forest:trees=0",
        "react:score=mpx", "prophecy:prune=maybe", "deepinfer:comparator==", "box,box", "", ",",
        "auto,errors", "errors:budget_kb=-1", "auto:budget_us=1e9", "auto:seed=-1",
    ],
)  # fmt: skip
def test_what_is_said_early_is_what_the_monitors_would_say(text: str) -> None:
    with pytest.raises(CompileError) as early:
        require_monitors(text)
    with pytest.raises(CompileError) as late:
        parse(text)
    assert str(early.value) == str(late.value)


def test_what_is_right_is_not_refused_early() -> None:
    for name, settings in SETTINGS.items():
        given = "".join(
            f":{key}={wanted.least:g}" if isinstance(wanted, Number) else f":{key}={wanted[0]}"
            for key, wanted in settings.items()
        )
        assert require_monitors(name + given) == [name]
        assert parse(name + given)
    companion = Path("c.tflite")
    require_taps("box=gap,penultimate@mirror,output@companion", ["box", "errors"], companion)
    require_taps("nobody=gap", ["of_a_package"], None)  # the package may call its members so


MISTAKES: list[tuple[tuple[str | Path, ...], str]] = [
    ((*COMPILE, "--monitor", "softmx"), "did you mean 'softmax'?"),
    ((*COMPILE, "--nosuch"), "--nosuch"),
    (("compile", "none.onnx", "--data", DATA, "--out", "never"), "none.onnx: does not exist"),
    ((*COMPILE, "--monitor", "box:gama=1"), "unknown setting 'gama=1'; did you mean 'gamma'?"),
    ((*COMPILE, "--monitor", "auto:budgetkb=1"), "did you mean 'budget_kb'?"),
    ((*COMPILE, "--monitor", "box:gamma=x"), "--monitor box: gamma='x' is not a number"),
    ((*COMPILE, "--monitor", "box:gamma=-1"), "gamma=-1.0 must lie between 0 and 100"),
    ((*COMPILE, "--monitor", "react:score=mps"), "score='mps' is unknown; use energy, msp"),
    ((*COMPILE, "--monitor", "box", "--mirror"), "--mirror goes with --monitor auto"),
    ((*COMPILE, "--taps", "forst=gap"), "'forst' is not among the monitors; did you mean 'forest'"),
    ((*COMPILE, "--taps", "errors=gap"), "write SIGNAL=gap, SIGNAL one of msp_t, second_opinion"),
    ((*COMPILE, "--taps", "auto=gap"), "'auto' is a fusion, and only its signals read taps"),
    ((*COMPILE, "--workers", "0"), "--workers"),
    ((*COMPILE, "--monitor", "msp_t", "--taps", "gap"), "write msp_t=gap"),
    ((*COMPILE, "--taps", "output@companion"), "give its file with --companion"),
    ((*COMPILE, "--taps", "logits@odin"), "name the monitor odin as well"),
    ((*COMPILE, "--monitor", "alocc"), "give its file with --companion"),
    ((*COMPILE, "--guard", "noize"), "no property 'noize'; did you mean 'noise'?"),
    ((*COMPILE, "--guard", "fog=9"), "--guard fog=9: write a value or FIRST:LAST, from 1 to 5"),
    ((*COMPILE, "--companion", "no.tflite"), "--companion no.tflite: cannot be read"),
    ((*COMPILE, "--float-model", "no.tflite"), "--float-model no.tflite: cannot be read"),
    ((*COMPILE, "--input", "x"), "--input x: write NAME=FILE.npy"),
    ((*COMPILE, "--classes", "a,a"), "'a' is there twice"),
    ((*COMPILE, "--decision-threshold", "nan"), "give a finite number"),
    ((*COMPILE, "--exif", "aply"), "use ignore or apply; did you mean 'apply'?"),
    ((*COMPILE, "--shared-rows", "kep"), "did you mean 'keep'?"),
    ((*COMPILE, "--repeats", "x"), "--repeats x: use keep or group"),
    ((*COMPILE, "--convert", "int4"), "--convert int4: use float or int8"),
    ((*COMPILE, "--promise", "verdicts"), "did you mean 'verdict'?"),
    ((*COMPILE, "--certify-kernels", "xnnpak"), "--certify-kernels xnnpak: use xnnpack"),
    ((*COMPILE, "--budget-kb", "-1"), "--budget-kb -1: must lie between"),
    ((*COMPILE, "--budget-us", "5", "--target", "cortex-m4f"), "has no [nanoseconds]"),
    ((*COMPILE, "--expect-accuracy", "85"), "--expect-accuracy 85: give a share"),
    ((*COMPILE, "--false-alarm", "5"), "--false-alarm 5.0: must lie between 0 and 1"),
    ((*COMPILE, "--miss-rate", "0.2", "--false-alarm", "0.1"), "are two promises"),
    ((*COMPILE, "--drift-run-length", "-1"), "--drift-run-length -1: give images from 1"),
    ((*COMPILE, "--baseline", "docs"), "--baseline docs: is not an edgemon bundle"),
    ((*COMPILE, "--require", "cought>=1"), "did you mean 'caught'?"),
    (("compile", MODEL, "--data", f"{DATA}[5:2]", "--out", "never"), "has no rows in this range"),
    (("compile", MODEL, "--data", "README.md", "--out", "never"), "is not data that edgemon can"),
    (("compile", "README.md", "--data", DATA, "--out", "never"), "is not a model that edgemon can"),
    (("inspect", "docs"), "docs: not an edgemon bundle (no monitor.emon in it)"),
    (("verify", "docs"), "docs: not an edgemon bundle (no monitor.emon in it)"),
    (("bench", "--budgets", "none.toml"), "--budgets none.toml: cannot be read"),
    (("bench", "--html", "none/page.html"), "there is no folder none"),
    (("trust", MODEL, "--data", DATA, "--scenario", "x"), "use true or predicted"),
    (("trust", MODEL, "--data", DATA, "--alpha", "-1"), "--alpha -1: give a positive number"),
    (("trust", MODEL, "--data", DATA, "--require", "net_trsut>=1"), "did you mean 'net_trust'?"),
    (("robustness", MODEL, "--data", DATA, "--properties", "x"), "there is no property 'x'"),
    (("robustness", MODEL, "--data", DATA, "--combine", "sum"), "--combine sum: use add or"),
    (("robustness", MODEL, "--data", DATA, "--require", "robust(fog=3)>=1"), "is not measured"),
    (("inspect", MODEL, "--input", "x"), "--input x: write NAME=FILE.npy"),
    (("compare", "bench/compare/cifar10.toml", "--root", "none"), "--root none: is not a folder"),
    (("robustness", MODEL, "--data", DATA, "--resume", MODEL), "is not a folder"),
    (("class-sweep", "--classes", "1"), "give numbers from 2 to 10000"),
    (("op-bounds", "--target", "cortexm4f"), "did you mean 'cortex-m4f'?"),
    (("fleet", "none"), "none: no such file or folder"),
    (("compare", "README.md"), "README.md: is not TOML"),
    (("compare", "bench/compare/cifar10.toml", "--scheduler", "tcp://x"), "needs --store FOLDER"),
    (("replicate", "bench/replicate/trustdnn.toml", "--out", "n", "--chart", "sgv"), "'svg'?"),
    (("density-curve", MODEL, "--fit", DATA, "--test", DATA, "--rule", "most"), "--rule most: use"),
    ((*COMPILE, "--profile", "scood"), "--profile scood: use errors or scod"),
    ((*COMPILE, "--thresholds", "own"), "--thresholds own: use guaranteed or method"),
    ((*COMPILE, "--target", "cortexm4f"), "did you mean 'cortex-m4f'?"),
    ((*COMPILE, "--preprocess", "scal=2"), "'scal=2' is not understood"),
    (("compile", MODEL, "--data", "none.npz", "--out", "never"), "none.npz: no such file"),
    (("compile", MODEL, "--out", "never"), "give either --data, or all of"),
    (("compile", MODEL, "--data", DATA, "--out", "docs"), "docs exists; choose another"),
    (("run", "never", "--data", DATA), "never: does not exist"),
    (("verify", "never"), "never: does not exist"),
    (("bench", "never", "--data", DATA), "never: does not exist"),
    (("trust", "never", "--data", DATA), "never: does not exist"),
    (("robustness", "never", "--data", DATA), "never: does not exist"),
    (("guarantee", "never", "--data", DATA), "never: does not exist"),
    (("accuracy", "fit", "never", "--data", DATA), "never: does not exist"),
    ((*COMPILE, "--label-order", "numric"), "use numeric or string; did you mean 'numeric'?"),
    ((*COMPILE, "--per-class", "eech"), "--per-class eech: use each or every"),
    (("target", "check", "cortexm4f", "never"), "did you mean 'cortex-m4f'?"),
    (("compare", "none.toml"), "none.toml: cannot be read"),
    (("inspect", "none.onnx"), "none.onnx: does not exist"),
]
CODE = """
import contextlib, io, json, sys
from edgemon.compiler.commands.root import app
HEAVY = ("sklearn", "scipy.stats", "scipy.ndimage", "onnx", "onnxruntime")
for arguments in json.load(sys.stdin):
    said, code = io.StringIO(), None
    with contextlib.redirect_stderr(said):
        try:
            app(arguments)
        except SystemExit as stop:
            code = stop.code
    heavy = sorted({*HEAVY} & set(sys.modules))
    print(json.dumps([code, said.getvalue(), heavy]))
"""


def test_mistakes_are_answered_without_heavy_imports() -> None:
    """All in one process, whose modules stay: what one imports, the next ones show too."""
    given = json.dumps([[str(a) for a in arguments] for arguments, _ in MISTAKES])
    done = subprocess.run(
        [sys.executable, "-c", CODE], input=given, capture_output=True, text=True, check=False
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(MISTAKES), done.stderr
    for (arguments, says), (code, said, heavy) in zip(MISTAKES, answers, strict=True):
        assert says in said, arguments
        assert (code, heavy) == (2, []), arguments


@pytest.mark.parametrize(
    "mistake",
    [
        ("--monitor", "softmx"), ("--monitor", "box:gamma=x"), ("--guard", "noize"),
        ("--certify-kernels", "x"), ("--budget-us", "5", "--target", "cortex-m4f"),
    ],
    ids=lambda mistake: mistake[0],
)  # fmt: skip
def test_an_answer_takes_less_than_half_a_second(mistake: tuple[str, ...]) -> None:
    """Of CPU, with the interpreter's start; one of several answers, for others take the machine's
    caches away."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)\n"
        "print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]))"
    )
    command = [sys.executable, "-m", "edgemon", *COMPILE, *mistake]
    answers = (
        subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True,
                       check=True)
        for _ in range(8)
    )  # fmt: skip
    took = []
    for answer in answers:
        took.append(float(answer.stdout))
        if took[-1] < LONGEST_S:
            return
    pytest.fail(f"CPU seconds: {took}")


def test_words_are_those_that_the_commands_know() -> None:
    assert {
        "label_order": ORDERS, "scenario": SCENARIOS, "prior": PRIORS, "choose": WAYS,
        "combine": tuple(sorted(COMBINERS)), "rule": MONITORS["selfchecker"].choices["rule"],
        "exif": EXIF, "shared_rows": SHARING, "repeats": POLICIES, "thresholds": RULES,
        "convert": CONVERSIONS, "promise": WHOSE, "per_class": PER_CLASS, "profile": PROFILES,
        "chart": ("svg", "png"),
    } == WORDS  # fmt: skip
    methods = CHECKS["methods"]
    for method in METHODS:
        methods("--methods", method)
    with pytest.raises(CompileError):
        methods("--methods", "oracle")
    measured = dict.fromkeys(
        ("net_trust_score", "accuracy", "expected_calibration_error", "brier"), 0.5
    )
    described = {**measured, "spectrum": [{"trust": 1.0}], "monitored": {"net_trust_score": 1.0}}
    assert tuple(figures(described)) == OF_TRUST
