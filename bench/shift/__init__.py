"""``edgemon shift``: the promise on corrupted images, and after how many the drift flag rises."""

from __future__ import annotations
