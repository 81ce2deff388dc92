"""The C runtime (binding/native.c). `monitor.py` is the friendly face of it."""

from collections.abc import Sequence
from typing import Any, TypeAlias, final

import numpy.typing as npt

# Whatever has the buffer protocol; NumPy's stubs declare it from Python 3.12 on only.
_Buffer: TypeAlias = bytes | bytearray | memoryview | npt.NDArray[Any]

class Error(Exception):
    """`Error(status, text)`: the C runtime refused; `args` holds both."""

    args: tuple[int, str]

@final
class Monitor:
    """A validated artifact. Safe to share between threads."""

    def __new__(cls, artifact: _Buffer) -> Monitor: ...
    @property
    def workspace_size(self) -> int: ...
    @property
    def work(self) -> int: ...
    @property
    def self_tests(self) -> int: ...
    @property
    def classes(self) -> int: ...
    @property
    def struct_size(self) -> int: ...
    @property
    def metadata(self) -> bytes: ...
    @property
    def taps(self) -> list[tuple[str, int, int, float, int, int]]:
        """(name, dtype code, length, scale, zero point, view code) of each tap."""
    @property
    def monitors(self) -> list[tuple[str, int, int | float, int | float]]:
        """(name, dtype code of the raw score, alarm above, uncertain above) of each monitor."""
    @property
    def companions(self) -> list[tuple[int, int, bytes]]:
        """(view code, bytes of the file, SHA-256) of each companion model."""
    @property
    def drift(self) -> tuple[int, int, int, int, int] | None:
        """(monitor, bins, alternatives, limit, run length) of the drift test, if there is one."""
    def bind_model(self, sha256: bytes, /) -> int: ...
    def self_test(self) -> int: ...
    def check(self) -> int: ...
    def display(self, index: int, raw: int | float, /) -> float: ...
    def evaluate(
        self,
        taps: Sequence[_Buffer],
        rows: int,
        verdict: _Buffer,
        reason: _Buffer,
        predicted: _Buffer,
        verdicts: _Buffer,
        scores: _Buffer,
    ) -> None:
        """Evaluate `rows` images into writable arrays.

        Each tap has rows * length elements. verdict u8[rows], reason i32[rows],
        predicted i32[rows], verdicts u8[rows * M], scores i64[rows * M] for M monitors. A raw
        score of dtype f32 lies in the low four bytes of its i64.
        """
    def drift_update(
        self, state: _Buffer, rows: int, verdicts: _Buffer, scores: _Buffer, /
    ) -> None:
        """Count `rows` images: `verdicts` and `scores` as `evaluate` wrote them, and `state` the
        C struct `em_drift` as u32 words."""
    @property
    def accuracy(self) -> tuple[int, int, int, int, int, int] | None:
        """(monitor, steps, window, least, rows, variance) of the table, if there is one."""
    def accuracy_update(
        self,
        state: _Buffer,
        drift: _Buffer | None,
        rows: int,
        verdicts: _Buffer,
        scores: _Buffer,
        /,
    ) -> None:
        """Count `rows` images in the C struct `em_accuracy`, u64 words, and before each in the
        drift test, as `drift_update` does."""
    def accuracy_label(self, state: _Buffer, probability: int, right: bool, /) -> None: ...
    def accuracy_estimate(self, state: _Buffer, drift: _Buffer | None, /) -> bytes | None:
        """The C struct `em_estimate`; None without a table."""
    def window_start(self, state: _Buffer, /) -> None:
        """Start a window in a u64 array: a head of 112 bytes, 24 bytes a monitor, 8 a class."""
    def window_update(
        self,
        state: _Buffer,
        rows: int,
        verdict: _Buffer,
        reason: _Buffer,
        predicted: _Buffer,
        verdicts: _Buffer,
        scores: _Buffer,
        /,
    ) -> None:
        """Count `rows` images, as `evaluate` wrote them."""
    def window_next(self, state: _Buffer, /) -> None: ...
    def window_write(
        self, state: _Buffer, drift: _Buffer | None, estimate: bytes | None = None, /
    ) -> bytes:
        """The report (docs/fleet.md); `drift` as in `drift_update`, `estimate` as
        `accuracy_estimate` gives it."""
    def nanoseconds(self, taps: Sequence[_Buffer], rows: int, repeats: int) -> list[float]:
        """The mean time of one evaluation over the rows in ns, once for each repeat."""

@final
class Stream:
    """Images of one stream, one at a time. Keeps the states of a drift test (C struct `em_drift`,
    u32), of a window (u64, started by `window_start`) and of an estimate of accuracy (C struct
    `em_accuracy`, u64)."""

    def __new__(
        cls, monitor: Monitor, drift: _Buffer, window: _Buffer, accuracy: _Buffer
    ) -> Stream: ...
    def evaluate(
        self, taps: Sequence[_Buffer], /
    ) -> tuple[int, int, int, bytes, tuple[float, ...], int]:
        """Evaluate and count one image: (verdict, reason, predicted class, verdict of each monitor,
        score of each as it is shown, probability of being right in 1/65535 or -1)."""

@final
class Preparation:
    """`preprocess.to_input` of uint8, float32 and float64 images, into `out`.

    `shape` is that of an image, channels last; `table` holds what each uint8 becomes, (channels,
    256) of the type of `out` (int8, uint8, int16 or float32); `mean` and `std` are float32
    (channels,): one element where all channels are treated alike. A step that is not declared is
    the identity: scale 1, offset -0, mean 0, std 1.
    real = step * (code - zero), step 0 where `out` is not quantised.
    """

    def __new__(
        cls,
        shape: tuple[int, ...],
        out: _Buffer,
        table: _Buffer,
        mean: _Buffer,
        std: _Buffer,
        scale: float,
        offset: float,
        step: float,
        zero: float,
        reverse: bool,
        planar: bool,
    ) -> Preparation: ...
    def fill(self, image: _Buffer, /) -> bool:
        """Fill `out`; False for an image that it leaves to NumPy: one of another type or shape, not
        contiguous, or with a number that does not stay finite."""

def status_text(status: int, /) -> str: ...
