"""Exponential and logarithm of the reference against the real ones."""

from __future__ import annotations

import numpy as np

from edgemon.compiler.program.ops.transcendental import exp_f32, log_f32


def test_exp_is_accurate_over_its_whole_range() -> None:
    x = np.linspace(-86, 86, 2_000_001).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert (np.abs(exp_f32(x) / exact - 1)).max() < 3e-7


def test_exp_is_clamped_and_exact_at_zero() -> None:
    x = np.array([-np.inf, -1e30, -86, 0, -0.0], np.float32)
    found = exp_f32(x)
    assert (found[:3] == found[2]).all()
    assert (found[3:] == 1).all()


def test_log_is_accurate() -> None:
    x = np.exp(np.linspace(-87, 88, 1_000_001)).astype(np.float32)
    exact = np.log(x.astype(np.float64))
    assert np.abs(log_f32(x) - exact).max() < 1e-5
    near = np.linspace(1, 64, 100_001).astype(np.float32)
    assert np.abs(log_f32(near) - np.log(near.astype(np.float64))).max() < 6e-7
    assert log_f32(np.array([1], np.float32))[0] == 0
