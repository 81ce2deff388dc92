"""Write the C runtime as edgemon.c and edgemon.h, to drop into any build; edgemon.hpp is for C++.

    python amalgamate.py OUTPUT_DIRECTORY
    python amalgamate.py OUTPUT_DIRECTORY --layout arduino       as a library for Arduino, or as a
                                                                 component: esp-idf, zephyr
    python amalgamate.py OUTPUT_DIRECTORY --for monitor.emon     only the ops that it needs
    python amalgamate.py OUTPUT_DIRECTORY --ops argmax,max,sub   only these ops, of integers alone
    python amalgamate.py OUTPUT_DIRECTORY --ops argmax,floats    and of floats
    python amalgamate.py --for monitor.emon                      print what it needs

Compile edgemon.c with -ffp-contract=off: what rounds otherwise is refused by em_open. Or have no
symbols at all: `#define EM_API static` and `#include "edgemon.c"` in one file of your own. An
artifact that needs an op which was left out is refused: EM_E_OP_LEFT_OUT, and em_missing_op.
"""

import argparse
import re
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PRIVATE = (
    "em_layout.h", "em_crc_table.h", "em_op_list.h", "em_math.h", "em_sums.h", "em_rows.h",
    "em_open.h", "em_ops.h", "em_wide.h", "em_means.h",
)  # fmt: skip
SOURCES = sorted(path.name for path in (HERE / "src").glob("*.c"))
HEAD = """\
/* edgemon, the C runtime in one file; made by amalgamate.py: change the sources, not this.
 * Compile with -ffp-contract=off. */
#define EM_INTERNAL static
"""
MAGIC, HEADER, RECORD = b"\x8eEMON\r\n\x1a", 64, 16  # FORMAT.md, sections 2 and 3
# Arduino knows no flags of a library's own. em_open finds out whether the compiler obeys.
UNFUSED = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("-ffp-contract=off")
#endif
"""
LAYOUTS = HERE / "layouts"
TAPS, NODES, F32 = 2, 3, 6  # kinds of sections, and a data type
FLOATS = "floats"  # what a build has beside ops


def op_names() -> dict[int, str]:
    """The ops by number, of the runtime's own list."""
    rows = (HERE / "src" / "em_op_list.h").read_text(encoding="utf-8")
    return {int(number): name for number, name in re.findall(r"X\((\d+), \w+, (\w+),", rows)}


def needs_of(artifact: Path) -> set[str]:
    """Names of the ops that a .emon file, or the one of a bundle, needs; "floats" too."""
    path = artifact / "monitor.emon" if artifact.is_dir() else artifact
    try:
        data, names = path.read_bytes(), op_names()
    except OSError as error:
        sys.exit(f"{path}: cannot be read ({error.strerror}); name a monitor.emon or a bundle")
    if data[:8] != MAGIC:
        sys.exit(f"{path}: not an edgemon artifact; name the monitor.emon of a bundle")
    try:
        (count,) = struct.unpack_from("<I", data, 20)
        sections = [struct.unpack_from("<4I", data, HEADER + RECORD * i) for i in range(count)]
        (taps, nodes) = (next(s[1:3] for s in sections if s[0] == kind) for kind in (TAPS, NODES))
        numbers = set(_column(data, nodes, 0))
        floats = F32 in _column(data, taps, 4) + _column(data, nodes, 2)
    except (struct.error, StopIteration):
        sys.exit(f"{path}: the artifact is damaged; copy it again from its bundle")
    if unknown := numbers - set(names):
        sys.exit(f"{path}: needs op {min(unknown)}, which this runtime does not know; update it")
    return {names[number] for number in numbers} | ({FLOATS} if floats else set())


def _column(data: bytes, section: tuple[int, int], at: int) -> list[int]:
    """The u16 at byte ``at`` of each record of 32 bytes."""
    offset, size = section
    records = range(offset, offset + size, 32)
    return [struct.unpack_from("<H", data, record + at)[0] for record in records]


def body(name: str) -> str:
    """A source file without the includes that the amalgamation resolves."""
    text = (HERE / "src" / name).read_text(encoding="utf-8")
    kept = (line for line in text.splitlines() if not line.startswith('#include "'))
    return f"\n/* ======== {name} ======== */\n\n" + "\n".join(kept).strip() + "\n"


def choice(needs: set[str]) -> str:
    """What says which ops a build has; see em_op_list.h and em_layout.h."""
    names = sorted(name.upper() if name == FLOATS else f"OP_{name.upper()}" for name in needs)
    chosen = "".join(f"#define EDGEMON_{name} 1\n" for name in names)
    return f"#define EDGEMON_SOME_OPS\n{chosen}"


def amalgamate(out: Path, needs: set[str] | None = None, layout: str = "") -> None:
    """Write edgemon.c, edgemon.h and edgemon.hpp into the folder ``out``, which is created if need
    be; with a layout into its ``src``, beside what that build system wants."""
    sources = out / "src" if layout else out
    sources.mkdir(parents=True, exist_ok=True)
    for name in ("edgemon.h", "edgemon.hpp"):
        header = (HERE / "include" / "edgemon" / name).read_text(encoding="utf-8")
        (sources / name).write_text(header, encoding="utf-8")
    head = HEAD + (UNFUSED if layout == "arduino" else "")
    head += ("" if needs is None else choice(needs)) + '#include "edgemon.h"\n'
    source = head + "".join(body(name) for name in (*PRIVATE, *SOURCES))
    (sources / "edgemon.c").write_text(source, encoding="utf-8")
    if layout:
        lay_out(out, layout)


def lay_out(out: Path, layout: str) -> None:
    """The files of a build system, with the version of this runtime."""
    project = (HERE.parent / "CMakeLists.txt").read_text(encoding="utf-8")
    (version,) = re.findall(r"project\(edgemon VERSION (\S+)", project)
    for path in (LAYOUTS / layout).rglob("*"):
        if path.is_file():
            to = out / path.relative_to(LAYOUTS / layout)
            to.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8").replace("@VERSION@", version)
            to.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="The C runtime as edgemon.c and edgemon.h.")
    parser.add_argument("out", type=Path, nargs="?", help="folder to write into")
    parser.add_argument(
        "--ops", default="", help="only these ops: names, with commas; `floats` if one has floats"
    )
    parser.add_argument(
        "--for", dest="artifacts", type=Path, action="append", default=[], metavar="ARTIFACT",
        help="only the ops that this .emon file or bundle needs; may be given more than once",
    )  # fmt: skip
    parser.add_argument(
        "--layout", default="", choices=sorted(path.name for path in LAYOUTS.iterdir()),
        help="with what a build system wants, the sources in src",
    )  # fmt: skip
    given = parser.parse_args()
    needs = {name for name in re.split(r"[,;\s]+", given.ops) if name}
    known = [*op_names().values(), FLOATS]
    if unknown := needs - set(known):
        parser.error(f"no op {min(unknown)!r}; there are {', '.join(known)}")
    needs = needs.union(*map(needs_of, given.artifacts))
    if given.out is not None:
        amalgamate(given.out, needs or None, given.layout)
    elif needs:
        print(",".join(sorted(needs)))
    else:
        parser.error("name a folder to write into, or --for an artifact to print what it needs")


if __name__ == "__main__":
    main()
