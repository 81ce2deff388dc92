"""What marks tests that need TensorFlow."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDS_TENSORFLOW = [
    pytest.mark.skipif(
        find_spec("tensorflow") is None,
        reason="TensorFlow is not installed: pip install 'edgemon[keras]'",
    ),
    pytest.mark.xdist_group("tensorflow"),
]
