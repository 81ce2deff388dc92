"""Which known name did somebody mean who typed an unknown one?"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def choices(wrong: str, known: Iterable[str], there_are: str = "there are") -> str:
    """The end of a sentence about an unknown name: the nearest known one if one is near, and all.
    ``unknown monitor 'softmx'`` goes on with ``; did you mean 'softmax'? There are ...``."""
    names = list(known)
    near = get_close_matches(wrong, names, n=1)
    if near:
        start = there_are[0].upper() + there_are[1:]
        return f"; did you mean {near[0]!r}? {start} {', '.join(names)}"
    return f"; {there_are} {', '.join(names) or 'none'}"
