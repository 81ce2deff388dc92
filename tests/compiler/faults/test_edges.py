"""Canny's edges and the equalised histogram, by hand."""

from __future__ import annotations

import numpy as np

from edgemon.compiler.faults.edges import edges, equalised


def test_a_step_has_one_line_of_edge() -> None:
    x = np.zeros((12, 12))
    x[:, 6:] = 200
    found = edges(x)
    assert (found.sum(axis=1) == 1).all()
    assert set(np.flatnonzero(found.any(axis=0))) <= {5, 6}
    np.testing.assert_array_equal(edges(x.T), found.T)
    slanted = np.triu(np.full((12, 12), 200.0))
    assert edges(slanted).sum() >= 8


def test_weak_edges_stay_where_they_reach_strong_ones() -> None:
    x = np.zeros((20, 12))
    x[:, 6:] = np.linspace(15, 60, 20)[:, None]  # gradients of 4 x that, from 60 to 240
    assert edges(x)[2:-2].any(axis=1).all()
    assert not edges(np.minimum(x, 30)).any()  # at most 120: weak everywhere
    assert not edges(np.full((5, 5), 7.0)).any()


def test_values_become_equally_frequent() -> None:
    x = np.repeat([3, 4, 9, 200], [4, 4, 4, 4]).reshape(4, 4).astype(float)
    np.testing.assert_array_equal(np.unique(equalised(x)), [0, 85, 170, 255])
    flat = np.full((3, 3), 8.0)
    np.testing.assert_array_equal(equalised(flat), flat)
