"""The page of the C reference, from edgemon.h: each declaration with the comment above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

HEAD = """# C

`#include <edgemon/edgemon.h>`; for C++17 `edgemon.hpp` is a header over the same functions. How it
gets into a program: [linking](../linking.md).

```c
{usage}
```

{promises}
"""
SECTIONS = {"enum": "Enumerations", "struct": "Structures", "union": "Structures",
            "macro": "Macros", "function": "Functions"}  # fmt: skip
ORDER = ("Functions", "Structures", "Enumerations", "Macros")
NAME = {
    "macro": r"#define\s+(\w+)",
    "function": r"\b(em_\w+)\(",
    "enum": r"typedef\s+enum\s+(\w+)",
    "struct": r"typedef\s+struct\s+(\w+)",
    "union": r"typedef\s+union\s+(\w+)",
}


@dataclass(frozen=True)
class Entry:
    """One declaration: its kind, its names, what is said of it, and its text."""

    kind: str
    names: tuple[str, ...]
    said: str
    code: str


def page(header: str) -> str:
    """The whole page."""
    top, _, rest = header.partition("*/")
    lines = [line.removeprefix(" *").removeprefix(" ") for line in top.splitlines()[1:]]
    usage = [line for line in lines if line.startswith("  ")]
    words = " ".join(line for line in lines[1:] if not line.startswith("  ")).split("  ")
    parts = [HEAD.format(usage="\n".join(u.strip() for u in usage), promises="\n\n".join(words))]
    found = list(entries(rest))
    for section in ORDER:
        parts.append(f"## {section}\n")
        for entry in (e for e in found if SECTIONS[e.kind] == section):
            title = ", ".join(f"`{name}`" for name in entry.names)
            said = f"{entry.said}\n\n" if entry.said else ""
            more = "".join(f'<span id="{name}"></span>' for name in entry.names[1:])
            head = f"### {title} {{ #{entry.names[0]} }}\n\n{more}\n\n"
            parts.append(f"{head}{said}```c\n{entry.code}\n```\n")
    return "\n".join(parts)


def entries(text: str) -> Iterator[Entry]:
    """Declarations, in order; comments that belong to none are left out."""
    for block in re.split(r"\n\n+", _flat(text)):
        said, code = "", block.strip()
        if code.startswith("/*"):
            comment, _, code = code.partition("*/")
            said, code = _sentence(comment), code.strip()
        kind = _kind(code)
        if kind:
            names = tuple(dict.fromkeys(_names(kind, code)))
            yield Entry(kind, names, said, code.replace("EM_API ", ""))


def _flat(text: str) -> str:
    """Bodies stay in one block: blank lines inside of braces go."""
    return re.sub(r"\{[^{}]*\}", lambda m: re.sub(r"\n\n+", "\n", m[0]), text)


def _kind(code: str) -> str:
    for kind in ("enum", "struct", "union"):
        if code.startswith(f"typedef {kind}"):
            return kind
    if code.startswith(("EM_API", "static inline", "typedef int (*")):
        return "function"
    return "macro" if re.match(r"#define EM_(?!API\n|STATUS_ENUM)", code) else ""


def _names(kind: str, code: str) -> list[str]:
    if "(*" in code.splitlines()[0]:
        return re.findall(r"\(\*(\w+)\)", code)[:1]
    found = re.findall(NAME[kind], code, re.M)
    return found[:1] if code.startswith("static inline") else found


def _sentence(comment: str) -> str:
    lines = (
        line.strip().removeprefix("*").rstrip() for line in comment.removeprefix("/*").splitlines()
    )
    text = "\n".join(line[1:] if line.startswith(" ") else line for line in lines).strip()
    paragraphs = re.split(r"\n\n", text)
    return "\n\n".join(_escaped(_listed(p)) for p in paragraphs)


def _listed(paragraph: str) -> str:
    """Numbered lines are a list."""
    return re.sub(r"\n\s+(\d\. )", r"\n\n\1", paragraph, count=1)


def _escaped(text: str) -> str:
    """No Markdown in C's comments but its lists: pointers are no emphasis."""
    return re.sub(r"([*_<])", r"\\\1", text)
