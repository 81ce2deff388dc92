"""The document of ``bench`` in the forms that other tools read, and as a page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgemon.compiler.commands.written import write_beside

Document = dict[str, Any]

PIPELINES = {
    "model_us": "model alone",
    "with_monitors_us": "model + monitors",
    "bare_us": "model and argmax",
    "session_us": "session, image to verdict",
}


def write(
    document: Document, *, html: Path | None, google: Path | None, lines: Path | None
) -> None:
    """Those that are asked for. Raises CompileError where one cannot be written."""
    if html is not None:
        from edgemon.bench import page  # with libraries that devices lack

        _write(html, page.render(document, PIPELINES), "--html")
    if google is not None:
        text = json.dumps(google_benchmark(document), indent=2) + "\n"
        _write(google, text, "--google-benchmark")
    if lines is not None:
        _write(lines, benchmark_model(document), "--benchmark-model")


def _write(path: Path, text: str, option: str) -> None:
    write_beside(path, lambda file: file.write_text(text, encoding="utf-8"), option)


def google_benchmark(document: Document) -> Document:
    """The JSON of Google Benchmark (docs/user_guide.md there): minima as repetitions' aggregate
    ``min``, medians as ``median``, of real time; CPU time is not taken apart."""
    environment = document["environment"]
    return {
        "context": {
            "executable": f"edgemon bench {document['bundle']}",
            "num_cpus": os.cpu_count(),
            "library_build_type": "release",
            **{f"edgemon_{key}": value for key, value in environment.items()},
        },
        "benchmarks": list(_benchmarks(document)),
    }


def _benchmarks(document: Document) -> Iterator[Document]:
    times = [(key.removesuffix("_us"), document[key], "us") for key in PIPELINES]
    times += [(f"c/{m['name']}", m["c_ns_distribution"], "ns") for m in document["monitors"]]
    for name, found, unit in times:
        for aggregate, key in (("min", "min"), ("median", "p50"), ("p99", "p99")):
            yield {
                "name": f"{name}_{aggregate}", "run_name": name, "run_type": "aggregate",
                "repetitions": document["rounds"], "threads": 1, "aggregate_name": aggregate,
                "aggregate_unit": "time", "iterations": document["rounds"],
                "real_time": found[key], "cpu_time": found[key], "time_unit": unit,
            }  # fmt: skip


def benchmark_model(document: Document) -> str:
    """Lines in the manner of TFLite's benchmark_model, of each pipeline; microseconds."""
    lines = [f"Graph: [{document['bundle']}]", f"Num threads: {document['environment']['threads']}"]
    for key, name in PIPELINES.items():
        found = document[key]
        lines.append(
            f"{name}: count={document['rounds']} min={found['min']:.4g} p50={found['p50']:.4g} "
            f"p99={found['p99']:.4g} max={found['max']:.4g}"
        )
    lines += [
        f"monitor {m['name']} in C, ns: min={m['c_ns']:.4g} p50={m['c_ns_p50']:.4g}"
        for m in document["monitors"]
    ]
    lines.append(
        f"Inference timings in us: First inference: {document['first_us']:.0f}, Inference (p50): "
        f"{document['with_monitors_us']['p50']:.4g}"
    )
    if document["process_peak_bytes"] is not None:
        peak = document["process_peak_bytes"] / 1e6
        lines.append(f"Memory footprint of the process (MB): {peak:.4g}")
    return "\n".join(lines) + "\n"
