"""The stack that a function needs at most, from the call graph that gcc writes.

``gcc -fcallgraph-info=su`` gives each function of a translation unit with the bytes of its frame,
and every call. The most that a function needs is its frame and the most that a callee needs. That
is a bound only if all calls are known: a recursion, an indirect call or a frame without a bound is
an error, not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from edgemon.targets.errors import TargetError

NODE = re.compile(r'node: \{ title: "([^"]*)" label: "([^"]*)"')
EDGE = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"')
FRAME = re.compile(r"(\d+) bytes \(([^)]*)\)")
INDIRECT = "__indirect_call"
KNOWN_FRAMES = ("static", "dynamic,bounded")


@dataclass
class CallGraph:
    """Functions by name, as the compiler titles them (``file.c:name`` where they are static)."""

    frames: dict[str, int] = field(default_factory=dict)  # bytes
    calls: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> CallGraph:
        """The content of a ``.ci`` file. Raises TargetError on a frame without a bound."""
        found = cls()
        for title, label in NODE.findall(text):
            frame = FRAME.search(label)
            if frame is None:
                continue  # declared here, defined elsewhere
            if frame[2] not in KNOWN_FRAMES:
                raise TargetError(
                    f"the stack has no bound: the frame of {short(title)} is {frame[2]}"
                )
            found.frames[title] = int(frame[1])
        for source, callee in EDGE.findall(text):
            found.calls.setdefault(source, set()).add(callee)
        return found

    def outside(self, names: Collection[str]) -> set[str]:
        """What these functions call, or what they call, that is not defined here, as memcpy."""
        waiting = [title for title in self.frames if short(title) in names]
        seen = set(waiting)
        while waiting:
            new = self.calls.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return {short(name) for name in seen - self.frames.keys() - {INDIRECT}}

    def deepest(self) -> dict[str, int]:
        """The most stack in bytes that each function needs with all that it calls; those defined
        elsewhere count nothing (``outside`` names them). Raises TargetError on a recursion or an
        indirect call, which it names."""
        found: dict[str, int] = {}
        for name in self.frames:
            self._visit(name, found, [])
        return {short(name): depth for name, depth in found.items()}

    def _visit(self, name: str, found: dict[str, int], path: list[str]) -> int:
        if name == INDIRECT:
            raise TargetError(
                f"the stack has no bound: {short(path[-1])} calls through a pointer, and what it "
                "calls is not known"
            )
        if name in path:
            circle = " -> ".join(map(short, [*path[path.index(name) :], name]))
            raise TargetError(f"the stack has no bound: recursion, {circle}")
        if name not in self.frames:
            return 0
        if name not in found:
            below = [
                self._visit(callee, found, [*path, name])
                for callee in sorted(self.calls.get(name, ()))
            ]
            found[name] = self.frames[name] + max(below, default=0)
        return found[name]

    def chain(self, name: str) -> list[tuple[str, int]]:
        """The calls that make a function's stack deepest, with the frame of each."""
        deepest = self.deepest()
        titles = {short(title): title for title in self.frames}
        found = []
        while name in titles:
            found.append((name, self.frames[titles[name]]))
            callees = [short(callee) for callee in self.calls.get(titles[name], ())]
            name = max(sorted(callees), key=lambda c: deepest.get(c, 0), default="")
        return found


def short(title: str) -> str:
    """A function's name without the file."""
    return title.rpartition(":")[2]
