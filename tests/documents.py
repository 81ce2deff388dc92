"""docs/documents.md from the types of the compiler's documents: ``python -m tests.documents``."""

from __future__ import annotations

import ast
import io
import tokenize
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "documents.md"
SCHEMAS = tuple(
    f"compiler/documents/{name}.py"
    for name in ("asked", "monitors", "measured", "manifest", "shown", "report")
)
HEAD = """# The documents of a bundle

Every field of `manifest.json` (`Manifest`), of what `compile --json` prints (`Compiled`) and of
`report.json` (`Report`). Made from [the manifest's types](../compiler/documents/manifest.py),
[the report's](../compiler/documents/report.py) and their parts beside them by
`python -m tests.documents`, and tests hold compiled bundles to the same types: no field more, none
less. A field with *maybe* is missing where it says nothing.
"""
WORDS = {  # of Python's types
    "str": "text", "int": "whole number", "float": "number", "bool": "true or false",
    "None": "null", "Interval": "[least, most]", "Details": "object",
}  # fmt: skip


def page() -> str:
    """The page's text."""
    statements = [(text, node) for text in _sources() for node in ast.parse(text).body]
    parts = {node.name: node for _, node in statements if isinstance(node, ast.ClassDef)}
    said = {name: _docstring(part) for name, part in parts.items()}
    said |= {
        _name(node.targets[0]): source_comment(text, node)
        for text, node in statements
        if isinstance(node, ast.Assign)
    }
    sections = [
        _section(text, node, said)
        for text, node in reversed(statements)
        if isinstance(node, ast.ClassDef)
    ]
    return "\n".join([HEAD, *sections])


def _sources() -> list[str]:
    return [(ROOT / path).read_text(encoding="utf-8") for path in SCHEMAS]


def _docstring(part: ast.ClassDef) -> str:
    return " ".join((ast.get_docstring(part) or "").replace("``", "`").split())


def source_comment(source: str, node: ast.stmt) -> str:
    """The comment of a statement: lines of their own right above it, then what stands beside it."""
    own, beside = _comments(source)
    above = [*takewhile(bool, (own.get(line, "") for line in range(node.lineno - 1, 0, -1)))]
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return " ".join([*reversed(above), *(beside[line] for line in lines if line in beside)])


def _comments(source: str) -> tuple[dict[int, str], dict[int, str]]:
    """By line: comments that stand alone, and those beside code."""
    own: dict[int, str] = {}
    beside: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            (own if alone else beside)[token.start[0]] = token.string.lstrip("# ")
    return own, beside


def _section(source: str, part: ast.ClassDef, said: dict[str, str]) -> str:
    """One type; ``said``: what is said of each."""
    bases = [_link(name) for name in map(_name, part.bases) if name in said]
    more = f" Has the fields of {' and '.join(bases)} too." if bases else ""
    maybe = "*maybe* " if any(k.arg == "total" for k in part.keywords) else ""
    rows = [
        f"| `{_name(field.target)}` | {maybe}{_words(field.annotation, said)} | "
        f"{source_comment(source, field) or _of_type(field.annotation, said)} |"
        for field in part.body
        if isinstance(field, ast.AnnAssign)
    ]
    table = ["", "| field | type | meaning |", "|---|---|---|", *rows] if rows else []
    return "\n".join([f"## {part.name}", "", f"{said[part.name]}{more}", *table, ""])


def _of_type(kind: ast.expr, said: dict[str, str]) -> str:
    """What is said of the first part that a field's type names."""
    names = (_name(n) for n in ast.walk(kind) if isinstance(n, ast.Name | ast.Attribute))
    return next((said[name] for name in names if name in said), "")


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _words(node: ast.expr, said: dict[str, str]) -> str:
    """A type, for people; parts of documents are links."""
    match node:
        case ast.BinOp(left, ast.BitOr(), right):
            return f"{_words(left, said)} or {_words(right, said)}"
        case ast.Subscript(ast.Name("Literal"), ast.Tuple(values)):
            return " or ".join(f"`{ast.unparse(v)}`" for v in values)
        case ast.Subscript(ast.Name("dict"), ast.Tuple([_, value])):
            return f"object of {_words(value, said)}"
        case ast.Subscript(ast.Name("list" | "Sequence"), value):
            return f"list of {_words(value, said)}"
    name = _name(node)
    return WORDS.get(name) or _link(name)


def _name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return ast.unparse(node).rpartition(".")[2]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
