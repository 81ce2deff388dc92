"""The report's files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from edgemon.compiler.bundle.output_folder import REPORT, REPORT_JSON
from edgemon.compiler.documents.report import Report
from edgemon.compiler.report.page import render


def write(folder: Path, document: Report) -> dict[str, str]:
    """Writes both forms of the report; returns their SHA-256 by file name."""
    content = {
        REPORT: render(document),
        REPORT_JSON: json.dumps(document, indent=1, allow_nan=False) + "\n",
    }
    for name, text in content.items():
        (folder / name).write_bytes(text.encode())
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in content.items()}
