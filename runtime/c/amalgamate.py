"""Write the C runtime as two files, edgemon.c and edgemon.h, to drop into any build.

    python amalgamate.py OUTPUT_DIRECTORY
    python amalgamate.py OUTPUT_DIRECTORY --for monitor.emon     only the ops that it needs
    python amalgamate.py OUTPUT_DIRECTORY --ops argmax,max,sub   only these ops
    python amalgamate.py --for monitor.emon                      print the ops that it needs

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
PRIVATE = ("em_layout.h", "em_math.h", "em_op_list.h", "em_open.h", "em_ops.h")
SOURCES = sorted(path.name for path in (HERE / "src").glob("*.c"))
HEAD = """\
/* edgemon, the C runtime in one file; made by amalgamate.py: change the sources, not this.
 * Compile with -ffp-contract=off. */
#define EM_INTERNAL static
"""
MAGIC, HEADER, RECORD, NODES = b"\x8eEMON\r\n\x1a", 64, 16, 3  # FORMAT.md, sections 2 and 3


def op_names() -> dict[int, str]:
    """The ops by number, of the runtime's own list."""
    rows = (HERE / "src" / "em_op_list.h").read_text(encoding="utf-8")
    return {int(number): name for number, name in re.findall(r"X\((\d+), \w+, (\w+),", rows)}


def ops_of(artifact: Path) -> set[str]:
    """Names of the ops that a .emon file, or the one of a bundle, needs."""
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
        offset, size = next(s[1:3] for s in sections if s[0] == NODES)
        numbers = {struct.unpack_from("<H", data, at)[0] for at in range(offset, offset + size, 32)}
    except (struct.error, StopIteration):
        sys.exit(f"{path}: the artifact is damaged; copy it again from its bundle")
    if unknown := numbers - set(names):
        sys.exit(f"{path}: needs op {min(unknown)}, which this runtime does not know; update it")
    return {names[number] for number in numbers}


def body(name: str) -> str:
    """A source file without the includes that the amalgamation resolves."""
    text = (HERE / "src" / name).read_text(encoding="utf-8")
    kept = (line for line in text.splitlines() if not line.startswith('#include "'))
    return f"\n/* ======== {name} ======== */\n\n" + "\n".join(kept).strip() + "\n"


def choice(ops: set[str]) -> str:
    """What says which ops a build has; see em_op_list.h."""
    chosen = "".join(f"#define EDGEMON_OP_{op.upper()} 1\n" for op in sorted(ops))
    return f"#define EDGEMON_SOME_OPS\n{chosen}"


def amalgamate(out: Path, ops: set[str] | None = None) -> None:
    """Write edgemon.c and edgemon.h into the folder ``out``, which is created if need be."""
    out.mkdir(parents=True, exist_ok=True)
    header = (HERE / "include" / "edgemon" / "edgemon.h").read_text(encoding="utf-8")
    (out / "edgemon.h").write_text(header, encoding="utf-8")
    head = HEAD + ("" if ops is None else choice(ops)) + '#include "edgemon.h"\n'
    source = head + "".join(body(name) for name in (*PRIVATE, *SOURCES))
    (out / "edgemon.c").write_text(source, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="The C runtime as edgemon.c and edgemon.h.")
    parser.add_argument("out", type=Path, nargs="?", help="folder to write into")
    parser.add_argument("--ops", default="", help="only these ops: names, with commas")
    parser.add_argument(
        "--for", dest="artifacts", type=Path, action="append", default=[], metavar="ARTIFACT",
        help="only the ops that this .emon file or bundle needs; may be given more than once",
    )  # fmt: skip
    given = parser.parse_args()
    ops = {name for name in re.split(r"[,;\s]+", given.ops) if name}
    if unknown := ops - set(op_names().values()):
        parser.error(f"no op {min(unknown)!r}; the ops are {', '.join(op_names().values())}")
    ops = ops.union(*map(ops_of, given.artifacts))
    if given.out is not None:
        amalgamate(given.out, ops or None)
    elif ops:
        print(",".join(sorted(ops)))
    else:
        parser.error("name a folder to write into, or --for an artifact to print its ops")


if __name__ == "__main__":
    main()
