"""The document ``report.json``: each field with its meaning and unit.

The comment above or beside a field is what docs/documents.md says of it.
"""

from typing import Literal, TypedDict

from edgemon.compiler.documents import asked, manifest, measured, monitors, shown
from edgemon.compiler.documents.measured import Interval

ANSWERS: tuple[Literal["right"], Literal["wrong"]] = ("right", "wrong")


class Tap(TypedDict):
    """A tensor that monitors read."""

    name: str  # of the tensor
    dtype: str  # of its codes
    length: int  # values of an image
    view: str  # the inference that gives it: "plain", "mirror" (of the mirrored image), ...


class ReportedModel(asked.Model):
    """The model, and how monitors see it."""

    classes: int  # how many
    labels: list[str]  # of the classes, in the model's order
    kernels: str  # the kernel set that runs it
    target: str  # name of the target's profile
    taps: list[Tap]


class Split(TypedDict):
    """Rows of one purpose, without those that give a NaN or an infinity."""

    rows: int  # how many
    wrong: int  # rows on which the model is wrong
    groups: int | None  # null where rows come by themselves


class SplitsReport(TypedDict):
    """Rows by purpose."""

    fit: Split  # that monitors learned from
    threshold: Split  # that thresholds were set on
    test: Split  # that everything is measured on


class PromiseReport(TypedDict):
    """What thresholds from held-out rows guarantee."""

    monitors: list[str]  # whose thresholds are part of the promise
    of: str  # "false alarms" or "misses"
    answers: str  # that it concerns: "right" or "wrong"
    rate: float  # share of those answers, at most
    confidence: float  # probability that the promise holds
    per_class: str  # "", "each" or "every"
    whose: str  # "verdict" of the monitors together, or each "monitor" by itself
    rows: int  # that thresholds were set on
    realised: measured.Realised


class Confusion(TypedDict):
    """Test rows; positive: the model is wrong."""

    tp: int  # alarm, wrong
    fp: int  # alarm, right
    tn: int  # no alarm, right
    fn: int  # no alarm, wrong


class BareMetrics(TypedDict):
    """Metrics as ``statistics.metrics`` has them. null: undefined; intervals are of 95 %."""

    rows: int  # test rows
    wrong: int  # rows on which the model is wrong
    confusion: Confusion
    tpr: float | None  # share of the wrong answers that alarm
    tpr_interval: Interval | None
    fpr: float | None  # share of the right answers that alarm
    fpr_interval: Interval | None
    precision: float | None  # share of the alarms that are on wrong answers
    precision_interval: Interval | None
    f1: float | None  # harmonic mean of precision and tpr
    mcc: float | None  # Matthews correlation, from -1 to 1
    mcc_interval: Interval | None
    auroc: float | None  # of the score, from 0 to 1
    auroc_interval: Interval | None
    aupr: float | None  # average precision of the wrong answers
    aupr_interval: Interval | None
    aupr_right: float | None  # average precision of the right answers, least suspicious first
    aupr_right_interval: Interval | None
    fpr_at_95_tpr: float | None  # share of the right answers above a score that 95 % of wrong reach
    fpr_at_95_tpr_interval: Interval | None
    aurc: float | None  # area under the risk-coverage curve


class MetricsReport(BareMetrics):
    """Metrics of a monitor, or of the verdict."""

    missed: float | None  # share of the wrong answers that do not alarm
    missed_interval: Interval | None


class VerdictsReport(TypedDict):
    """Test rows by whether the model is right."""

    right: dict[str, int]  # rows by verdict: "trust", "uncertain", "alarm" and "fault"
    wrong: dict[str, int]  # the same


class Trusted(TypedDict):
    """What it means to use only the trusted answers."""

    coverage: float  # share of the answers that are trusted
    risk: float | None  # share of those that are wrong; null where none is trusted


class Judged(TypedDict):
    """How well verdicts do on the test rows."""

    metrics: MetricsReport
    verdicts: VerdictsReport
    trusted: Trusted


class Histogram(TypedDict):
    """Scores of right and of wrong answers, as they are shown; the outermost bins are open."""

    axis: Literal["linear", "log"]  # of the edges
    edges: list[float]  # one more than bins; empty without a finite score
    right: list[int]  # rows in each bin
    wrong: list[int]  # rows in each bin
    infinite_right: int  # rows with an infinite score
    infinite_wrong: int  # rows with an infinite score


class Curve(TypedDict):
    """Risk against coverage, as the least suspicious answers are used."""

    coverage: list[float]  # share of the answers, ascending
    risk: list[float]  # share of those that are wrong


