"""The documents ``manifest.json`` and ``compile --json``: each field with its meaning and unit.

The comment above or beside a field is what docs/documents.md says of it.
"""

from typing import TypedDict

from edgemon.compiler.documents.asked import Budget, Model, Options, Source
from edgemon.compiler.documents.measured import (
    AccuracyFit,
    Augmented,
    Counts,
    Decision,
    Drift,
    Finding,
    Groups,
    Guard,
    Input,
    LastBits,
    OwnLabels,
    Proof,
    Realised,
    RequirementLine,
    SelfTest,
    Shares,
    Sizes,
)
from edgemon.compiler.documents.monitors import (
    Candidate,
    LeftOut,
    Monitor,
    OperatingPoint,
    Quality,
    WorstCase,
)


class Companion(TypedDict):
    """A model beside the classifier, which a monitor needs."""

    view: str  # "odin": makes another input for the model; "companion": is read itself
    file: str  # its name in the bundle
    bytes: int  # of that file
    sha256: str  # of that file
    source: str  # where it comes from, in words
    monitors: list[str]  # that need it


class Companions(TypedDict, total=False):
    """Models beside the classifier."""

    companions: list[Companion]  # absent where there are none


class Results(Companions):
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
    augmented: Augmented | None  # null where no copies were made
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
    operating_points: dict[str, list[OperatingPoint]]  # by monitor, as in the report
    advice: list[str]  # what another promise, more rows or a larger budget would buy, in sentences


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


class Gated(Compiled):
    """What ``compile --json`` prints with --require or --baseline."""

    requirements: list[RequirementLine]
