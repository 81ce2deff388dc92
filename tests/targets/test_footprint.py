"""What the runtime costs on a target: by the artifact's ops, by the call graph, from its tools."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgemon import targets
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.targets import TargetError
from edgemon.targets.call_graph import CallGraph
from edgemon.targets.footprint import EVALUATION
from edgemon.targets.toolchain import missing
from tests.runtime.versions import make

EVERY_OP = (make.HERE / "1.2.emon").read_bytes()


def installed(name: str) -> targets.Target:
    """A target whose toolchain is there, or a skip."""
    target = targets.load(name)
    if absent := missing((target.cc, target.size)):
        pytest.skip(f"{absent[0]} is not installed")
    return target


@cache
def with_all_ops(name: str) -> targets.Footprint:
    return targets.measure(installed(name))


@pytest.mark.parametrize("name", targets.names())
def test_of_every_target(name: str) -> None:
    """No data of its own, and a stack that is bounded: no recursion, no call through a pointer."""
    found = with_all_ops(name)
    assert found.data == 0
    assert found.code > 8000
    assert 500 < found.structs < 800
    assert set(found.stacks) == set(EVALUATION)
    assert found.stack == max(found.stacks.values())
    assert found.stacks["em_self_test"] > found.stacks["em_check"]


def test_only_the_ops_of_an_artifact_count(bundle: Path) -> None:
    target = installed("host-x86_64")
    own = targets.measure(target, (bundle / "monitor.emon").read_bytes())
    everything = with_all_ops("host-x86_64")
    assert own.code < 0.7 * everything.code
    assert own.stack <= everything.stack


def test_a_function_counts_once_on_each_way_to_it() -> None:
    """It said 7,704 bytes of stack where 2,096 were needed: it added every function once."""
    assert with_all_ops("host-x86_64").stack < 4000


def integers_alone() -> bytes:
    """An artifact without a float."""
    b = Builder([Tap("logits", "int8", 4), Tap("codes", "int8", 8)])
    predicted = b.node("argmax", 0)
    lower = np.full(32, -9, np.int8)
    first = np.arange(5, dtype=np.uint32)
    tables = [lower, lower + np.int8(20), np.ones(8, np.int32), first]
    outside = b.node("boxes", 1, predicted, tables=tables)
    program = b.program(predicted, [Monitor("box", outside, 3, 0)])
    return flat.write(flat.Artifact(program, "00" * 32, {}))


def test_limits_of_a_cortex_m4f() -> None:
    """At -Os: 17 kB with all ops, 1,000 bytes of stack in evaluation and self-test, no double."""
    found = with_all_ops("cortex-m4f")
    assert found.code + found.read_only <= 17 * 1024
    assert found.stacks["em_evaluate"] <= 1000
    assert found.stacks["em_self_test"] <= 1000
    assert not {name for name in found.outside if re.match(r"__aeabi_(c?d|\w+2d$)", name)}


def test_integers_alone_need_no_floats_in_software() -> None:
    """On a processor without a floating-point unit, where each would be a call."""
    target = installed("cortex-m0plus")
    floats = re.compile(r"__aeabi_(c?[fd]|\w+2[fd]$)")
    own = targets.measure(target, integers_alone())
    assert not {name for name in own.outside if floats.match(name)}
    assert {name for name in with_all_ops("cortex-m0plus").outside if floats.match(name)}


def test_the_red_zone_counts() -> None:
    found = with_all_ops("host-x86_64")
    assert found.stack == sum(size for _, size in found.chain) + 128


def test_what_is_missing_is_said() -> None:
    target = replace(targets.load("cortex-m4f"), cc="no-such-gcc")
    with pytest.raises(TargetError) as found:
        targets.measure(target)
    assert "'no-such-gcc' is not installed" in str(found.value)
    assert "apt-get install gcc-arm-none-eabi" in str(found.value)


def test_a_compiler_without_call_graphs_is_named() -> None:
    target = replace(installed("host-x86_64"), cc="clang")
    if missing(["clang"]):
        pytest.skip("clang is not installed")
    with pytest.raises(TargetError, match="name a gcc of version 10 or later"):
        targets.measure(target)


def test_a_section_that_nobody_knows_is_no_silence() -> None:
    target = installed("host-x86_64")
    odd = replace(
        target, cflags=(*target.cflags, "-include", str(Path(__file__).with_name("odd.h")))
    )
    with pytest.raises(TargetError, match=r"section .odd of 4 bytes"):
        targets.measure(odd)


def test_a_call_graph_of_nothing_is_no_bound() -> None:
    assert CallGraph.parse("").deepest() == {}
