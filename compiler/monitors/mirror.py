"""A second opinion that has seen the image mirrored as well: a second inference for each image.

A model's errors often hang on details of the image, and are others on its mirror image. The weights
are learned, so that classes which mirroring exchanges (keep left, keep right) are no obstacle.
"""

from __future__ import annotations

from typing import ClassVar

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis
from edgemon.compiler.monitors.second_opinion import SecondOpinionMonitor
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.views import MIRRORED


class MirrorMonitor(SecondOpinionMonitor):
    """Multinomial logistic regression, as ``second_opinion``, on layers of both inferences."""

    kind: ClassVar[str] = "mirror"
    default_taps: ClassVar[tuple[str, ...]] = (
        "penultimate", "logits", "penultimate" + MIRRORED, "logits" + MIRRORED,
    )  # fmt: skip
    reads_layers: ClassVar[bool] = False  # a bare rule would leave out the mirrored image
    what: ClassVar[str] = "a linear classifier that also saw the mirrored image disagrees"
    source: ClassVar[str] = (
        "test-time augmentation by the mirrored image, whose inferences a linear probe combines"
    )

    def analyse(self, model: Model) -> Analysis:  # noqa: ARG002 - a hook
        return Analysis(self.default_taps)

    def smaller(self, recording: Recording) -> None:  # noqa: ARG002 - what it is needs all
        return None

    def check_taps(self) -> None:
        super().check_taps()
        if not any(name.endswith(MIRRORED) for name in self.taps):
            raise CompileError(
                f"monitor {self.kind!r} reads no mirrored layer; name one, as in --taps "
                f"{self.kind}=logits+logits{MIRRORED}"
            )
