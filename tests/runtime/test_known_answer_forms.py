"""Which forms of a sum the known answers of ``em_open`` run: all that an op's kernel has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.c_compilers import C_FLAGS, PRIVATE, SOURCES, C, need, run
from tests.runtime.c_coverage import COUNTED, tool

FORMS = {
    "em_halving_sum",
    "em_shortest_sum",
    "em_short_sum",
    "em_first_halving",
    "em_sum_of_rows",
    "em_row_of_terms",
    "em_sum_of_lanes",
    "em_add_complete",
    "mean_side_by_side",
    "mean_of_few",
    "sum_of_eight",
}
FORMS_OF_ROWS = {
    "em_shortest_sum",
    "em_add_complete",
    "em_four_of",
    "em_four_of_leaves",
    "em_four_of_some",
    "em_halve_leaf",
    "em_halve_some",
    "em_end_rows",
    "em_sums_of_block",
    "em_sums_of_fours",
    "em_sums_of_short",
    "em_sums_of_long",
}
OF_ROWS = ("affine", "distances", "squared_error", "kernels")
KERNELS_OF = {
    "sum": "em_family_vectors.c",
    "reduce": "em_family_maps.c",
    "deviation": "em_family_maps.c",
}
OTHER = {  # lines of other ops
    "reduce": {"zeros : about", "NULL : means", "about != NULL", "means[l] = about"},
    "squared_error": {"em_sums_of_fours(four, EM_ROWS"},  # it has one row
    # Fewer than 64 codes become floats, with room behind them; 64 have a form of their own.
    "kernels": {"em_four_of(term, 64", "r < block", "em_next_row(term", "l < few"},
}


@pytest.mark.parametrize(
    "op",
    ["sum", "reduce", "deviation", "affine", "distances", "squared_error", "kernels", "logsumexp"],
)
def test_known_answers_run_every_form_of_a_sum(op: str, tmp_path: Path) -> None:
    """Leaves of eight whole rows had none, nor means of channels side by side."""
    clang = need("clang")
    program, raw, merged = tmp_path / "known", tmp_path / "raw", tmp_path / "merged"
    main = (
        "extern int em_check_arithmetic(void);\nint main(void) { return em_check_arithmetic(); }\n"
    )
    (tmp_path / "main.c").write_text(main)
    only = ["-DEDGEMON_SOME_OPS", "-DEDGEMON_FLOATS=1", f"-DEDGEMON_OP_{op.upper()}=1"]
    sources = [tmp_path / "main.c", *SOURCES]
    run(clang, *C_FLAGS, PRIVATE, *COUNTED, *only, *sources, "-lm", "-o", program)
    run("env", f"LLVM_PROFILE_FILE={raw}", program)
    run(tool(clang, "llvm-profdata"), "merge", "-sparse", raw, "-o", merged)
    cov = run(tool(clang, "llvm-cov"), "export", program, f"-instr-profile={merged}")
    kernel = KERNELS_OF.get(op, "em_family_dense.c")
    other = OTHER.get(op, set()) | {"#define EM_ROWS"}  # no block of rows of more than 64
    forms = FORMS_OF_ROWS if op in OF_ROWS else FORMS
    forms = forms | {"em_four_of_codes", "em_sums_of_codes"} if op == "kernels" else forms
    if op in ("reduce", "deviation"):
        other = other | {"return em_shortest_sum"}  # mean_of_few takes these
    sources_of = {p.name: p.read_text().splitlines() for p in (C / "src").iterdir()}
    seen, missed = set(), []
    for function in json.loads(cov)["data"][0]["functions"]:
        name = function["name"].split(":")[-1]
        used = any(Path(file).name == kernel for file in function["filenames"])
        if name not in forms or not (used or function["name"].startswith(kernel)):
            continue
        seen.add(name)
        for first, _, last, _, count, _, _, kind in function["regions"]:
            lines = "".join(sources_of[Path(function["filenames"][0]).name][first - 1 : last])
            if (count, kind) == (0, 0) and not any(call in lines for call in other):
                missed.append(f"{name}:{first}")
    assert ("em_sums_of_short" if op in OF_ROWS else "em_halving_sum") in seen
    assert missed == []
