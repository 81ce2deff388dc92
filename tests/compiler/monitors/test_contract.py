"""One contract for all monitors: scikit-learn's, the program's, and the proof's."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from edgemon.compiler import fitting
from edgemon.compiler.checks import check_monitor
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.errors import CompileError
from edgemon.compiler.lessons import Lessons
from edgemon.compiler.monitors import MONITORS, MonitorEstimator, parse
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.monitors.output_scores import OUTPUT_SCORES
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.recording import Recording
from tests.compiler.recordings import CLASSES, WIDTH, recorded_splits

TAPS = {
    **dict.fromkeys((m.kind for m in OUTPUT_SCORES), ("logits",)),
    **dict.fromkeys(("second_opinion", "mahalanobis_gap", "rmds"), ("features",)),
    **dict.fromkeys(("prototypes", "prototype_odds", "density"), ("features",)),
    **dict.fromkeys(("subspace", "class_subspace"), ("features",)),
    **dict.fromkeys(("errors", "scod"), ("features", "logits")),
    "odin": ("logits@odin",),
    "alocc": ("features", "features@companion"),
    "mirror": ("features", "features@mirror"),
    "fdbd": ("features", "logits"),
    "react": ("features", "logits"),
    "forest": ("features", "logits"),
    "boosted_opinion": ("features", "logits"),
    "box": ("features",),
    "deepinfer": ("features",),
    "pattern": ("features",),
    "prophecy": ("features", "logits", "output"),
    "selfchecker": ("features", "logits"),
}
# These bring thresholds of their own; the others' are calibrated.
OWN_RULE = {
    "boosted_opinion", "box", "deepinfer", "forest", "mahalanobis_gap", "mirror", "pattern",
    "prophecy", "second_opinion", "selfchecker",
}  # fmt: skip
# deepinfer by its own nature; the others see novelty, not errors: see docs/monitors.md.
WITHOUT_SIGNAL = {"deepinfer", "density", "prototypes", "subspace", "class_subspace"}
Parts = Splits[Recording]


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return recorded_splits(tmp_path_factory.mktemp("recordings"), "int8", 900)


@pytest.fixture(params=sorted(MONITORS))
def estimator(request: pytest.FixtureRequest) -> MonitorEstimator:
    found = MONITORS[request.param](taps=TAPS[request.param])
    if request.param == "deepinfer":
        rng = np.random.default_rng(1)
        shapes = ((WIDTH, 8, "relu"), (8, CLASSES, "softmax"))
        layers = [(rng.normal(0, 1, (n, k)), rng.normal(0, 1, k), a) for n, k, a in shapes]
        found.set_params(layers=tuple(layers))
    if request.param == "boosted_opinion":
        found.set_params(trees=20)  # a fifth of the default: each of its fits is six
    if found.learns_from_held_out:
        signals = ("msp_t", "second_opinion", "prototype_odds", "forest")
        found.set_params(signals=tuple(MONITORS[n](taps=TAPS[n]) for n in signals))
    if request.param == "scod":
        novelty = ("fdbd", "density")
        found.set_params(novelty=tuple(MONITORS[n](taps=TAPS[n]) for n in novelty))
    return found


def test_every_monitor_is_under_contract() -> None:
    assert TAPS.keys() == MONITORS.keys()


def test_it_keeps_the_contract(estimator: MonitorEstimator) -> None:
    check_monitor(estimator, sees_errors=estimator.kind not in WITHOUT_SIGNAL)


def test_whose_threshold_is_the_methods_own(estimator: MonitorEstimator, splits: Parts) -> None:
    estimator.fit(splits.fit)
    if estimator.learns_from_held_out:
        fitting.combine(estimator, "output", Lessons(splits.fit, splits.threshold))
    (score,) = lowered([estimator], splits.fit.taps, "output").scores
    assert (score.alarm_above is not None) == (estimator.kind in OWN_RULE)


def test_shared_nodes_are_shared(splits: Parts) -> None:
    both = [MONITORS[n](taps=("logits",)) for n in ("softmax", "entropy")]
    fitted = fitting.fit_monitors(both, "output", splits, FalseAlarmPromise())
    assert sum(n.op == "sub" and n.value.length > 1 for n in fitted.program.nodes) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name each monitor once"),
        ("softmax,softmax", "name each monitor once"),
        ("sofmax", r"unknown monitor 'sofmax'; did you mean 'softmax'\? There are auto, softmax"),
        ("box:gama=1", r"unknown setting 'gama=1'; did you mean 'gamma'\? It has gamma, tau"),
        ("pattern:head=1", "unknown setting 'head=1'; it has threshold"),
        ("errors:unavailable=1", "unknown setting 'unavailable=1'; it has novelty_weight"),
        ("box:gamma=wide", "gamma='wide' is not a number"),
        ("box:projection=umap", "projection='umap' is unknown; use none, simple, pca, isomap"),
        ("prophecy:on_off=0", "on_off='0' is not yes or no"),
        ("auto:seed=1:seed=2", "errors: the setting seed is given twice"),
        ("auto:mirror=yes:mirror=no", "errors: the setting mirror is given twice"),
    ],
)
def test_bad_monitor_lists_are_refused(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        parse(text)


def test_settings_are_parsed_with_their_types() -> None:
    box, gen = parse("box:gamma=0.35:max_clusters=3, gen:gamma=0.2")
    assert box.get_params()["gamma"] == 0.35
    assert box.get_params()["max_clusters"] == 3
    (prophecy,) = parse("prophecy:on_off=yes:prune=no")
    assert prophecy.get_params()["on_off"] is True
    assert prophecy.get_params()["prune"] is False
    assert gen.get_params()["gamma"] == 0.2
    off, on = parse("errors,scod:mirror=on")
    assert (off.get_params()["mirror"], on.get_params()["mirror"]) == (False, True)


def test_the_mirror_flag_is_for_the_fusion_of_the_profile() -> None:
    (both,) = parse("auto:budget_kb=8", profile="scod", mirror=True)
    assert (both.kind, both.get_params()["budget_kb"]) == ("scod", 8)
    assert both.get_params()["mirror"] is True
    with pytest.raises(CompileError, match="--mirror goes with --monitor auto, not with 'errors'"):
        parse("errors", mirror=True)


@pytest.mark.parametrize("text", ["auto:mirror=no", "softmax, auto:budget_kb=8:mirror=yes"])
def test_a_setting_that_the_mirror_flag_overruled_is_refused(text: str) -> None:
    message = "--mirror says that the fusion may read .* and so does the setting mirror: give one"
    with pytest.raises(CompileError, match=message):
        parse(text, mirror=True)
    assert parse(text)


@pytest.mark.parametrize(
    "kind", [n for n, m in MONITORS.items() if "seed" in inspect.signature(m).parameters]
)
@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_no_generator_takes_is_no_internal_error(kind: str, seed: int) -> None:
    with pytest.raises(CompileError, match=f"seed={seed} must lie between 0 and 4294967295"):
        parse(f"{kind}:seed={seed}")
    assert parse(f"{kind}:seed={2**32 - 1}")


def test_mirror_without_a_mirrored_layer_is_refused(splits: Parts) -> None:
    with pytest.raises(CompileError, match="--taps mirror=logits"):
        MONITORS["mirror"](taps=("features", "logits")).fit(splits.fit)


def test_a_mirrored_layer_tells_what_the_layer_alone_does_not(splits: Parts) -> None:
    """Its noise is another one, so that two inferences know more than one."""
    pair = [MONITORS["mirror"](taps=TAPS["mirror"]), MONITORS["second_opinion"](taps=("features",))]
    fitted = fitting.fit_monitors(pair, "output", splits, FalseAlarmPromise())
    both, one = (judge.quality.auroc for judge in fitted.judges)
    assert both is not None
    assert one is not None
    assert 1 - both < (1 - one) / 2
