"""Write the C runtime as two files, edgemon.c and edgemon.h, to drop into any build.

    python amalgamate.py OUTPUT_DIRECTORY

Compile edgemon.c with -ffp-contract=off: what rounds otherwise is refused by em_open. Or have no
symbols at all: `#define EM_API static` and `#include "edgemon.c"` in one file of your own.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PRIVATE = ("em_layout.h", "em_math.h", "em_ops.h", "em_open.h", "em_known_answers.h")
SOURCES = (
    "em_drift.c",
    "em_known_answers.c",
    "em_open_dense.c",
    "em_open_nodes.c",
    "em_open_work.c",
    "em_open.c",
    "em_ops_dense.c",
    "em_ops_rules.c",
    "em_ops.c",
    "em_evaluate.c",
)
HEAD = """\
/* edgemon, the C runtime in one file; made by amalgamate.py: change the sources, not this.
 * Compile with -ffp-contract=off. */
#define EM_INTERNAL static
#include "edgemon.h"
"""


def body(name: str) -> str:
    """A source file without the includes that the amalgamation resolves."""
    text = (HERE / "src" / name).read_text(encoding="utf-8")
    kept = (line for line in text.splitlines() if not line.startswith('#include "'))
    return f"\n/* ======== {name} ======== */\n\n" + "\n".join(kept).strip() + "\n"


def amalgamate(out: Path) -> None:
    """Write edgemon.c and edgemon.h into the folder ``out``, which is created if need be."""
    out.mkdir(parents=True, exist_ok=True)
    header = (HERE / "include" / "edgemon" / "edgemon.h").read_text(encoding="utf-8")
    (out / "edgemon.h").write_text(header, encoding="utf-8")
    source = HEAD + "".join(body(name) for name in (*PRIVATE, *SOURCES))
    (out / "edgemon.c").write_text(source, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python amalgamate.py OUTPUT_DIRECTORY")
    amalgamate(Path(sys.argv[1]))
