"""What ``edgemon inspect`` shows of a model or of a bundle."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from edgemon.compiler.accuracy.table import UNIT
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.output_folder import MANIFEST
from edgemon.compiler.commands.summary import UNRANKED, unranked
from edgemon.compiler.cost.worst_case import by_monitor, worst_case
from edgemon.compiler.documents.monitors import WorstCase
from edgemon.compiler.emit import flat
from edgemon.compiler.emit.flat import Artifact
from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model, outputs, tap_rules
from edgemon.compiler.models.decision import Decision
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.selection import WHOLE, Selection
from edgemon.compiler.monitors.shared.tree_rules import sentence
from edgemon.compiler.terminal import Terminal, percent
from edgemon.runtime.errors import DamagedError
from edgemon.runtime.views import COMPANION, MIRROR, ODIN, PLAIN

_INFERENCES = {
    PLAIN: "image", MIRROR: "mirrored image", ODIN: "companion's image",
    COMPANION: "image, of the companion",
}  # fmt: skip
_EXPECTED = {"model", "accuracy", "edgemon", "monitors"}

KINDS = {
    outputs.LOGITS: "logits",
    outputs.PROBABILITIES: "probabilities",
    outputs.UNKNOWN: "logits or probabilities: compile tells by their values",
}
MOST_RULES = 20  # shown of each monitor, the same number of each layer; the manifest has all


def describe_model(path: Path, selection: Selection = WHOLE) -> dict[str, Any]:
    """Tensors, operators and suggested taps of a model; JSON types only."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        return _describe(open_model(path, Path(scratch), selection))


def _describe(model: Model) -> dict[str, Any]:
    try:
        model.require_classifier()
        obstacle = None
    except ModelError as error:
        obstacle = str(error)
    graph = model.graph
    inner = {i for op in graph.operators for i in op.outputs}
    return {
        "kind": "model",
        "file": model.origin.name,
        "sha256": model.sha256,
        "classes": None if obstacle else model.n_classes,
        "not_a_classifier": obstacle,
        "output_kind": None if obstacle else model.output_kind,
        "class_names": list(model.class_names) or None,
        **(model.prepared.to_json() if model.prepared is not None else {}),
        "inputs": [_tensor(graph.tensors[i]) for i in graph.inputs],
        "outputs": [_tensor(graph.tensors[i]) for i in graph.outputs],
        "tensors": [
            {**_tensor(graph.tensors[i]), "made_by": op.name}
            for op in graph.operators
            for i in op.outputs
            if i in inner and i >= 0
        ],
        "suggested_taps": {
            rule: [t.name for t in tensors] for rule, tensors in tap_rules.suggest(graph).items()
        },
    }


def _tensor(tensor: Any) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "scale": tensor.scale or None,
        "zero_point": tensor.zero_point if tensor.scale else None,
    }


def describe_bundle(path: Path) -> dict[str, Any]:
    """Monitors, thresholds, rules, proof and bytes by section of a bundle."""
    bundle = Bundle.open(path)
    if not bundle.manifest.keys() >= _EXPECTED:
        raise DamagedError(f"{path / MANIFEST}: the manifest is damaged; compile the bundle again")
    found = flat.sections(bundle.artifact_bytes)
    return {
        "kind": "bundle",
        **bundle.manifest,
        "taps": [
            {"name": t.name, "dtype": t.dtype, "length": t.length, "view": t.view}
            for t in bundle.artifact.program.taps
        ],
        "labels": bundle.artifact.metadata.get("labels"),
        "worst_case": worst_case(bundle.artifact.program).to_json(),
        "worst_case_alone": {
            name: own.to_json() for name, own in by_monitor(bundle.artifact.program).items()
        },
        "sections": {flat.SECTION_NAMES[kind]: size for kind, (_, size) in found.items()},
        "files": bundle.file_sizes(),
        "accuracy_table": _accuracy(bundle.artifact),
    }


def _accuracy(artifact: Artifact) -> dict[str, Any] | None:
    """The section ACCURACY; probabilities from 0 to 1."""
    table = artifact.accuracy
    if table is None:
        return None
    return {
        "monitor": artifact.program.monitors[table.monitor].name,
        "edges": table.edges.tolist(),
        "probabilities": (table.probabilities / UNIT).tolist(),
        "rows": table.rows,
        "residual_variance": table.variance / UNIT**2,
        "window": table.window,
        "least_labels": table.least,
    }


def show(terminal: Terminal, content: dict[str, Any]) -> None:
    """The same for people."""
    if content["kind"] == "model":
        _show_model(terminal, content)
    else:
        _show_bundle(terminal, content)


