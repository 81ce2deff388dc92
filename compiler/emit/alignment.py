"""Where the parts of a flat file may begin (FORMAT.md, section 3)."""

from __future__ import annotations

PART = 16  # bytes of which sections, tables, and the taps of a self-test take whole multiples


def round_up(n: int, multiple: int) -> int:
    """The next multiple that is not less."""
    return -(-n // multiple) * multiple


def padded(content: bytes) -> bytes:
    """With zeros up to where the next part may begin."""
    return content + b"\0" * (round_up(len(content), PART) - len(content))
