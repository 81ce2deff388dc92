"""The documents ``manifest.json`` and ``compile --json``: each field with its meaning and unit.

The comment above or beside a field is what docs/documents.md says of it. Everything imports this
module, and it imports nothing of the compiler.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

Interval = Sequence[float]  # [least, most]
Details = dict[str, Any]  # what a monitor learned, in a shape of its own


class Array(TypedDict):
    """An array, by its hash."""

    dtype: str  # as NumPy names it
    shape: list[int]  # values along each axis
    sha256: str  # of the values in C order


class Conversion(TypedDict):
    """How a Keras model became the file that runs."""

    to: str  # format and number type, as "int8 TFLite"
    by: str  # library and its version
    changed: list[str]  # what the conversion changed besides the format, as sentences
    sha256: str  # of the converted file


class Part(TypedDict, total=False):
    """What became of the file that the user gave, where it does not run as it is."""

    output: str | None  # that holds the class scores; null: the model's only one
    outputs_left_out: list[str]  # which the bundle's model no longer has
    fixed_inputs: dict[str, Array]  # inputs that became constants, by name
    converted: Conversion  # of a Keras model


class Origin(Part):
    """The file that the user gave, and the part and form of it that runs."""

    file: str  # name of the file that was given
    sha256: str  # of that file
    output_kind: str  # what the output gives: "logits", "probabilities" or "unknown"


class Model(Origin):
    """The model, and the copy of it in the bundle."""

    tapped_sha256: str  # of the tapped model, which the monitor is bound to
    outputs: int  # that the model has by itself, without taps


class Source(TypedDict):
    """A data specification as it was given."""

    spec: str  # without the folder
    sha256: dict[str, str]  # of each file that it names, by file name


class Preprocess(TypedDict):
    """How an image becomes an input: resize, channels, v * scale + offset, (v - mean) / std."""

    scale: float  # first factor
    offset: float  # added after it
    mean: list[float]  # one, or one a channel; empty: 0
    std: list[float]  # one, or one a channel; empty: 1
    resize: list[int] | None  # [width, height] in pixels
    channels: str  # "asis", "rgb", "bgr" or "gray"
    layout: str  # "auto", "nhwc" or "nchw"


class Options(TypedDict):
    """The options of the command, on which the bundle depends."""

    monitor: str  # --monitor
    profile: str  # what auto guards against: "errors" or "scod"
    mirror: bool  # may a fusion read the mirrored image?
    early_exit: bool  # may the time of trees depend on the input?
    thresholds: str  # "guaranteed", or "method": those that a method prescribes
    taps: str  # --taps; "": those that monitors ask for
    seed: int  # of every random choice
    target: str  # name of its profile
    certify_kernels: str  # further kernel sets, separated by commas
    output: str  # the tensor with the class scores; "" left it to the compiler
    inputs: dict[str, Array]  # values of the inputs that are no data, by name
    preprocess: Preprocess
    label_order: str  # in which labels become classes
    classes: list[str] | None  # the model's, in its order; null: as the data has them
    decision_threshold: float | None  # of a single output unit; null: what the model says
    exif: str  # "ignore" or "apply"
    convert: str  # "float" or "int8"
    group: str | None  # what says which rows belong together
    repeats: str  # "keep" or "group"
    shared_rows: str  # "refuse", "drop" or "keep"
    promise: str  # whose rate is promised: "verdict" or "monitor"
    promise_of: str  # "false alarms" or "misses"
    rate: float  # share that is promised
    confidence: float  # probability that the promise holds
    per_class: str  # "", "each" or "every"
    drift_run_length: int  # images; 0: no drift test
    expect_accuracy: float | None  # share
    guard: str  # --guard; "": nothing
    full_scale: int  # the value of full brightness in images, for guard
    budget_kb: float | None  # kB of 1024 bytes
    budget_us: float | None  # us an image


class OwnLabels(TypedDict):
    """The label that the model gives itself, against the class of its largest score."""

    output: str  # that gives the label
    rows: int  # that were compared
    different: int  # rows on which the two differ


class Decision(TypedDict):
    """Which class a single output unit means."""

    threshold: float  # class 1 strictly above it, else class 0; in the output's real values
    because: str  # where the threshold comes from


class InputRange(TypedDict):
    """How an integer input is filled."""

    clipped_share: float  # of the values
    used_share: float  # of the input's range, between the 0.1 % outer values of either side
    range: Interval  # real values that the input takes
    given: Interval  # real values that it was given


class Better(TypedDict):
    """Another preprocessing or order of classes with which the model is clearly better."""

    flags: str  # options of the command that set it
    accuracy: float  # share of rows that are right with it
    accuracy_now: float  # share of rows that are right without it
    rows: int  # that were compared
    only_it: int  # rows that are right only with it
    only_now: int  # rows that are right only without it
    p_value: float  # McNemar's exact test, times the alternatives that were compared


class Input(TypedDict):
    """What a first look at the input found."""

    spread: InputRange | None  # null: an input of floats or tokens
    better: Better | None
    vectors_as: list[int] | None  # shape of the images that came as vectors


class Counts(TypedDict):
    """How many rows each split has."""

    fit: int  # rows that monitors learned from
    threshold: int  # rows that thresholds were set on
    test: int  # rows that everything is measured on


class Shares(TypedDict):
    """A share of the rows of each split."""

    fit: float  # of rows that monitors learned from
    threshold: float  # of rows that thresholds were set on
    test: float  # of rows that everything is measured on


class Groups(TypedDict):
    """Rows that belong together, of which one sets thresholds."""

    by: str  # what was given for --group
    fit: int  # groups
    threshold: int  # groups
    test: int  # groups
    drawn: int | None  # groups of which a row sets thresholds; null where nothing is promised
    drawn_rows: int | None  # rows that set thresholds; null where nothing is promised


class Budget(TypedDict):
    """The most that the monitors together may take; null: no limit."""

    kilobytes: float | None  # of 1024 bytes
    microseconds: float | None  # an image, estimated


class Quality(TypedDict):
    """Alarms on test rows; positive: the model is wrong. null: undefined."""

    rows: int  # test rows
    true_alarms: int  # wrong answers with an alarm
    false_alarms: int  # right answers with an alarm
    missed: int  # wrong answers without an alarm
    quiet: int  # right answers without an alarm
    mcc: float | None  # Matthews correlation, from -1 to 1
    auroc: float | None  # of the score, from 0 to 1
    false_alarm_rate: float | None  # share of the right answers that alarm
    miss_rate: float | None  # share of the wrong answers that do not alarm


class Alone(TypedDict):
    """A monitor at thresholds that promise of it alone what the verdict is promised."""

    thresholds: Sequence[float]  # as scores are shown; one, or one a class
    quality: Quality


class Monitor(Quality):
    """A monitor that judges; its quality is that on the test rows."""

    name: str  # of the monitor in the artifact
    kind: str  # as --monitor has it
    what: str  # what it looks at, in words
    reason: str  # what it says when it alarms, with {score} and {threshold}
    taps: list[str]  # tensors that it reads
    second_inference: bool  # does it need the model's answer to the mirrored image?
    threshold: float  # alarm above it; as scores are shown
    uncertain_above: float  # as scores are shown
    threshold_raw: float  # as the device compares it
    threshold_from: Literal["held-out", "method"]  # a promise, or what the method prescribes
    ties_broken: bool  # is the score a rank, with ties broken by the softmax?
    raw_auroc: float | None  # without that ranking
    raw_mcc: float | None  # without that ranking, under the same promise
    alone: Alone | None  # null where the promise is of this monitor alone, or none
    # Where the score is the excess over the predicted class's threshold: the threshold of each
    # class, as scores are shown.
    class_thresholds: list[float] | None
    bytes: int  # of its tables and nodes, with the signals that explain it
    estimated_us: float | None  # us an image on the target; null where nobody has measured it
    details: Details  # what it learned, in a shape of its own


class WorstCase(TypedDict):
    """The most that an evaluation does, whatever its input; bytes are counted once each."""

    operations: int  # element operations, FORMAT.md section 7.12
    record_bytes: int  # read, of the artifact: of its program, taps, nodes, tables and monitors
    table_bytes: int  # read, of the artifact: the rows of its tables that it reaches
    tap_bytes: int  # read
    workspace_bytes: int  # written and read
    touched_bytes: int  # all of these


class Candidate(TypedDict):
    """What a signal of a fusion would be worth alone, under the same promise."""

    signal: str  # as --monitor has it
    novelty: bool  # is it one of novelty, and not of errors?
    kept: bool  # is it in the fusion?
    size_bytes: int  # of its tables and nodes
    estimated_us: float | None  # us an image
    quality: Quality
    # Of one that answers itself: test rows that it alone has right, and that the model alone has.
    opinion: Sequence[int] | None
    second_inference: bool  # which no cost here includes


class LeftOut(TypedDict):
    """What takes no part by the compiler's own choice."""

    monitor: str  # or signal
    reason: str  # why, as a sentence


