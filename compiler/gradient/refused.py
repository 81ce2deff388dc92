"""What is said where there is no gradient to step along."""

from __future__ import annotations

from edgemon.compiler.errors import CompileError


class Refused(CompileError):  # noqa: N818 - a sentence
    """No gradient of an operator."""

    def __init__(self, name: str, why: str = "") -> None:
        super().__init__(
            f"monitor odin: {name}{why} has no gradient here, so there is no companion; odin_t is "
            "the same score without the gradient"
        )


def of_integers() -> CompileError:
    """Of a model that computes with codes."""
    return CompileError(
        "monitor odin: the gradient of an integer model is 0; give the float model that it was "
        "made from with --float-model"
    )


def of_another_input(found: tuple[int, ...], wanted: tuple[int, ...]) -> CompileError:
    """Of a source whose input has another shape than that of the model."""
    return CompileError(
        f"monitor odin: --float-model takes {found}, and the model {wanted}; give the one that it "
        "was made from"
    )


def of_classes(shape: tuple[int, ...]) -> CompileError:
    """Of logits that are no vector of two or more."""
    return CompileError(f"monitor odin: logits of shape {shape}; it needs two or more classes")
