"""How long one evaluation takes on a target: parts counted here, times from the target's profile.

The parts (``targets.times.PARTS``; of each op ``Op.parts``) follow the inner loops of the C
runtime. Evaluation has no early exit, so that a count bounds every evaluation; only ``boxes`` and
``hamming`` take fewer, for a class with fewer boxes or patterns. What is not modelled: caches, and
how busy the device is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from edgemon.compiler.program.ir import Node, Program, Tap
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.program.ops.op import Parts, Value
from edgemon.targets import OpTimes


def nanoseconds(program: Program, times: OpTimes) -> float:
    """Estimated time of one evaluation of a device program, everything in it included."""
    return times.of(parts(program))


def parts(program: Program) -> Parts:
    """How many of each part one evaluation of a device program has."""
    found = Counter({"evaluation": 1, "node": len(program.monitors)})
    for tap in program.taps:
        found.update(of_tap(tap))
    for node in program.nodes:
        found.update(of_node(node, [program.value(i) for i in node.inputs]))
    return dict(found)


def of_tap(tap: Tap) -> Parts:
    """What it takes to accept a tap."""
    return {"node": 1, **({"check": tap.length} if tap.dtype == "float32" else {})}


def of_node(node: Node, inputs: Sequence[Value]) -> Parts:
    """What it takes to run a node on inputs of these types."""
    return {"node": 1, **OPS[node.op].parts(node, inputs[0])}