class Share(TypedDict):
    """Of the rows that a promise concerns, those that break it."""

    rows: int  # that the promise concerns
    rate: float | None  # share; null without rows
    interval: Interval | None  # 95 %, Clopper-Pearson


class Realised(TypedDict):
    """The promised rate as it came out on the test rows: of each monitor, and of the "verdict" of
    those whose thresholds are promised, or else of all."""

    by_row: dict[str, Share]  # every row counts
    by_set: dict[str, Share] | None  # one row of each set of alike rows; null where none are alike
    sets: str | None  # what rows have in common: "group" or "values"


class RunLength(TypedDict):
    """False flags on a long stream that is drawn from the test rows."""

    images: int  # of the stream
    flags: int  # that rose on it
    run_length: float | None  # images to a flag; null without a flag
    interval: Sequence[float | None]  # 95 %, Garwood, in images; null: no upper end


class DriftOnTest(TypedDict):
    """The test rows as one stream, in random order."""

    images: int  # of the stream
    flagged_at: int | None  # the image at which the flag rose


class Drift(TypedDict):
    """The drift test."""

    monitor: str  # whose score it watches
    bins: int  # of scores
    alternatives: list[str]  # changes that it looks for
    limit_nats: float  # at which the flag rises
    run_length: int  # promised images to a false flag, on average
    confidence: float  # of that promise, over the choice of the rows
    rows: int  # threshold rows that it was made from
    largest_group: int | None  # rows; null where rows come by themselves
    measured: RunLength | None  # null where all test rows are faults
    test_rows: DriftOnTest
    # Kolmogorov-Smirnov: probability of so unlike scores if threshold and test rows are alike.
    alike_p: float | None