def _show_model(terminal: Terminal, content: dict[str, Any]) -> None:
    classes = content["classes"]
    about = f"{classes} classes" if classes else f"no monitor: {content['not_a_classifier']}"
    terminal.note(f"{content['file']}: {about}")
    if classes:
        terminal.note(f"its output gives {KINDS[content['output_kind']]}")
    if content["class_names"]:
        terminal.note(f"its classes: {', '.join(content['class_names'])}")
    if content.get("outputs_left_out"):
        terminal.note(f"not in a bundle's model: {', '.join(content['outputs_left_out'])}")
    for side in ("inputs", "outputs"):
        terminal.table(
            (side[:-1], "shape", "dtype", "scale", "zero point"),
            [
                (t["name"], _shape(t), t["dtype"], t["scale"], t["zero_point"])
                for t in content[side]
            ],
        )
    terminal.table(
        ("tensor", "made by", "shape", "dtype", "scale", "zero point"),
        [
            (t["name"], t["made_by"], _shape(t), t["dtype"], t["scale"], t["zero_point"])
            for t in content["tensors"]
        ],
    )
    terminal.table(
        ("rule for --taps", "tensors"),
        [(rule, ", ".join(names)) for rule, names in content["suggested_taps"].items()],
    )


def _shape(tensor: dict[str, Any]) -> str:
    return "x".join(map(str, tensor["shape"])) or "scalar"


def _show_bundle(terminal: Terminal, content: dict[str, Any]) -> None:
    model = content["model"]
    terminal.note(
        f"monitor of {model['file']} (accuracy {content['accuracy']:.2%}), "
        f"compiled by edgemon {content['edgemon']}"
    )
    if content.get("decision"):
        terminal.note(str(Decision(**content["decision"])))
    ranked = any(m.get("ties_broken") for m in content["monitors"])
    terminal.table(
        ("monitor", "threshold", "from", "MCC", "AUROC", *(UNRANKED if ranked else ()),
         "false alarms", "bytes"),
        [
            (
                m["name"], "by class" if m["class_thresholds"] else m["threshold"],
                m["threshold_from"], m["mcc"], m["auroc"], *(unranked(m) if ranked else ()),
                percent(m["false_alarm_rate"]), m["bytes"],
            )
            for m in content["monitors"]
        ],
    )  # fmt: skip
    terminal.table(
        ("tap", "dtype", "length", "inference on the"),
        [(t["name"], t["dtype"], t["length"], _INFERENCES[t["view"]]) for t in content["taps"]],
    )
    for m in content["monitors"]:
        terminal.note(f"{m['name']}: {m['what']}, read from {', '.join(m['taps'])}")
        _show_rules(terminal, m["details"].get("rules", []))
        for layer in m["details"].get("layers", []):
            if "boxes_per_class" in layer:
                terminal.note(f"  {layer['tap']}: boxes per class: {layer['boxes_per_class']}")
    _show_worst_case(terminal, content["worst_case_alone"], content["worst_case"])
    if content["accuracy_table"]:
        _show_accuracy(terminal, content["accuracy_table"])
    terminal.table(("section of monitor.emon", "bytes"), list(content["sections"].items()))
    terminal.table(("file", "bytes"), list(content["files"].items()))


def _show_accuracy(terminal: Terminal, table: dict[str, Any]) -> None:
    shares = table["probabilities"]
    terminal.note(
        f"table of accuracy: {len(shares)} steps from the score of {table['monitor']} to the "
        f"probability of being right, {percent(shares[0])} to {percent(shares[-1])}, of "
        f"{table['rows']:,} rows; window {table['window']:,} images, labels count from "
        f"{table['least_labels']} on"
    )


def _show_worst_case(terminal: Terminal, alone: dict[str, WorstCase], together: WorstCase) -> None:
    """Each monitor alone, and all together where there are several."""
    rows = [*alone.items()]
    if len(rows) > 1:
        rows.append(("together", together))
    terminal.table(
        ("monitor", "operations", "records", "tables", "taps", "workspace", "bytes"),
        [
            (
                name, w["operations"], w["record_bytes"], w["table_bytes"], w["tap_bytes"],
                w["workspace_bytes"], w["touched_bytes"],
            )
            for name, w in rows
        ],
        title="an evaluation at most, whatever its input: operations, and bytes that it touches",
    )  # fmt: skip


def _show_rules(terminal: Terminal, rules: list[dict[str, Any]]) -> None:
    by_layer: dict[str, list[dict[str, Any]]] = {}
    for rule in rules:
        by_layer.setdefault(rule["tap"], []).append(rule)
    for tap, own in by_layer.items():
        shown = own[: max(1, MOST_RULES // len(by_layer))]
        terminal.note(f"  {tap}: {len(shown)} of {len(own)} rules")
        for rule in shown:
            terminal.note(f"    {sentence(rule)}")
