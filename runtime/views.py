"""Which inference gives a tap its values: FORMAT.md, sections 5 and 16."""

from __future__ import annotations

# By their code in an artifact. Of the model: on the input, on the mirrored one, on what a companion
# makes of it. COMPANION: of a companion itself.
PLAIN, MIRROR, ODIN, COMPANION = VIEWS = ("plain", "mirror", "odin", "companion")
# Behind the name of a tensor: in which view it is wanted.
MIRRORED, PERTURBED, OF_COMPANION = "@mirror", "@odin", "@companion"
SUFFIXES = {MIRROR: MIRRORED, ODIN: PERTURBED, COMPANION: OF_COMPANION}
SECOND = (ODIN, MIRROR)  # of the model, on another input, in the order in which they are made
NEED_COMPANION = (ODIN, COMPANION)


def named(tensor: str, view: str) -> str:
    """What users and monitors call a tensor in a view."""
    return tensor + SUFFIXES.get(view, "")


def tensor_of(name: str, view: str) -> str:
    """The tensor of which this is the name in a view."""
    return name.removesuffix(SUFFIXES.get(view, ""))


def split(name: str) -> tuple[str, str]:
    """The name in front of a suffix, and the view that the suffix says: PLAIN without one."""
    for view, suffix in SUFFIXES.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), view
    return name, PLAIN
