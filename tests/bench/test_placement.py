"""Everything that is timed lies elsewhere in each block."""

from collections.abc import Sequence

import numpy as np
import pytest

from edgemon.bench import latency, pipelines
from edgemon.bench.op_programs import single_ops
from edgemon.bench.placement import Placement
from edgemon.runtime.monitor import Monitor


def test_a_copy_is_equal_and_lies_elsewhere_in_its_page() -> None:
    array, placement = np.arange(12, dtype=np.int16).reshape(3, 4), Placement()
    copies = [placement.copy(array) for _ in range(20)]
    for copy in copies:
        np.testing.assert_array_equal(copy, array)
        assert copy.dtype == array.dtype
        assert copy.flags.c_contiguous
    assert len({copy.ctypes.data % 4096 for copy in copies}) > 5


def test_each_round_in_c_has_its_monitors_and_rows_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one place all rounds of a process agree to .3 %, and two processes do not to 3 %."""
    probe, _ = next(iter(single_ops()))
    seen: list[tuple[Monitor, int]] = []

    def nanoseconds(self: Monitor, taps: Sequence[np.ndarray], repeats: int) -> list[float]:
        seen.append((self, taps[-1].ctypes.data))
        return [1.0] * repeats

    monkeypatch.setattr(Monitor, "nanoseconds", nanoseconds)
    found = latency.InC(probe.program, probe.taps(4)).samples()
    shape = latency.ROUNDS, latency.BATCHES
    assert {name: v.shape for name, v in found.items()} == {"predicted": shape, "all": shape}
    assert len({id(monitor) for monitor, _ in seen}) == len(seen)
    assert len({address % 4096 for _, address in seen}) > 5


@pytest.mark.parametrize(("rounds", "size", "blocks"), [(2, 1, 2), (45, 2, 23), (5000, 100, 50)])
def test_each_block_opens_what_it_times_anew(
    rounds: int, size: int, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def block(*arguments: range) -> np.ndarray:
        order.append("timed")
        assert len(arguments[-1]) == size
        return np.ones((len(pipelines.NAMES), size))

    monkeypatch.setattr(pipelines, "_block", block)
    timed = pipelines.interleaved(
        lambda: order.append("opened"),  # type: ignore[arg-type, return-value]
        [], [], rounds, before=lambda: order.append("before"),
    )  # fmt: skip
    assert order == ["before", "opened", "timed"] * blocks
    assert timed.minima.shape == (len(pipelines.NAMES), blocks)
