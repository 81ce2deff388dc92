"""Parts of ``report.json``: rows of the data that it shows, and the input as the model sees it.

The comment above or beside a field is what docs/documents.md says of it.
"""

from typing import Literal, TypedDict

from edgemon.compiler.documents.measured import Interval


class UnusualValue(TypedDict):
    """A value of a row of a table outside the middle 95 % of the fit rows."""

    column: str  # its name; "column 3", counted from 0, where it has none
    value: float | None  # null: missing
    median: float  # of fit rows
    usual: Interval  # the middle 95 % of fit rows
    # Robust z-score: distance to the median, in 1.4826 times the median absolute deviation, or in
    # the standard deviation where that is 0; null: missing, or all fit rows have the same value.
    z: float | None
    beyond: float  # share of fit rows whose value lies as far out on that side, or is missing too


class Example(TypedDict):
    """A test row."""

    row: int  # its number in the data, from 0; of images in a folder, in the sorted listing
    file: str | None  # in the folder of images; null where rows are no files
    label: str  # its class, as the data says
    decided: str  # the class that the model answers
    score: float | None  # as people are shown it; null: not finite
    verdict: str  # "trust", "uncertain", "alarm" or "fault"
    image: str | None  # a PNG as a data URI, as the file has it; null: no image
    unusual: list[UnusualValue]  # of a table, the most unusual first


class ExampleGroup(TypedDict):
    """Test rows with something in common."""

    name: str  # "caught", "missed", "false alarms", "most suspicious" or "least suspicious"
    rows: int  # test rows that it is of
    shown: list[int]  # positions in the examples' rows


class Examples(TypedDict):
    """Some of the test rows."""

    left_out: bool  # by --no-examples: then there are no groups and no rows
    kind: Literal["images", "table", "other"]  # of row
    score_of: str  # the monitor whose score they are chosen by
    fit_rows: int  # with which the values of a table are compared; 0 of other rows
    # What is drawn black and white; null of other rows than images.
    drawn: Interval | None
    groups: list[ExampleGroup]
    rows: list[Example]


class InputHistogram(TypedDict):
    """Values that the model's input is given, after preprocessing, as reals."""

    rows: int  # of a sample of test rows
    edges: list[float]  # one more than bins
    counts: list[int]  # values in each bin
    below: int  # values below the first edge
    above: int  # values above the last edge
    range: Interval | None  # that the input can represent; null of floats


class InputColumn(TypedDict):
    """A column of a table as the model gets it, after preprocessing."""

    column: str  # its name; "column 3", counted from 0, where it has none
    median: float  # of a sample of test rows
    usual: Interval  # the middle 95 % of those


class SeenRow(TypedDict):
    """A row as the model gets it, after preprocessing."""

    row: int  # its number in the data, from 0
    label: str  # its class, as the data says
    image: str  # a PNG as a data URI


class Seen(TypedDict):
    """The data as the model sees it."""

    histogram: InputHistogram | None  # null of tokens, a table of floats and few private rows
    columns: list[InputColumn]  # of a table, 200 at most; empty with --no-examples
    width: int  # columns that there are; 0 where they are not shown
    drawn: Interval | None  # what is drawn black and white; null without images
    first_rows: list[SeenRow]  # of the test rows, where they are images; not with --no-examples
