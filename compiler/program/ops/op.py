"""What an op is: a row with its number, inputs and tables, and one method for each thing that the
compiler needs to know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.grids import Array, Represented
from edgemon.compiler.program.ops.tables import type_of

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.neighbours import Around, TapRows
    from edgemon.compiler.program.quantise import Quantiser

Parts = dict[str, int]

F32 = np.float32
REAL = "float64"
NARROW = ("int8", "uint8", "int16", "int32")
BYTES = ("int8", "uint8")
TAP_BITS = {"int8": 7, "uint8": 8, "int16": 15, "float32": 0}
MAX_LENGTH = 1 << 20
MAX_WORKSPACE = 1 << 24
MAX_MONITORS = 32
MAX_BITS = {"int32": 30, "int64": 62}


@dataclass(frozen=True)
class Value:
    """Type of a value: dtype, number of elements, and for integers ``abs(x) <= 2**bits``."""

    dtype: str
    length: int
    bits: int = 0

    @property
    def is_float(self) -> bool:
        return self.dtype in ("float32", REAL)

    @property
    def is_int(self) -> bool:
        """Is it an integer that C computes with in 32 bits?"""
        return self.dtype in NARROW

    @property
    def one_by_one(self) -> str:
        """The part of a loop over single elements."""
        return "byte" if self.dtype in BYTES else "scalar"


@dataclass(frozen=True)
class Context:
    """What a type rule may look at."""

    op: str
    inputs: tuple[Value, ...]
    tables: tuple[Array, ...]
    classes: int  # of the class node that is the last input; 0 if it is none
    by_argmax: bool  # is that class node an argmax?

    @property
    def x(self) -> Value:
        return self.inputs[0]

    @property
    def y(self) -> Value:
        return self.inputs[1]

    def require(self, condition: bool, what: str) -> None:
        if not condition:
            types = ", ".join(f"{v.dtype}[{v.length}]" for v in self.inputs)
            raise CompileError(f"{self.op}({types}): {what}")

    def needs_numbers(self) -> None:
        """Refuses an int64, which only ``to_f32`` and ``add`` read."""
        self.require(self.x.is_int or self.x.is_float, "needs a vector of numbers")

    def is_float(self, *values: Value) -> bool:
        """Are they floats of one type?"""
        return len({v.dtype for v in values}) == 1 and values[0].is_float


@dataclass(frozen=True)
class Op:
    """A row of the table of ops. Its methods have defaults where most ops agree."""

    name: str
    number: int  # in the flat format; 0: in real programs only
    inputs: int
    tables: Mapping[str, str] = field(default_factory=dict)  # type of each, by its name

    # Type of the result; refuses inputs and tables that do not fit, in a CompileError.
    infer: ClassVar[Callable[[Any, Context], Value]]
    # The reference: of arrays (rows, length) for a node and its inputs, the result (rows, length).
    evaluate: ClassVar[Callable[..., Array]]
    # As ONNX: of names of (n, length) values (int32 in place of narrower integers) for a graph, a
    # node and its inputs, the name of the result. Equal to the reference bit for bit.
    onnx: ClassVar[Callable[..., str]]

    def check_tables(self, c: Context, *, real: bool) -> None:
        """Number and types of the inputs and tables; in real programs only types that follow x."""
        c.require(len(c.inputs) == self.inputs, f"needs {self.inputs} input(s)")
        c.require(len(c.tables) == len(self.tables), f"needs {len(self.tables)} table(s)")
        for (name, kind), table in zip(self.tables.items(), c.tables, strict=True):
            wanted = type_of(kind, c.x.dtype)
            fits = table.dtype.name == wanted or (real and wanted == kind)
            c.require(fits, f"`{name}` must be {wanted}, and is {table.dtype.name}")

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        """The device nodes of a real one; here the same op on floats."""
        inputs = map(q.floats, q.inputs(node))
        return Represented(q.node(self.name, *inputs, tables=node.tables))

    def classes(self, _: Value) -> int:
        """How many classes does a node on an input of this type choose from? 0: none."""
        return 0

    def choosing(self, node: Node, c: int, x: Array) -> Array:
        """For a class node: inputs in the shape of x (n, length) for which it chooses class c."""
        raise NotImplementedError(f"{self.name}: no class node")

    def edges(self, _: Around) -> Iterable[TapRows]:
        """Rows at the thresholds that a node on a tap holds."""
        return ()

    def widest(self, _: Node) -> int:
        """Elements a row of the largest intermediate result in ONNX that is no tap."""
        return 1

    def scratch(self, _: Value) -> int:
        """Bytes of workspace behind the result, for an input of this type."""
        return 0

    def steps(self, node: Node, x: Value) -> int:
        """Most steps of an evaluation (``cost.bill``): one an element of what is read or written,
        whichever is longer."""
        return max(x.length, node.value.length)

    def reads(self, node: Node, _: Value) -> int:
        """Most bytes of its tables that an evaluation reads (``cost.worst_case``)."""
        return sum(table.nbytes for table in node.tables)

    def parts(self, node: Node, x: Value) -> Parts:
        """What takes time (``cost.timing``): elements read or written, whichever are more."""
        return {"vector" if x.is_float else x.one_by_one: max(x.length, node.value.length)}


def wide(x: Array) -> Array:
    """Integers narrower than int32 widen; nothing else changes."""
    return x.astype(np.int32) if x.dtype.itemsize < 4 else x
