"""The C of ``op-bounds``, made by the machine's own compiler and called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.runtime.monitor import DTYPES
from edgemon.targets.toolchain import C_FOLDER

Array = npt.NDArray[Any]

HERE = Path(__file__).parent
FLAGS = ("-std=gnu11", "-ffp-contract=off", "-shared", "-fPIC")
NO_MODEL = "00" * 32  # an artifact that is only timed belongs to no model
CODES = {name: code for code, name in DTYPES.items()}


def compiler(wanted: str | None) -> str:
    """The C compiler to take. Raises BenchError if there is none."""
    for name in [wanted] if wanted else ["cc", "gcc", "clang"]:
        if (found := shutil.which(name)) is not None:
            return found
    raise BenchError(
        f"op-bounds: no C compiler {wanted!r}; name one with --cc"
        if wanted
        else "op-bounds: no C compiler (cc, gcc or clang) is installed; name one with --cc"
    )


def build(cc: str, level: str, source: str, folder: Path) -> ctypes.CDLL:
    """A shared library of a source beside this file, and of the runtime if it is ``runtime.c``."""
    out = folder / f"{Path(source).stem}{level}.so"
    files = [str(HERE / source)]
    if source == "runtime.c":
        _run([sys.executable, str(C_FOLDER / "amalgamate.py"), str(folder)])
        files += [str(folder / "edgemon.c"), f"-I{folder}"]
    _run([cc, level, *FLAGS, *files, "-lm", "-o", str(out)])
    return ctypes.CDLL(str(out))


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["no reason given"]
        raise BenchError(f"op-bounds: {Path(command[0]).name} failed: {said[0][:300]}")


class Runtime:
    """The C runtime at one level of optimisation."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.runtime_open.restype = c_void_p
        library.runtime_open.argtypes = [c_char_p, c_size_t, POINTER(c_int)]
        library.runtime_close.argtypes = [c_void_p]
        library.runtime_ns.restype = c_double

    def timer(self, program: Program, taps: Sequence[Array]) -> Timer:
        """Of one program on rows of its taps. Raises BenchError if it is refused."""
        artifact = flat.write(flat.Artifact(program, NO_MODEL, {}))
        status = c_int()
        opened = self._library.runtime_open(artifact, len(artifact), ctypes.byref(status))
        if not opened:
            raise BenchError(f"op-bounds: the runtime refuses a program (status {status.value})")
        n = len(taps)
        data = (c_void_p * n)(*(t.ctypes.data for t in taps))
        numbers = [
            (c_int64 * n)(*values)
            for values in (
                [CODES[t.dtype.name] for t in taps],
                [t.shape[1] for t in taps],
                [t.strides[0] for t in taps],
            )
        ]
        reason = c_int()

        def ns(passes: int) -> float:
            found = float(
                self._library.runtime_ns(
                    c_void_p(opened), data, *numbers, c_int64(len(taps[0])), c_int64(passes),
                    ctypes.byref(reason),
                )
            )  # fmt: skip
            if reason.value:
                raise BenchError(f"op-bounds: an evaluation is a fault (status {reason.value})")
            return found

        return Timer(ns, lambda: self._library.runtime_close(opened), (data, *taps))


class Timer:
    """Something to time: ``ns(passes)`` is the mean of so many passes."""

    def __init__(self, ns: Any, close: Any = None, kept: Any = None) -> None:
        self.ns, self._close, self._kept = ns, close, kept

    def close(self) -> None:
        """Frees what C holds."""
        if self._close is not None:
            self._close()


class Plain:
    """Plain C at one level of optimisation."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.plain_ns.restype = library.stream_ns.restype = c_double

    def has(self, name: str) -> bool:
        """Is there such an op?"""
        return hasattr(self._library, name)

    def timer(
        self, name: str, x: Array, tables: Sequence[Array], shape: Sequence[int], out: Array
    ) -> Timer:
        """Of one op on rows of x; the result of the last row is left in ``out``."""
        op = ctypes.cast(getattr(self._library, name), c_void_p)
        pointers = (c_void_p * max(1, len(tables)))(*(t.ctypes.data for t in tables))
        numbers = (c_int64 * len(shape))(*shape)

        def ns(passes: int) -> float:
            return float(
                self._library.plain_ns(
                    op, c_void_p(x.ctypes.data), c_int64(x.strides[0]), c_int64(len(x)), pointers,
                    numbers, c_void_p(out.ctypes.data), c_int64(passes),
                )
            )  # fmt: skip

        return Timer(ns, kept=(x, *tables, out))

    def stream(self, count: int) -> Timer:
        """Of reading ``count`` bytes."""
        words = np.zeros(max(1, count // 8), np.uint64)

        def ns(passes: int) -> float:
            return float(
                self._library.stream_ns(
                    c_void_p(words.ctypes.data), c_int64(len(words)), c_int64(passes)
                )
            )

        return Timer(ns, kept=words)