class Flips(TypedDict):
    """Rows whose verdict changes."""

    to_alarm: int  # rows that were trusted before
    to_trust: int  # rows that are trusted after


class Changes(TypedDict):
    """Rows that differ between two evaluations."""

    classes: int  # by the predicted class
    verdict: Flips
    monitors: dict[str, Flips]  # by name


class Effect(TypedDict):
    """What errors of one size and kind change."""

    lsb: int  # size of the errors, in steps of the tap's grid
    error: str  # "random", "all up" or "all down"
    changes: Changes


class CodeErrors(TypedDict):
    """Errors of the integer taps' last bits."""

    rows: int  # test rows that were tried
    seed: int  # of the errors
    taps: Sequence[str]  # to which errors are added
    effects: Sequence[Effect]


class KernelSet(TypedDict):
    """The test rows under a kernel set, against the target's own."""

    kernels: str  # name of the set
    rows: int  # test rows that were compared
    values_changed: float  # share of the taps' values
    largest_lsb: int | None  # largest difference of an integer tap, in steps of its grid
    changes: Changes
    accuracy: float  # share
    false_alarm_rate: float | None  # of the verdict, on what is right under this set


class LastBits(TypedDict):
    """How much verdicts depend on the last bits of the taps."""

    lsb: CodeErrors | None  # null without an integer tap
    certified_kernels: list[str]  # under which thresholds hold, the target's own first
    kernels: list[KernelSet]  # empty unless several are certified


class Parity(TypedDict):
    """Rows on which reference, C and ONNX were compared, bit for bit."""

    rows: int  # held-out rows
    neighbours: int  # rows made to lie beside thresholds, and self-test vectors
    mismatches: int  # of both; a bundle has none
    first_mismatch: str | None  # where it is; null without one
    tolerance: float  # 0: bit for bit


class OutputParity(TypedDict):
    """Rows on which the tapped model's own output was compared with the original's."""

    output_rows: int  # test rows that were compared
    output_mismatches: int  # a bundle has none


class Proof(Parity, OutputParity):
    """What was compared, and found equal."""


