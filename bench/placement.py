"""Other addresses for what is timed.

Where data lie decides some per cent of a time, by caches that go by addresses, and it is the same
in all rounds of a process: their spread says nothing of it (Curtsinger and Berger, STABILIZER,
ASPLOS 2013). So everything is opened anew for each block, each time elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

GAP = 1 << 16  # bytes that are taken before, at most
LINE, LINES = 16, 256  # an array begins at one of so many places, so many bytes apart


class Placement:
    """Places by chance; not by a seed, since a second run has to have others."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng()
        self._gap = bytearray()

    def move(self) -> None:
        """What is allocated next lies elsewhere than before."""
        self._gap = bytearray(int(self._rng.integers(1, GAP)))

    def copy(self, array: Array) -> Array:
        """The same array, elsewhere."""
        memory = np.empty(array.nbytes + LINE * LINES, np.uint8)
        at = LINE * int(self._rng.integers(LINES))
        placed: Array = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        placed[...] = array
        return placed
