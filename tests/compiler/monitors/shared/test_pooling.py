from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.shared import pooling
from edgemon.compiler.monitors.shared.pooling import (
    FEWEST,
    next_pool,
    pooled,
    pooled_values,
    weight_bytes,
)
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor
from tests.compiler.recordings import make_recording


@pytest.mark.parametrize("taps", [("features",), ("features", "logits")])
def test_the_program_reads_the_means_that_are_learned_from(
    tmp_path: Path, taps: tuple[str, ...]
) -> None:
    rows = make_recording(tmp_path, "float32", 40, 1)
    b = Builder(rows.taps, real=True)
    x = pooled(b, taps, 4)
    program = b.program(b.node("argmax", 0), [Monitor("m", b.node("max", x), 0.0, 0.0)])
    values = reference.run_real(program, [rows.values(t.name) for t in rows.taps])
    np.testing.assert_allclose(values[x], pooled_values(rows, taps, 4), atol=1e-12)


def test_of_a_flattened_map_they_are_means_over_positions(tmp_path: Path) -> None:
    rows = make_recording(tmp_path, "float32", 5, 1)
    maps = rows.values("features").reshape(5, 3, 4)  # 3 positions of 4 channels
    np.testing.assert_allclose(pooled_values(rows, ("features",), 3), maps.mean(axis=1))


def test_what_does_not_divide_the_width_is_refused_in_a_sentence(tmp_path: Path) -> None:
    rows = make_recording(tmp_path, "float32", 5, 1)
    with pytest.raises(CompileError, match="pool=5 does not divide the 12 features"):
        pooled_values(rows, ("features",), 5)


@pytest.mark.parametrize("width", [31, 64, 97, 1152, 9216])
def test_pools_grow_over_all_divisors_and_leave_enough(width: int) -> None:
    found, pool = [], next_pool(width, 1)
    while pool is not None:
        found.append(pool)
        pool = next_pool(width, pool)
    assert found == [p for p in range(2, width) if width % p == 0 and width // p >= FEWEST]


def test_a_pool_whose_weights_are_wider_is_passed_over() -> None:
    """Means of 40 codes have float weights: of 1200 features no fewer bytes than those of 30."""
    found, pool = [30], 30
    while (pool := next_pool(1200, pool, lambda p: 2 if p <= 32 else 4) or 0) != 0:
        found.append(pool)
    assert found == [30, 75]


def test_means_of_many_codes_have_float_weights(tmp_path: Path) -> None:
    rows = make_recording(tmp_path, "int8", 5, 1)
    sizes = [weight_bytes(rows, ("features",), pool) for pool in (1, 2, 32, 33)]
    assert sizes == [2, 2, 2, 4]


def test_wide_features_are_never_in_memory_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a convnet with 9,216 features they were 900 MB."""
    rows = make_recording(tmp_path, "float32", 5000, 3)
    whole = rows.features("features").reshape(5000, 4, 3).mean(axis=1)
    monkeypatch.setattr(pooling, "BLOCK_ELEMENTS", 999)
    assert (pooled_values(rows, ("features",), 4) == whole).all()
    tracemalloc.start()
    try:
        pooled_values(rows, ("features",), 4)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * whole.nbytes, peak / whole.nbytes
