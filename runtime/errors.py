"""The errors of the runtime. ``str(error)`` is one sentence: what, where, and what to do."""

from __future__ import annotations


class EdgemonError(Exception):
    """Base of every error that edgemon reports to a user."""

    exit_code = 2


class ArtifactError(EdgemonError):
    """An artifact or a bundle that cannot be used."""


class DamagedError(ArtifactError):
    """A bundle or an artifact whose files, hashes or metadata are not what the compiler wrote."""

    exit_code = 9


class InputError(EdgemonError):
    """An image or a declaration of the wrong shape, type or value."""


class NotFiniteError(InputError):
    """An image with a NaN or an infinity: a session answers it with the verdict fault."""


class BackendError(EdgemonError):
    """No TFLite interpreter, or one that refuses the model."""
