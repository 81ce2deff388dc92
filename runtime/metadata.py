"""What the metadata of an artifact says to a session, held to what the artifact itself says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgemon.runtime.classifier import Classifier
from edgemon.runtime.companions import Companion
from edgemon.runtime.errors import DamagedError, InputError
from edgemon.runtime.explanation import Explanation
from edgemon.runtime.monitor import Monitor, TapInfo
from edgemon.runtime.names import is_stored
from edgemon.runtime.preprocess import INPUT, InputSpec, Preprocess
from edgemon.runtime.untrusted import printable
from edgemon.runtime.views import COMPANION, tensor_of


@dataclass(frozen=True)
class Metadata:
    """``labels[c]`` names class c of the model, ``label_values[c]`` is its label in data.
    ``rules``: by monitors' names what they say when they alarm. ``positions``: of each tap that of
    the model's output, or ``INPUT``."""

    preprocess: Preprocess
    input: InputSpec
    labels: tuple[str, ...]
    label_values: tuple[int, ...]
    rules: Mapping[str, str]
    explanations: Mapping[str, Explanation]
    positions: tuple[int, ...]
    kernels: str

    @classmethod
    def of(cls, monitor: Monitor) -> Metadata:
        """Raises ArtifactError if an entry is missing or damaged, or contradicts the artifact."""
        found = monitor.metadata
        try:
            labels = tuple(printable(str(label)) for label in found["labels"])
            values = tuple(int(v) for v in found.get("label_values", range(len(labels))))
            entries = [(str(m["name"]), m) for m in found["monitors"]]
            taps = [(str(tap["name"]), int(tap["output"])) for tap in found["taps"]]
            result = cls(
                Preprocess.from_json(found["preprocess"]),
                InputSpec.from_json(found["input"]),
                labels,
                values,
                {name: printable(str(m["rule"])) for name, m in entries},
                {
                    name: Explanation.from_json(m["terms"], m.get("stack"))
                    for name, m in entries
                    if "terms" in m
                },
                tuple(position for _, position in taps),
                str(found["kernels"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, InputError):
            raise damaged("an entry is missing or damaged") from None
        result._require_classes(monitor.classes)
        result._require_monitors([name for name, _ in entries], monitor)
        _require_taps(taps, monitor.taps)
        return result

    def _require_classes(self, classes: int) -> None:
        if len(self.labels) != classes:
            raise damaged(f"{len(self.labels)} labels, but the model has {classes} classes")
        if len(self.label_values) != classes or len(set(self.label_values)) != classes:
            raise damaged("it does not give each class a label value of its own")

    def _require_monitors(self, stated: Sequence[str], monitor: Monitor) -> None:
        names = [m.name for m in monitor.monitors]
        for name in stated:
            if stated.count(name) > 1 or sum(is_stored(n, name) for n in names) != 1:
                raise damaged(f"the artifact does not have one monitor {name!r}")
        for explanation in self.explanations.values():
            for term in explanation.terms:
                if term.monitor not in names:
                    raise damaged(f"the artifact has no signal {term.monitor!r}")

    def require_model(
        self, model: Classifier, companions: Mapping[str, Companion], taps: Sequence[TapInfo],
        path: Path,
    ) -> None:  # fmt: skip
        """Raises ArtifactError unless the model, or a companion, gives each tap what the artifact
        wants, and no tap the tensor that another one names."""
        for tap, position in zip(taps, self.positions, strict=True):
            own = tap.view == COMPANION
            what, classifier = (
                ("companion", companions[tap.view].model) if own else ("model", model)
            )
            if (position != INPUT or own) and not 0 <= position < classifier.n_outputs:
                raise DamagedError(f"{path}: the {what} lacks outputs; compile the bundle again")
            given = classifier.view(position)
            if position != INPUT and (str(given.dtype), given.size) != (tap.dtype, tap.length):
                raise DamagedError(
                    f"{path}: output {position} of the {what} is {given.dtype}[{given.size}], but "
                    f"the tap {tap.name!r} is {tap.dtype}[{tap.length}]; compile the bundle again"
                )
            name = self.input.name if position == INPUT else classifier.output_names[position]
            others = (t for t in taps if (t.view == COMPANION) == own)
            if not is_stored(tap.name, name) and any(is_stored(t.name, name) for t in others):
                raise damaged(f"the tap {tap.name!r} is exchanged with {name!r}")


def _require_taps(stated: Sequence[tuple[str, int]], taps: Sequence[TapInfo]) -> None:
    """Names in the artifact's order; taps of one tensor, and they alone, share an output."""
    if len(stated) != len(taps):
        raise damaged(f"{len(stated)} taps, but the artifact has {len(taps)}")
    outputs: dict[tuple[bool, str], int] = {}
    for (name, position), tap in zip(stated, taps, strict=True):
        tensor, of_companion = tensor_of(name, tap.view), tap.view == COMPANION
        if not is_stored(tap.name, tensor):
            raise damaged(f"the tap {name!r} stands where the artifact has {tap.name!r}")
        if outputs.setdefault((of_companion, tensor), position) != position:
            raise damaged(f"the tensor {tensor!r} is said to be two outputs of the model")
    if len({(own, position) for (own, _), position in outputs.items()}) != len(outputs):
        raise damaged("two taps are said to be the same output of the model")


def damaged(what: str) -> DamagedError:
    """The error of metadata that cannot be used."""
    return DamagedError(f"the bundle's metadata is damaged: {what}; compile it again")
