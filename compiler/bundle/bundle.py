"""A bundle: the folder that ``compile`` writes and everything else reads.

``monitor.emon``, ``monitor.onnx``, ``model.tapped.tflite`` or ``model.tapped.onnx``, ``monitor.h``
(on request), companion models (``runtime.companions``), ``manifest.json`` (how it was made and how
good it is), ``report.html`` and ``report.json`` (how good, at length) and ``splits.npz`` (which
rows were used).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgemon.compiler.bundle.output_folder import (
    ACCURACY,
    C_HEADER,
    MANIFEST,
    ONNX,
    REPORT,
    REPORT_JSON,
    SPLITS,
    is_bundle,
)
from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.images import EXIF
from edgemon.compiler.emit import flat
from edgemon.compiler.models.decision import OF_PROBABILITY
from edgemon.compiler.models.model import CompanionFile, TappedModel
from edgemon.runtime.companions import companion_file, contents
from edgemon.runtime.errors import ArtifactError, DamagedError
from edgemon.runtime.formats import model_file
from edgemon.runtime.metadata import Metadata
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.session import MONITOR
from edgemon.runtime.untrusted import parse_json, printable, read
from edgemon.runtime.views import PLAIN


@dataclass(frozen=True, eq=False)
class Bundle:
    """An opened bundle."""

    path: Path
    artifact_bytes: bytes
    artifact: flat.Artifact
    manifest: dict[str, Any]

    @classmethod
    def open(cls, path: Path) -> Bundle:
        """Raises ArtifactError if the folder is no bundle or its artifact is invalid."""
        path = Path(path)
        if not is_bundle(path):
            raise ArtifactError(
                f"{path}: not an edgemon bundle (no {MONITOR} in it); give the folder that "
                "`edgemon compile --out` wrote"
            )
        try:
            data = read(path / MONITOR)
            manifest = parse_json(read(path / MANIFEST))
        except (OSError, ValueError) as error:
            raise DamagedError(f"{path}: incomplete bundle ({error}); compile it again") from None
        if not isinstance(manifest, dict):
            raise DamagedError(f"{path / MANIFEST}: no JSON object; compile the bundle again")
        artifact = flat.read(data)
        Metadata.of(Monitor(data))  # it must not contradict the artifact
        return cls(path, data, artifact, manifest)

    @property
    def reading(self) -> Reading:
        """How its rows were read."""
        return Reading.of(self.manifest)

    @property
    def classes(self) -> Classes:
        """The classes of its model, as compile took them."""
        metadata = self.artifact.metadata
        names = tuple(printable(str(name)) for name in metadata["labels"])
        values = metadata.get("label_values", range(len(names)))
        return Classes(names, tuple(int(v) for v in values))

    @property
    def onnx_bytes(self) -> bytes:
        """The serialised ``monitor.onnx``."""
        try:
            return read(self.path / ONNX)
        except OSError as error:
            raise DamagedError(f"{self.path}: incomplete bundle ({error})") from None

    @property
    def model(self) -> TappedModel:
        """The tapped model, with the outputs that carry the taps."""
        taps = self.artifact.program.taps
        try:
            positions = tuple(int(t["output"]) for t in self.artifact.metadata["taps"])
            own = [t for t, at in zip(taps, positions, strict=True) if at == 0 and t.view == PLAIN]
            above = float(self.artifact.metadata.get("decision_threshold", OF_PROBABILITY))
        except (KeyError, TypeError, ValueError, OverflowError):
            own = []
        if not own:
            raise DamagedError(f"{self.path}: the metadata is damaged; compile the bundle again")
        return TappedModel(
            model_file(self.path),
            self.artifact.model_sha256,
            taps,
            positions,
            replace(own[0], decides_above=above),  # compile taps the model's own output always
        )

    def model_in(self, scratch: Path) -> TappedModel:
        """The same, as a file in a folder of the caller's: what is hashed is what is opened,
        whatever becomes of the bundle meanwhile. Raises ArtifactError if it is another model."""
        model = self.model
        try:
            content = read(model.path)
        except OSError as error:
            raise DamagedError(f"{self.path}: incomplete bundle ({error})") from None
        if hashlib.sha256(content).hexdigest() != model.sha256:
            raise DamagedError(
                f"{model.path} is not the file that compile wrote (its SHA-256 differs); "
                "compile the bundle again"
            )
        path = scratch / model.path.name
        path.write_bytes(content)
        beside = contents(self.path, self.artifact.companions)
        return replace(model, path=path).with_companions(
            CompanionFile(view, found, str(companion_file(self.path, view)))
            for view, found in beside.items()
        )

    def require_intact(self) -> None:
        """Raises ArtifactError unless every file is the one that ``compile`` wrote, and the model
        the one that the monitor is bound to."""
        # Names from a manifest are not trusted: only those of a bundle's own files are opened.
        stated = self.manifest.get("sha256")
        known = stated if isinstance(stated, dict) else {}
        expected = {name: known.get(name) for name in (MONITOR, ONNX)}
        # Bundles of edgemon 0.1.0 have no report.
        expected |= {name: known[name] for name in (REPORT, REPORT_JSON) if name in known}
        # What no device needs may be gone.
        expected |= {
            n: known.get(n)
            for n in (SPLITS, C_HEADER, ACCURACY)
            if (n in known or n == ACCURACY) and (self.path / n).exists()
        }
        expected[model_file(self.path).name] = self.artifact.model_sha256
        expected |= {
            companion_file(self.path, c.view).name: c.sha256 for c in self.artifact.companions
        }
        for name, sha in expected.items():
            try:
                found = hashlib.sha256(read(self.path / name)).hexdigest()
            except OSError as error:
                raise DamagedError(f"{self.path}: incomplete bundle ({error})") from None
            if found != sha:
                raise DamagedError(
                    f"{self.path / name} is not the file that compile wrote (its SHA-256 differs); "
                    "compile the bundle again"
                )

    def file_sizes(self) -> dict[str, int]:
        """Bytes of each file, by name."""
        return {p.name: p.stat().st_size for p in sorted(self.path.iterdir()) if p.is_file()}


@dataclass(frozen=True)
class Reading:
    """How the rows of a bundle were read, so that others are read alike: the columns by which they
    were grouped (``compile --group``), those that were features, and ``--exif``."""

    aside: str | None = None
    features: tuple[str, ...] | None = None
    exif: str = EXIF[0]

    @classmethod
    def of(cls, manifest: Any) -> Reading:
        """Nothing special where a manifest, which is not trusted, does not say it."""
        found = manifest if isinstance(manifest, dict) else {}
        options = found.get("options")
        said = options if isinstance(options, dict) else {}
        group, exif, features = said.get("group"), said.get("exif"), found.get("features")
        named = isinstance(features, list) and all(isinstance(f, str) for f in features)
        return cls(
            group if isinstance(group, str) else None,
            tuple(features) if named and features else None,
            exif if exif in EXIF else EXIF[0],
        )


def reading_of(path: Path) -> Reading:
    """As ``Bundle.reading``, also without a manifest, without which a bundle runs."""
    try:
        return Reading.of(parse_json(read(path / MANIFEST)))
    except (OSError, ValueError, ArtifactError):
        return Reading()
