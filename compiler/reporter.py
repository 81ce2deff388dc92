"""How long work tells what it does. The library is silent; the command line shows progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]  # (done, total); total 0: unknown
Warn = Callable[[str], None]


def unseen(_done: int, _total: int) -> None:
    """Progress that nobody watches."""


def unheard(_text: str) -> None:
    """A warning that nobody hears."""


class Reporter:
    """Silent. Subclass to show notes, warnings and stages."""

    def note(self, text: str) -> None:
        """A line that the user asked for by running the command."""

    def warn(self, text: str) -> None:
        """Something that works but is probably not what the user wants."""

    @contextmanager
    def stage(self, _name: str) -> Iterator[Progress]:
        """A piece of long work; yields a callback for its progress."""
        yield unseen
