"""JUnit files, as pipelines read them: a test case for each thing that is checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from edgemon.compiler.commands.written import write_beside
from edgemon.compiler.errors import CompileError
from edgemon.runtime.errors import EdgemonError

OPTION = "--junit"
HEAD_BYTES = 4096  # of a file, in which the root of a JUnit document stands
PASSED, FAILED, SKIPPED, ERROR = "passed", "failed", "skipped", "error"


@dataclass(frozen=True)
class Case:
    """One test case: what it is called, in which ``group``, and how it went."""

    name: str
    group: str
    outcome: str = PASSED
    message: str = ""
    more: str = ""  # what would help


def write(path: Path, suite: str, cases: Sequence[Case]) -> None:
    """Raises CompileError if the file cannot be written."""
    from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

    found = TestSuite(suite)
    for case in cases:
        entry = TestCase(case.name, case.group)
        if case.outcome == SKIPPED:
            entry.result = [Skipped(case.message)]
        elif case.outcome in (FAILED, ERROR):
            result = (Failure if case.outcome == FAILED else Error)(case.message, case.group)
            result.text = case.more
            entry.result = [result]
        found.add_testcase(entry)
    document = JUnitXml()
    document.add_testsuite(found)
    document.update_statistics()  # type: ignore[no-untyped-call]
    write_beside(path, lambda temporary: document.write(str(temporary), pretty=True), OPTION)


def start(path: Path) -> None:
    """Take away the file of an earlier run, which would speak for this one. Raises CompileError
    where none can be written, and for a file that is something else."""
    if _is_another(path):
        raise CompileError(f"{OPTION} {path}: exists and is no JUnit file; name another")
    write_beside(path, lambda _: None, OPTION)
    path.unlink()


def _is_another(path: Path) -> bool:
    if not path.is_file():
        return False
    with suppress(OSError), path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        return bool(head) and b"<testsuite" not in head
    return True


@contextmanager
def of_mistakes(path: Path | None, step: str) -> Iterator[None]:
    """Around a whole command: the file of an earlier run goes at once, whatever becomes of this
    one, and a mistake of which the command itself wrote nothing is an error of the ``step``."""
    if path is not None:
        start(path)
    try:
        yield
    except EdgemonError as error:
        if path is not None and not path.exists():
            write_mistake(path, step, str(error))
        raise


def of_usage(arguments: Sequence[str], step: str, sentence: str) -> None:
    """The same where a command's line is not understood, and with it not what its options are. Of
    several files the last counts, as of all options."""
    given = ""
    for word, following in pairwise((*arguments, "")):
        option, equals, value = word.partition("=")
        if option == OPTION:
            given = value if equals else following
    if given:
        start(Path(given))
        write_mistake(Path(given), step, sentence)


def write_mistake(path: Path, step: str, sentence: str) -> None:
    """An error of the ``step`` alone, if it can be written: the mistake is what matters."""
    with suppress(CompileError):
        write(path, f"edgemon {step}", [Case(step, f"edgemon.{step}", ERROR, sentence)])


@contextmanager
def reported(path: Path | None, suite: str, step: str) -> Iterator[list[Case]]:
    """Cases that the block appends are written at its end, behind one of the ``step`` itself, which
    has an error if the block ends with one and no case says why."""
    if path is not None:
        start(path)
    cases: list[Case] = []
    group = f"edgemon.{step}"
    try:
        yield cases
    except EdgemonError as error:
        if path is not None:
            explained = any(case.outcome in (FAILED, SKIPPED) for case in cases)
            own = Case(step, group) if explained else Case(step, group, ERROR, str(error))
            with suppress(CompileError):  # the error itself is what matters
                write(path, suite, [own, *cases])
        raise
    if path is not None:
        write(path, suite, [Case(step, group), *cases])
