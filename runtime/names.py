"""Names as an artifact stores them: FORMAT.md, section 9."""

from __future__ import annotations

LONGEST_NAME = 255
UNIQUE_PART = LONGEST_NAME - 8  # what is kept of a name that got a number behind it


def stored_name(name: str) -> str:
    """A name in printable ASCII: other characters are escaped, and what is too long is cut off."""
    plain = name.encode("ascii", "backslashreplace")
    return bytes(b if 0x20 <= b <= 0x7E else ord("?") for b in plain)[:LONGEST_NAME].decode()


def is_stored(stored: str, name: str) -> bool:
    """Is this what an artifact stores of the name? Of two that would be equal the second ends in
    ``~`` and a number."""
    plain = stored_name(name)
    head, tilde, number = stored.rpartition("~")
    return stored == plain or (head == plain[:UNIQUE_PART] and bool(tilde) and number.isdigit())