class SelfTest(TypedDict):
    """Flipped bits of the tables that the self-test was not chosen by."""

    vectors: int  # of the self-test
    flips: int  # that were tried
    harmful: int  # that change a verdict or class of a candidate row
    found: int  # harmful ones that the self-test finds
    share: float | None  # found of harmful; null without a harmful one


class Sizes(TypedDict):
    """Bytes."""

    artifact: int  # of monitor.emon
    onnx: int  # of monitor.onnx
    monitors: int  # of the tables and nodes of all monitors


class Finding(TypedDict):
    """What a reader must know before relying on the numbers."""

    kind: str  # for programs
    text: str  # for people


class GuardedClass(TypedDict):
    """Fit rows of a class under a change."""

    label: str  # of the class
    tried: int  # rows that the model has right as they are, on which the change was tried
    broken: int  # rows of these that it has wrong when they are changed
    copies: int  # changed copies that monitors learned from
    errors: int  # copies of these that the model has wrong


class GuardedChange(TypedDict):
    """One property of images at one value."""

    property: str  # "noise", "rotation", "brightness", or a fault
    value: float  # in the property's unit; of a fault its severity
    classes: list[GuardedClass]


class Guard(TypedDict):
    """Changed copies of fit rows that monitors also learned from. No threshold knows of them: what
    is promised is of rows as they are."""

    changes: list[GuardedChange]
    copies: int  # of all changes and classes
    errors: int  # copies that the model has wrong
    share: float  # copies for each row that breaks: 1, or what keeps them no more than the fit rows


class AccuracyFit(TypedDict):
    """What ``accuracy fit`` learned of reference rows."""

    data: Source
    rows: int  # that were read
    accuracy: float  # share of them that is right
    monitor: str  # whose score stands for the probability of being right
    steps: int  # of the table from score to probability
    window: int  # images of the field that a device's estimate is about
    artifact_bytes: int  # by which the artifact grew
    members: int  # networks of the published ensemble; 0: none
    epochs: int  # that each was trained for


class Results(TypedDict):
    """The manifest before its report is made."""

    edgemon: str  # version
    model: Model
    data: dict[str, Source]  # by "data", or by "fit", "threshold" and "test"
    features: list[str] | None  # columns of a table that are features, in their order
    options: Options
    own_labels: OwnLabels | None  # of a model that gives a label
    decision: Decision | None  # of a model with one output unit
    # Share of right answers on all rows; with separate files on the held-out ones.
    accuracy: float
    clipped_share: float | None  # of the input's values; null: an input of floats or tokens
    input: Input
    accuracy_by_split: Shares
    rows: Counts
    groups: Groups | None  # null where rows come by themselves
    budget: Budget
    monitors: list[Monitor]
    comparison: list[Candidate]  # of fusions' signals
    together: Quality  # of the verdict of all monitors
    left_out: list[LeftOut]
    realised: Realised
    drift: Drift | None  # null without a drift test
    guard: Guard | None  # null without --guard
    accuracy_fit: AccuracyFit | None  # null until `accuracy fit`
    last_bits: LastBits
    proof: Proof
    self_test: SelfTest
    bytes: Sizes
    estimated_us: float | None  # us an image of all monitors; null where nobody has measured it
    worst_case: WorstCase  # of all monitors together
    sha256: dict[str, str]  # of all other files of the bundle, by name


class Manifest(Results):
    """The document ``manifest.json``: how a bundle was made, and how good it is."""

    report: str  # file name
    findings: list[Finding]


class PeakMemory(TypedDict):
    """Peak resident memory, in bytes."""

    compile: int  # of the command's process
    largest_worker: int  # 0 where unknown


class Timing(TypedDict):
    """A piece of a compile's work."""

    stage: str  # a step of the pipeline, or within fitting the kind of a monitor
    level: int  # 0: a step; 1: a part of the step before it, and so on
    seconds: float  # on the wall
    cpu_seconds: float  # of this process and of workers that ended
    peak_memory_bytes: int  # of this process, from its start to the piece's end


class Compiled(Manifest):
    """What ``compile --json`` prints: the manifest, and what differs from run to run."""

    peak_memory_bytes: PeakMemory


class Timed(Compiled):
    """What ``compile --json --timings`` prints."""

    timings: list[Timing]  # pieces in the order in which they began
