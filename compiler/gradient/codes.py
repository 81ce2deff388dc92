"""What the whole numbers mean that a model takes and has no scale of, as those of ONNX."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgemon.runtime.preprocess import Preprocess


@dataclass(frozen=True)
class Codes:
    """real = ``scale`` * (code - ``zero_point``)."""

    scale: float = 1.0
    zero_point: int = 0

    def reals(self, preprocess: Preprocess) -> Preprocess:
        """To the real values where ``preprocess`` goes to the codes, which it does not round."""
        std, mean = preprocess.std or (1.0,), preprocess.mean or (0.0,)
        channels = max(len(std), len(mean))
        each = zip(*(v * (channels if len(v) == 1 else 1) for v in (mean, std)), strict=True)
        return replace(
            preprocess, scale=preprocess.scale * self.scale, offset=preprocess.offset * self.scale,
            mean=tuple(self.scale * (m + self.zero_point * d) for m, d in each),
        )  # fmt: skip