class MonitorReport(monitors.Monitor, Judged):
    """A monitor as the manifest has it, and how it does at length."""

    source: str  # the publication of the method
    settings: dict[str, bool | int | float | str]  # of the method, by name
    steps: int  # of an evaluation, with the signals that explain it
    histogram: Histogram
    risk_coverage: Curve
    operating_points: list[monitors.OperatingPoint]  # empty where its threshold promises nothing


class ClassReport(TypedDict):
    """The verdict on the answers of one class."""

    predicted: str  # label of the class
    answers: int  # test rows with that answer
    wrong: int  # answers that are wrong
    alarms_on_wrong: int  # wrong answers with an alarm
    alarms_on_right: int  # right answers with an alarm


class ClassTrust(TypedDict):
    """Trust of the answers to one class."""

    label: str  # of the class
    rows: int  # test rows with that label
    trust: float | None  # mean question-answer trust; null without rows
    interval: measured.Interval | None  # by bootstrap


class TrustDensity(TypedDict):
    """How the trust of answers is distributed."""

    label: str | None  # of a class; null: all answers
    trust: list[float]  # places, from 0 to 1
    density: list[float]  # at these places


class ReliabilityBin(TypedDict):
    """Answers whose confidence lies in one step."""

    low: float  # end of the step
    high: float  # end of the step
    rows: int  # answers
    confidence: float | None  # their mean; null without one
    accuracy: float | None  # share that is right; null without one
    interval: measured.Interval | None  # of the accuracy, exact


class TrustReport(TypedDict):
    """What the model's confidence is worth on test rows (`edgemon trust` says more)."""

    net_trust_score: float  # mean of C of right answers and 1 - C of wrong ones
    interval: measured.Interval | None  # by bootstrap
    confidence_right: float | None  # mean, of right answers; null without one
    confidence_wrong: float | None  # mean, of wrong answers; null without one
    expected_calibration_error: float  # in 15 bins
    passing: float | None  # the score over the answers that the verdict lets pass; null without one
    spectrum: list[ClassTrust]
    densities: list[TrustDensity]  # of all answers, and of the classes that are trusted least
    reliability: list[ReliabilityBin]


class CostReport(TypedDict):
    """What the monitors take on the device."""

    artifact_bytes: int  # of monitor.emon
    monitors_bytes: int  # tables and nodes
    estimated_us: float | None  # us an image on the target; null where nobody has measured it
    workspace_bytes: int  # working memory
    work: int  # steps that the runtime states: the bound of an evaluation
    second_inference: bool  # does a monitor need the model's answer to another input as well?
    steps: int  # of an evaluation
    steps_by_op: dict[str, int]  # steps of an evaluation, by op
    worst_case: monitors.WorstCase


class Numbers(manifest.Companions):
    """The report without its findings, which are made from it."""

    format: str  # "edgemon report"
    version: int  # of the format
    positive: str  # what counts as positive, in words
    interval_confidence: float  # of every interval
    edgemon: str  # version
    model: ReportedModel
    decision: measured.Decision | None  # of a model with one output unit
    own_labels: measured.OwnLabels | None  # of a model that gives a label
    clipped_share: float | None  # of the input's values; null: an input of floats or tokens
    input: measured.Input
    accuracy: float  # share of right answers on all rows; with separate files on held-out ones
    splits: SplitsReport
    groups: measured.Groups | None  # null where rows come by themselves
    promise: PromiseReport | None  # null where no threshold was set on held-out rows
    together: Judged  # the verdict of all monitors
    monitors: list[MonitorReport]
    comparison: list[monitors.Candidate]  # of fusions' signals
    left_out: list[monitors.LeftOut]
    drift: measured.Drift | None  # null without a drift test
    last_bits: measured.LastBits
    guard: measured.Guard | None  # null without --guard
    augmented: measured.Augmented | None  # null where no copies were made
    by_class: list[ClassReport]
    seen: shown.Seen
    examples: shown.Examples
    trust: TrustReport
    cost: CostReport
    budget: asked.Budget
    proof: measured.Proof
    self_test: measured.SelfTest
    data: dict[str, asked.Source]  # by "data", or by "fit", "threshold" and "test"
    options: asked.Options
    sha256: dict[str, str]  # of the bundle's files but the report's, by name


class Report(Numbers):
    """The document ``report.json``: everything that ``report.html`` shows."""

    findings: list[measured.Finding]
    advice: list[str]  # what another promise, more rows or a larger budget would buy
