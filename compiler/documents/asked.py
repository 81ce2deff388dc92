"""Parts of ``manifest.json`` and ``report.json``: what was given, and what was asked for.

The comment above or beside a field is what docs/documents.md says of it. Everything imports this
module, and it imports nothing of the compiler.
"""

from typing import TypedDict


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


class BesideModel(TypedDict, total=False):
    """Files that were given beside the model."""

    companion: str  # --companion: the file's name
    float_model: str  # --float-model: the file's name


class Options(BesideModel):
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
    augment: int | None  # copies of each fit image; null: tried where they are few
    budget_kb: float | None  # kB of 1024 bytes
    budget_us: float | None  # us an image
    examples: bool  # may the report show rows? (--no-examples)


class Budget(TypedDict):
    """The most that the monitors together may take; null: no limit."""

    kilobytes: float | None  # of 1024 bytes
    microseconds: float | None  # an image, estimated
