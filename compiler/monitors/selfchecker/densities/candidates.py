"""The forms that a layer could take on the device: their bytes, and how well they agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.selfchecker.densities.density import ClassDensity
from edgemon.compiler.monitors.selfchecker.densities.gaussian import Gaussian, Precisions
from edgemon.compiler.monitors.selfchecker.densities.marginal import Marginal
from edgemon.compiler.monitors.selfchecker.densities.statistics import LayerStatistics
from edgemon.compiler.monitors.selfchecker.densities.subset import Subset
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.ops.op import MAX_LENGTH
from edgemon.compiler.program.quantise import quantise

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.integer]

FORMS = ("gaussian", "marginal", "subset")
DIMENSIONS = (4, 8, 16, 32, 48, 64, 128)
RANKS = (0, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)
PSEUDO_ROWS = (0.02, 1.0, 10.0)  # a class, in units of the dimensions
KERNELS = (4, 16, 64, 256)
SUBSET_DIMENSIONS = (8, 16, 32)
BINS = 32
PCA = (4, 8, 16)
WIDTHS = (0.7, 1.0, 1.4)


@dataclass(frozen=True, eq=False)
class DensityCandidate:
    """One form of one layer."""

    density: ClassDensity
    size_bytes: int
    agreement: float  # share of rows on which its class is the exact density's


class LayerCandidates:
    """Fits the forms of one layer and measures them.

    Args:
        tap: what the device reads.
        x, labels: features and true classes of the density rows.
        judged, exact: features and exact classes of the rows on which agreement is measured.
    """

    def __init__(
        self, tap: Tap, x: Floats, labels: Array, n_classes: int, judged: Floats, exact: Array
    ) -> None:
        self.tap = tap
        self.x, self.labels, self.n_classes = x, labels, n_classes
        self.judged, self.exact = judged, exact
        self.statistics = LayerStatistics(x, labels, n_classes)

    def within(self, most_bytes: int, forms: tuple[str, ...]) -> list[DensityCandidate]:
        """All candidates of these forms that fit; never one that another equals with fewer bytes,
        ascending in bytes."""
        found = [c for form in forms for c in self._of_form(form, most_bytes)]
        return frontier(c for c in found if c.size_bytes <= most_bytes)

    def _of_form(self, form: str, most_bytes: int) -> Iterator[DensityCandidate]:
        if not self.statistics.dimensions:
            return
        if form == "gaussian":
            yield from map(self._measured, self._gaussians(most_bytes))
        elif form == "marginal":
            yield from map(self._measured, self._marginals(most_bytes))
        else:
            yield from map(self._measured, self._subsets(most_bytes))

    def _measured(self, density: ClassDensity) -> DensityCandidate:
        return DensityCandidate(density, size_bytes(self.tap, density), self._agreement(density))

    def _agreement(self, density: ClassDensity) -> float:
        return float((density.log_densities(self.judged).argmax(axis=1) == self.exact).mean())

    def _gaussians(self, most_bytes: int) -> Iterator[Gaussian]:
        own, weight = self.tap.width, self._weight_bytes()
        most = self.statistics.dimensions
        for q in self._dimensions(DIMENSIONS):
            shapes: list[Precisions] = []
            for rank in sorted({min(r, q) for r in RANKS}):
                rows = self.n_classes * (rank + 1)
                folded, unfolded = rows * own * weight, q * own * weight + rows * q * 4
                if min(folded, unfolded) > most_bytes or rows > MAX_LENGTH:
                    break
                shapes = shapes or [Precisions(self.statistics, q, p * most) for p in PSEUDO_ROWS]
                options = [Gaussian(s, rank, folded=folded <= unfolded) for s in shapes]
                yield max(options, key=self._agreement)

    def _marginals(self, most_bytes: int) -> Iterator[Marginal]:
        discriminants = self.statistics.discriminants(self.n_classes - 1)
        principal = self.statistics.principal(self.x, max(PCA))
        sizes = sorted({min(n, len(principal)) for n in PCA})
        projections = [("lda", discriminants), *(("pca", principal[:n]) for n in sizes)]
        for name, directions in projections:
            if len(directions) and self.n_classes * len(directions) * BINS * 2 <= most_bytes:
                density = Marginal(name, directions, BINS)
                yield density.fit(self.x, self.labels, self.n_classes)

    def _subsets(self, most_bytes: int) -> Iterator[Subset]:
        fewest = int(self.statistics.counts[self.statistics.counts > 0].min())
        for q in self._dimensions(SUBSET_DIMENSIONS):
            width = 1.0
            for m in (k for k in KERNELS if k <= max(fewest, KERNELS[0])):
                if self.n_classes * m * (q + 4) > most_bytes:
                    break
                options = [
                    Subset(q, m, w).fit(self.statistics, self.x, self.labels)
                    for w in (WIDTHS if m == KERNELS[0] else (width,))
                ]
                best = max(options, key=self._agreement)
                width = best.width
                yield best

    def _dimensions(self, wanted: tuple[int, ...]) -> list[int]:
        most = self.statistics.dimensions
        return sorted({min(n, most) for n in wanted})

    def _weight_bytes(self) -> int:
        """Integers that are read as they are have 16-bit weights, everything else floats."""
        return 2 if self.tap.dtype in ("int8", "uint8") and not self.tap.channels else 4


def frontier(candidates: Iterable[DensityCandidate]) -> list[DensityCandidate]:
    """Ascending in bytes and in agreement; the others are dropped."""
    kept: list[DensityCandidate] = []
    for candidate in sorted(candidates, key=lambda c: (c.size_bytes, -c.agreement)):
        if not kept or candidate.agreement > kept[-1].agreement:
            kept.append(candidate)
    return kept


def size_bytes(tap: Tap, density: ClassDensity) -> int:
    """Bytes of tables and nodes of the layer's class on the device."""
    builder = Builder([tap], real=True)
    own = builder.node("argmax", density.lower(builder, builder.features(tap.name)))
    program = quantise(builder.program(own, [Monitor("layer", own, 0, 0)]))
    return Bill(program, None).together().size_bytes


def allocate(layers: list[list[DensityCandidate]], budget_bytes: int) -> list[DensityCandidate]:
    """One candidate a layer within the budget of all: from the smallest on, always the step with
    the most agreement for its bytes. Raises CompileError if even the smallest do not fit."""
    chosen = [0] * len(layers)
    spent = sum(c[0].size_bytes for c in layers)
    if spent > budget_bytes:
        raise CompileError(
            f"selfchecker: the smallest densities of {len(layers)} layers take {spent:,} bytes, of "
            f"which budget_kb leaves {max(0, budget_bytes):,} beside the rule's tables; raise it, "
            "or lower max_layers"
        )
    while True:
        steps = [
            ((c.agreement - now.agreement) / (c.size_bytes - now.size_bytes), i, k)
            for i, (options, at) in enumerate(zip(layers, chosen, strict=True))
            for now in (options[at],)
            for k, c in enumerate(options)
            if k > at and spent - now.size_bytes + c.size_bytes <= budget_bytes
        ]
        if not steps:
            return [options[at] for options, at in zip(layers, chosen, strict=True)]
        _, i, k = max(steps, key=lambda s: s[0])
        spent += layers[i][k].size_bytes - layers[i][chosen[i]].size_bytes
        chosen[i] = k
