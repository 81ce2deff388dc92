"""The stack by call graph: what gcc writes is read, and what has no bound is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon.targets import TargetError
from edgemon.targets.call_graph import CallGraph
from tests.runtime.c_compilers import need, run

KEEP = "__attribute__((noinline, noclone, noipa))"


def graph_of(source: str, folder: Path) -> CallGraph:
    """Of C source, by this machine's gcc."""
    (folder / "unit.c").write_text(source.replace("KEEP", KEEP))
    gcc = need("gcc")
    run(
        gcc, "-Os", "-fno-optimize-sibling-calls", "-c", "-fcallgraph-info=su", "unit.c", cwd=folder
    )
    return CallGraph.parse((folder / "unit.ci").read_text())


CHAIN = """
void elsewhere(char *big, char *p);
KEEP static int leaf(char *p) { char big[400]; elsewhere(big, p); return big[p[2]]; }
KEEP static int shallow(char *p) { return p[3]; }
KEEP int middle(char *p) {
    char some[100];
    elsewhere(some, p);
    return leaf(some) + shallow(some);
}
int top(char *p) { return middle(p) + shallow(p); }
"""


def test_the_deepest_chain_is_added_up_and_no_other(tmp_path: Path) -> None:
    graph = graph_of(CHAIN, tmp_path)
    deepest = graph.deepest()
    frames = {name.rpartition(":")[2]: size for name, size in graph.frames.items()}
    assert frames["leaf"] >= 400
    assert frames["middle"] >= 100
    assert deepest["middle"] == frames["middle"] + frames["leaf"]
    assert deepest["top"] == frames["top"] + deepest["middle"]
    assert deepest["top"] < sum(frames.values())  # shallow lies beside the chain
    assert [name for name, _ in graph.chain("top")] == ["top", "middle", "leaf"]
    assert sum(size for _, size in graph.chain("top")) == deepest["top"]
    assert graph.outside(["top"]) == {"elsewhere"}
    assert graph.outside(["shallow"]) == set()


UNBOUNDED = {
    "recursion": (
        "KEEP static int b(int n);\nKEEP int a(int n) { return n ? b(n - 1) + 1 : 0; }\n"
        "KEEP static int b(int n) { return a(n) * 2; }\n",
        "recursion, a -> b -> a",
    ),
    "a function that calls itself": (
        "KEEP int a(int n) { return n ? a(n - 1) * a(n - 2) : 1; }\n",
        "recursion, a -> a",
    ),
    "a call through a pointer": (
        "int a(int (*f)(void)) { return f() + 1; }\n",
        "a calls through a pointer",
    ),
    "an array of variable length": (
        "void use(char *p);\nvoid a(int n) { char v[n]; use(v); }\n",
        "the frame of a is dynamic",
    ),
}


@pytest.mark.parametrize("kind", UNBOUNDED)
def test_a_stack_without_a_bound_is_refused(kind: str, tmp_path: Path) -> None:
    source, said = UNBOUNDED[kind]
    with pytest.raises(TargetError, match="the stack has no bound") as found:
        graph_of(source, tmp_path).deepest()
    assert said in str(found.value)
