"""The ops, one row each: everything that the compiler knows of an op stands in its family's file.

A row (``op.Op``) has the op's number in the flat format, its inputs and tables; its methods are
the type rule, the reference, the way from a real to a device program, ONNX, rows at its edges,
and its cost. The same in words: ``runtime/FORMAT.md`` section 7; in C: the families of
``runtime/c/src``. A new op: ``docs/extending.md``.
"""

from edgemon.compiler.program.ops import (
    classes,
    dense,
    elements,
    maps,
    transcendental,
    trees,
    vectors,
)
from edgemon.compiler.program.ops.op import Op

FAMILIES = (elements, transcendental, vectors, maps, dense, classes, trees)
OPS: dict[str, Op] = {op.name: op for family in FAMILIES for op in family.OPS}
DEVICE_OPS: dict[int, Op] = {op.number: op for op in OPS.values() if op.number}  # by number
