"""Compact densities: the program computes what NumPy does, and what they are compared with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import gaussian_kde, multivariate_normal

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.selfchecker.densities.candidates import (
    FORMS,
    DensityCandidate,
    LayerCandidates,
    allocate,
    frontier,
    size_bytes,
)
from edgemon.compiler.monitors.selfchecker.densities.density import ClassDensity
from edgemon.compiler.monitors.selfchecker.densities.gaussian import Gaussian, Precisions
from edgemon.compiler.monitors.selfchecker.densities.marginal import Marginal
from edgemon.compiler.monitors.selfchecker.densities.statistics import LayerStatistics
from edgemon.compiler.monitors.selfchecker.densities.subset import Subset
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.quantise import quantise

CLASSES, WIDTH, MAP = 3, 6, 10
Floats = npt.NDArray[np.float64]


def rows(n: int, seed: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Classes that differ in place and in shape; neuron 4 never varies."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(7)
    mixing = fixed.normal(0, 1, (CLASSES, WIDTH, WIDTH))
    labels = rng.integers(0, CLASSES, n)
    x = fixed.normal(0, 1.5, (CLASSES, WIDTH))[labels]
    x = x + np.einsum("nij,nj->ni", mixing[labels], rng.normal(0, 1, (n, WIDTH)))
    x[:, 4] = 1.0
    return x, labels


def every_form() -> list[ClassDensity]:
    x, labels = rows(600, 0)
    found = LayerStatistics(x, labels, CLASSES)
    return [
        *(
            Gaussian(Precisions(found, q), rank, folded=folded)
            for q, rank in ((5, 5), (5, 2), (3, 0))
            for folded in (False, True)
        ),
        Marginal("lda", found.discriminants(2), 32).fit(x, labels, CLASSES),
        Marginal("pca", found.principal(x, 3), 32).fit(x, labels, CLASSES),
        Subset(4, 8).fit(found, x, labels),
    ]


@pytest.mark.parametrize("density", every_form(), ids=lambda d: f"{d.form}-{d.settings()}")
def test_the_real_program_computes_the_same_up_to_a_shared_term(density: ClassDensity) -> None:
    x, _ = rows(200, 1)
    builder = Builder([Tap("t", "float32", WIDTH)], real=True)
    id_ = density.lower(builder, builder.features("t"))
    program = builder.program(builder.node("argmax", id_), [])
    found = reference.run_real(program, [x])[id_]
    expected = density.log_densities(x)
    np.testing.assert_allclose(
        found - found[:, :1], expected - expected[:, :1], rtol=1e-9, atol=1e-7
    )


@pytest.mark.parametrize("density", every_form(), ids=lambda d: f"{d.form}-{d.settings()}")
@pytest.mark.parametrize("kind", ["int8", "float32", "map"])
def test_the_device_infers_the_same_class(density: ClassDensity, kind: str) -> None:
    tap = {
        "int8": Tap("t", "int8", WIDTH, 0.08, 3),
        "float32": Tap("t", "float32", WIDTH),
        "map": Tap("t", "int8", WIDTH * MAP, 0.08, 3, channels=WIDTH),
    }[kind]
    x, _ = rows(400, 2)
    if kind == "float32":
        codes = x.astype(np.float32)
        x = codes.astype(np.float64)
    else:
        spread = np.repeat(x, MAP, axis=0).reshape(400, -1) if kind == "map" else x
        codes = np.clip(np.rint(spread / 0.08) + 3, -128, 127).astype(np.int8)
        x = tap.values(codes)
        x = x.reshape(400, MAP, WIDTH).mean(axis=1) if kind == "map" else x
    builder = Builder([tap], real=True)
    own = builder.node("argmax", density.lower(builder, builder.features("t")))
    program = quantise(builder.program(own, [Monitor("m", own, 0, 0)]))
    values, overflow = reference.run_device(program, [codes])
    assert not overflow.any()
    same = values[program.monitors[0].score][:, 0] == density.log_densities(x).argmax(axis=1)
    assert same.mean() > 0.995


def test_the_full_gaussian_is_the_quadratic_discriminant() -> None:
    x, labels = rows(600, 0)
    full = Gaussian(Precisions(LayerStatistics(x, labels, CLASSES), 5, 1e-9), 5, folded=True)
    test, _ = rows(50, 1)
    kept = [0, 1, 2, 3, 5]
    expected = np.stack(
        [
            multivariate_normal(
                x[labels == c][:, kept].mean(axis=0), np.cov(x[labels == c][:, kept].T)
            ).logpdf(test[:, kept])
            for c in range(CLASSES)
        ],
        axis=1,
    )
    found = full.log_densities(test)
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], atol=1e-5)


def test_a_marginal_is_the_sum_of_its_one_dimensional_densities() -> None:
    x, labels = rows(900, 0)
    found = Marginal("pca", np.eye(WIDTH)[:2], 256).fit(x, labels, CLASSES).log_densities(x)
    expected = np.stack(
        [
            sum(gaussian_kde(x[labels == c, i]).logpdf(x[:, i]) for i in (0, 1))
            for c in range(CLASSES)
        ],
        axis=1,
    )
    difference = (found - found[:, :1]) - (expected - expected[:, :1])
    assert np.quantile(np.abs(difference), 0.9) < 0.1


def test_a_class_without_rows_or_with_one_is_never_a_fault() -> None:
    x, labels = rows(300, 0)
    labels = labels % 2
    labels[0] = 2
    found = LayerStatistics(x, labels, CLASSES + 1)
    for density in (
        Gaussian(Precisions(found, 5), 5, folded=False),
        Marginal("pca", found.principal(x, 3), 32).fit(x, labels, CLASSES + 1),
        Subset(4, 8).fit(found, x, labels),
    ):
        values = density.log_densities(x)
        assert np.isfinite(values).all()
        assert (values.argmax(axis=1) != CLASSES).all()


def test_statistics_order_directions_by_what_they_tell() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 4000)
    x = rng.normal(0, 1, (4000, 3))
    x[:, 1] += 6 * labels
    x[:, 2] *= 1 + 2 * labels
    found = LayerStatistics(x, labels, 2)
    share = np.abs(found.basis * x.std(axis=0)[:, None])
    assert share[:, 0].argmax() == 1
    assert share[:, 1].argmax() == 2
    u = found.coordinates(x)
    within = sum(np.cov(u[labels == c].T) * (labels == c).mean() for c in (0, 1))
    np.testing.assert_allclose(within, np.eye(3), atol=0.01)


def candidates(form: str, most_bytes: int = 1 << 16) -> list[DensityCandidate]:
    x, labels = rows(600, 0)
    judged, truth = rows(300, 1)
    tap = Tap("t", "int8", WIDTH, 0.08, 3)
    return LayerCandidates(tap, x, labels, CLASSES, judged, truth).within(most_bytes, (form,))


@pytest.mark.parametrize("form", FORMS)
def test_candidates_are_measured_and_only_the_better_cost_more(form: str) -> None:
    judged, truth = rows(300, 1)
    found = candidates(form)
    assert found
    for c in found:
        own = c.density.log_densities(judged).argmax(axis=1)
        assert c.agreement == (own == truth).mean()
        assert c.density.form == form
    bytes_, agreement = zip(*((c.size_bytes, c.agreement) for c in found), strict=True)
    assert list(bytes_) == sorted(set(bytes_))
    assert list(agreement) == sorted(set(agreement))


def test_no_candidate_exceeds_the_bytes() -> None:
    most = candidates("gaussian")[-1].size_bytes
    fewer = candidates("gaussian", most - 1)
    assert fewer
    assert max(c.size_bytes for c in fewer) < most
    assert not candidates("gaussian", 40)


def test_folding_is_chosen_by_bytes() -> None:
    """A wide layer of few dimensions is projected once; a narrow one is read by every row."""
    x, labels = rows(600, 0)
    wide = np.concatenate([x, np.random.default_rng(0).normal(0, 1, (600, 58))], axis=1)
    occurred = set()
    for values in (x, wide):
        tap = Tap("t", "float32", values.shape[1])
        offered = LayerCandidates(tap, values, labels, CLASSES, values, labels)
        for d in (c.density for c in offered.within(1 << 14, ("gaussian",))):
            assert isinstance(d, Gaussian)
            other = Gaussian.__new__(Gaussian)
            vars(other).update(vars(d), folded=not d.folded)
            assert size_bytes(tap, d) <= size_bytes(tap, other) + 64  # a node's own bytes
            occurred.add(d.folded)
    assert occurred == {False, True}


def fake(size: int, agreement: float) -> DensityCandidate:
    return DensityCandidate(every_form()[0], size, agreement)


def test_bytes_go_where_they_raise_agreement_most() -> None:
    a = [fake(10, 0.5), fake(20, 0.9), fake(100, 0.92)]
    b = [fake(10, 0.5), fake(40, 0.6), fake(60, 0.95)]
    for budget, expected in ((20, (10, 10)), (30, (20, 10)), (80, (20, 60)), (160, (100, 60))):
        assert tuple(c.size_bytes for c in allocate([a, b], budget)) == expected
    with pytest.raises(CompileError, match="2 layers take 20 bytes, of which budget_kb leaves 19"):
        allocate([a, b], 19)


def test_the_frontier_drops_what_is_larger_and_no_better() -> None:
    found = frontier(iter([fake(30, 0.7), fake(10, 0.6), fake(20, 0.6), fake(10, 0.5)]))
    assert [(c.size_bytes, c.agreement) for c in found] == [(10, 0.6), (30, 0.7)]
