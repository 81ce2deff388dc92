"""Estimated times: every op is counted, estimates add up, and larger programs take longer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon import targets
from edgemon.compiler.cost import timing
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.quantise import quantise
from edgemon.targets import PARTS, OpTimes
from tests.compiler.op_cases import NAMES, program_of
from tests.compiler.programs import DTYPES, real_program, rows_of, taps_of

ONES = OpTimes(dict.fromkeys(PARTS, 1.0))
SIZES = st.integers(1, 300)


def real_times() -> OpTimes:
    times = targets.load(targets.DEFAULT).times
    assert times is not None
    return times


def device_program(dtype: str) -> Program:
    rng = np.random.default_rng(3)
    taps = taps_of(dtype, rng)
    return quantise(real_program(taps, rows_of(taps, rng), rng))


def affine(dtype: str, length: int, rows: int) -> Program:
    wide = dtype == "int32"
    builder = Builder([Tap("c", "int8", 3, 0.1), Tap("x", "int16" if wide else dtype, length)])
    predicted = builder.node("argmax", 0)
    x = builder.node("gather", 1, tables=[np.arange(length, dtype=np.uint32)]) if wide else 1
    tables = [np.ones(rows * length, np.int16), np.zeros(rows, np.int32)]
    if dtype == "float32":
        tables = [t.astype(np.float32) for t in tables]
    builder.node("affine", x, tables=tables)
    return builder.program(predicted, [Monitor("m", predicted, 1, 1)])


def boxes(length: int, by_class: tuple[int, int, int]) -> Program:
    builder = Builder([Tap("c", "int8", 3, 0.1), Tap("x", "int8", length, 0.1)])
    predicted = builder.node("argmax", 0)
    count = sum(by_class) * length
    first = np.cumsum([0, *by_class]).astype(np.uint32)
    bounds = [np.zeros(count, np.int8), np.ones(count, np.int8)]
    score = builder.node("boxes", 1, predicted, tables=[*bounds, np.ones(length, np.int32), first])
    return builder.program(predicted, [Monitor("m", score, 1, 1)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_op_has_known_parts(dtype: str) -> None:
    program = device_program(dtype)
    assert {n.op for n in program.nodes} >= {"affine", "boxes", "hamming", "kernels", "trees"}
    found = timing.parts(program)
    assert found.keys() <= PARTS.keys()
    assert all(isinstance(v, int) and v >= 0 for v in found.values())


def test_all_parts_occur_in_some_program() -> None:
    """A part that nothing counts would be measured for nothing."""
    programs = [program_of(op, dtype) for op, dtype in NAMES]
    found = {part for program in programs for part in timing.parts(program)}
    # Neither sums of that many floats nor such integers are in the small programs.
    assert found | {"long_sum", "affine_wide"} == PARTS.keys()
    assert "long_sum" in timing.parts(affine("float32", 65, 2))
    assert timing.parts(affine("int32", 4, 3))["affine_wide"] == 12


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_estimate_is_the_sum_of_its_nodes_and_taps(dtype: str) -> None:
    program, times = device_program(dtype), real_times()
    whole = timing.nanoseconds(program, times)
    each = [times.of(timing.of_tap(t)) for t in program.taps]
    each += [
        times.of(timing.of_node(n, [program.value(i) for i in n.inputs])) for n in program.nodes
    ]
    fixed = times.of({"evaluation": 1, "node": len(program.monitors)})
    assert whole == pytest.approx(fixed + sum(each))
    assert whole == timing.nanoseconds(program, times)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_part_of_a_program_takes_no_longer_than_the_whole(dtype: str) -> None:
    program = device_program(dtype)
    whole = timing.parts(program)
    for monitor in program.monitors:
        own = timing.parts(program.only(monitor.name))
        assert all(count <= whole[part] for part, count in own.items())


@given(st.sampled_from(["int8", "int16", "int32", "float32"]), SIZES, SIZES, SIZES, SIZES)
def test_more_weights_take_longer(dtype: str, n: int, k: int, more_n: int, more_k: int) -> None:
    """In steps of four inputs: a sum of 12 floats takes less than one of 9."""
    small = timing.nanoseconds(affine(dtype, 4 * n, k), ONES)
    assert timing.nanoseconds(affine(dtype, 4 * n, k + more_k), ONES) > small
    assert timing.nanoseconds(affine(dtype, 4 * (n + more_n), k), ONES) >= small


@given(SIZES, st.tuples(*[st.integers(0, 9)] * 3))
def test_the_class_with_the_most_boxes_counts(length: int, by_class: tuple[int, int, int]) -> None:
    found = timing.parts(boxes(length, by_class))
    assert found["boxes_int"] == max(by_class) * length
    assert found["row"] == max(by_class)


@given(st.dictionaries(st.sampled_from(sorted(PARTS)), st.integers(0, 10**6)))
def test_times_of_parts_are_additive(counts: dict[str, int]) -> None:
    times = real_times()
    assert times.of(counts) == pytest.approx(sum(times.of({k: v}) for k, v in counts.items()))


def trees(depths: list[int]) -> dict[str, int]:
    """Parts of a forest of chains with these depths."""
    nodes, values, roots = [], [], []
    for depth in depths:
        roots += [len(values), depth]
        for step in range(depth + 1):
            at = len(values)
            leaf = step == depth
            if step:  # the left child of each step is a leaf
                nodes += [2**31 - 1, at * 65536]
                values.append(1)
                at += 1
            nodes += [2**31 - 1, at * 65536] if leaf else [0, (at + 1) * 65536]
            values.append(1 if leaf else 0)
    builder = Builder([Tap("c", "int8", 3, 0.1)])
    predicted = builder.node("argmax", 0)
    score = builder.node(
        "trees", 0, tables=[np.array(nodes, np.uint32), np.array(values, np.int32),
                            np.array(roots, np.uint32)],
    )  # fmt: skip
    return timing.parts(builder.program(predicted, [Monitor("m", score, 1, 1)]))


def test_four_trees_go_as_deep_as_the_deepest() -> None:
    found = trees([1, 2, 5, 3, 7])
    assert (found["trees"], found["tree"]) == (4 * 5, 7)
    few = trees([4, 2, 3])  # the deepest is waited for, the others go meanwhile
    assert (few["trees"], few["tree"]) == (2 + 3, 4)


@pytest.mark.parametrize(
    ("terms", "padded", "ragged", "long"),
    [(1, 8, 0, 0), (9, 16, 1, 0), (12, 16, 0, 0), (64, 64, 0, 0), (65, 128, 0, 128)],
)
def test_sums_of_floats_fill_up_to_a_power_of_two(
    terms: int, padded: int, ragged: int, long: int
) -> None:
    found = timing.parts(affine("float32", terms, 3))
    assert (found["sum"], found["affine_float"]) == (3, 3 * padded)
    assert (found.get("ragged", 0), found.get("long_sum", 0)) == (3 * ragged, 3 * long)
