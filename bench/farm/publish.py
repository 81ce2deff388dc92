"""A leaderboard in a folder, which grows with every benchmark that is published there.

Monitors are compared where they met the same sets: the same images by hash, of the same models. A
monitor that was there already, by name and settings, is replaced.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from markupsafe import Markup

from edgemon.bench.errors import BenchError
from edgemon.bench.farm import figures
from edgemon.bench.farm.compiled import CERTIFIED
from edgemon.bench.farm.measures import OVERALL
from edgemon.bench.farm.page import rendered
from edgemon.bench.farm.ranking import Results, rank

Document = dict[str, Any]

BOARD, INDEX = "leaderboard.json", "index.html"
KEPT = ("case", "monitor", "fault", "kind", "severity", "oracle", "mcc", "auroc")


def publish(folder: Path, document: Document, page: str) -> None:
    """Adds a document and its page. Raises BenchError for a folder that holds another thing."""
    board = _read(folder)
    folder.mkdir(parents=True, exist_ok=True)
    digest = _digest(document)
    name = f"{digest[:12]}-{hashlib.sha256(page.encode()).hexdigest()[:8]}.html"
    (folder / name).write_text(page, encoding="utf-8")
    benchmark = board.setdefault(digest, {"name": document["benchmark"], "monitors": {}})
    for monitor in dict.fromkeys(r["monitor"] for r in document["results"]):
        about = next(m for m in document["monitors"] if m["monitor"] == monitor)
        benchmark["monitors"][monitor] = {
            "bytes": about["bytes"] + about.get("companion_bytes", 0),
            "from": document["benchmark"], "page": name,
            "results": [
                {k: r[k] for k in KEPT} for r in document["results"] if r["monitor"] == monitor
            ],
        }  # fmt: skip
    text = json.dumps(board, indent=1, allow_nan=False)
    (folder / BOARD).write_text(text + "\n", encoding="utf-8")
    (folder / INDEX).write_text(_index(board), encoding="utf-8")


def require_publishable(folder: Path) -> None:
    """Raises BenchError before a long run."""
    _read(folder)


def _read(folder: Path) -> dict[str, Document]:
    path = folder / BOARD
    if folder.exists() and not folder.is_dir():
        raise BenchError(f"--publish {folder}: is not a folder")
    if not path.exists():
        if folder.exists() and any(folder.iterdir()):
            raise BenchError(
                f"--publish {folder}: holds other files and no {BOARD}; name a new folder"
            )
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(b, dict) for b in found.values()):
        raise BenchError(f"--publish {path}: is damaged; remove it, or name a new folder")
    return found


def _digest(document: Document) -> str:
    """Of what the sets are."""
    sets = [[s[k] for k in ("case", "fault", "severity", "sha256", "clean_rows")]
            for s in document["sets"]]  # fmt: skip
    models = [[c["name"], c["model"], c["clean_sha256"]] for c in document["cases"]]
    return hashlib.sha256(json.dumps([models, sorted(sets)]).encode()).hexdigest()


def _index(board: dict[str, Document]) -> str:
    shown = []
    for digest, benchmark in board.items():
        monitors = benchmark["monitors"]
        results = Results([r for m in monitors.values() for r in m["results"]])
        found = rank(results, OVERALL, CERTIFIED)
        if found is None:
            found = {
                "sets": len(results.sets), "critical_difference": None,
                "ranks": [
                    {
                        "monitor": m, "rank": 1.0,
                        "mcc": float(results.mcc(OVERALL, CERTIFIED, [m], results.sets).mean()),
                    }
                    for m in results.monitors
                ],
            }  # fmt: skip
        shown.append({
            "name": benchmark["name"], "digest": digest, "ranking": found,
            "svg": Markup(figures.diagram(found)) if found["critical_difference"] else "",
            "bytes": {m: about["bytes"] for m, about in monitors.items()},
            "origin": {m: about["from"] for m, about in monitors.items()},
            "pages": {m: about["page"] for m, about in monitors.items()},
        })  # fmt: skip
    return rendered("leaderboard.html.jinja", benchmarks=shown)
