"""The errors of the compiler. ``str(error)`` is one sentence: what, where, and what to do."""

from __future__ import annotations

from edgemon.runtime.errors import EdgemonError


class CompileError(EdgemonError):
    """Something that was given to the compiler cannot be used."""


class ModelError(CompileError):
    """A model that cannot be opened, run or monitored."""


class MissingPackageError(ModelError):
    """A model that could be opened if a package were installed."""


class DataError(CompileError):
    """Data that cannot be read, or that does not fit the model."""


class FaultError(CompileError):
    """A change of images that is unknown, or that cannot be made of these."""


class ParityError(EdgemonError):
    """Two implementations of the same monitor differ where they promise not to."""

    exit_code = 4


class ChangedError(CompileError):
    """A bundle that is not as it was signed."""

    exit_code = 5


class OtherKeyError(CompileError):
    """A bundle that another key than the given one has signed."""

    exit_code = 6


class UnsignedError(CompileError):
    """A bundle without a signature, where one is asked for."""

    exit_code = 7


class BudgetError(CompileError):
    """Something takes more bytes or time than it may."""

    exit_code = 3


class RequirementError(BudgetError):
    """A bundle that is worth less, or takes more, than is demanded of it."""


class UnmeasuredError(CompileError):
    """A limit that could not be measured against, while every other was kept."""

    exit_code = 8
