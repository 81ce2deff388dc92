"""A camera that fails, line by line."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.faults import geometry, sensor
from tests.compiler.faults.images import image, rng, spot


@pytest.mark.parametrize(("severity", "lines"), [(1, 2), (2, 4), (3, 8), (4, 16)])
def test_so_many_lines_are_concerned(severity: int, lines: int) -> None:
    x = image(32)
    dead = sensor.dead_rows(x, severity, rng())
    assert ((dead == 0).all(axis=(1, 2))).sum() == lines
    stuck = sensor.stuck_rows(x, severity, rng())
    assert (np.diff(stuck, axis=0) == 0).all(axis=(1, 2)).sum() == lines
    turned = sensor.stuck_columns(x, severity, rng())
    assert (np.diff(turned, axis=1) == 0).all(axis=(0, 2)).sum() == lines


@pytest.mark.parametrize(("severity", "pixels"), [(1, 1), (2, 2), (3, 4), (4, 8)])
def test_lines_are_late(severity: int, pixels: int) -> None:
    x = image(32)
    found = sensor.shifted_lines(x, severity, rng())
    late = (found == np.roll(x, pixels, axis=1)).all(axis=(1, 2))
    assert late[16:].all()
    assert ((found == x).all(axis=(1, 2)) | late).all()


def test_a_byte_too_many_rotates_the_channels() -> None:
    x = image(8)
    found = sensor.byte_shift(x, 1, rng())
    np.testing.assert_array_equal(found[..., 1], x[..., 0])
    np.testing.assert_array_equal(found[..., 2], x[..., 1])
    assert found[0, 0, 0] == x[-1, -1, -1]


def test_a_rotation_is_counter_clockwise_about_the_centre() -> None:
    x = np.zeros((33, 33, 1))
    x[16, 28] = 1  # to the right of the centre
    found = geometry.rotation(x, 4, rng())[..., 0]  # 45 degrees
    row, column = np.unravel_index(found.argmax(), found.shape)
    assert (16 - row, column - 16) == (pytest.approx(8.5, abs=1), pytest.approx(8.5, abs=1))
    centre = geometry.rotation(spot(), 4, rng())
    np.testing.assert_allclose(centre[16, 16], 1)
