"""The one JSON document of a command with ``--json``, also of one that fails.

A program that reads standard output finds one document whatever happens: that of the command, and
after a failure ``passed`` (false), ``error`` (the sentence) and ``exit_code`` in it, with what the
command had found until then. Outside of the command line a document is printed at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

OPTION = "--json"


def is_asked_for(arguments: Sequence[str]) -> bool:
    """Do the arguments of a command line, right or wrong, ask for JSON?"""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return OPTION in options


def failure(error: str, exit_code: int, found: Any = None) -> str:
    """The document of a failure, beside what was ``found`` before."""
    known = found if isinstance(found, dict) else {} if found is None else {"found": found}
    said = {"passed": False, "error": error, "exit_code": exit_code}
    return json.dumps({**known, **said}, indent=2, allow_nan=False)


class Answer:
    """What one command answers: at most one document, and a sentence if it fails."""

    def __init__(self) -> None:
        self.error = ""
        self._document: Any = None

    def hold(self, document: Any) -> None:
        """Keep a document until it is known whether the command succeeds."""
        self._document = document

    def give(self) -> None:
        """Print the document of a command that succeeded, if it has one."""
        document, self._document = self._document, None
        if document is not None:
            print(json.dumps(document, indent=2, allow_nan=False))

    def fail(self, exit_code: int) -> None:
        """Print the document of a command that failed."""
        error = self.error or f"stopped with exit code {exit_code}"
        print(failure(error, exit_code, self._document))


_current: ContextVar[Answer | None] = ContextVar("answer", default=None)


def show(document: Any) -> None:
    """Print a document, or let the command that runs print it at its end."""
    answer = _current.get()
    if answer is None:
        print(json.dumps(document, indent=2, allow_nan=False))
    else:
        answer.hold(document)


@contextmanager
def answering(answer: Answer) -> Iterator[None]:
    """Documents that are shown meanwhile are the answer's."""
    token = _current.set(answer)
    try:
        yield
    finally:
        _current.reset(token)
