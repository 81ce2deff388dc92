"""What a Keras file says that it consists of, read before Keras loads any of it.

A file can hold Python code (Lambda), or name functions and classes of installed packages, which
Keras then calls. Its own safe mode did not hold for HDF5 before Keras 3.11.3, nor where a model is
rebuilt; so nothing is loaded that is not on a list of Keras' own classes. HDF5 can point to other
files, and a few bytes can unpack to many: neither is followed.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py

from edgemon.compiler.models.keras_classes import CLASSES, FUNCTIONS, REFUSED
from edgemon.runtime.errors import BackendError

MOST_CONFIG_BYTES = 16 << 20
MOST_NESTED = 100  # levels of JSON; five models in each other have about forty
MOST_INFLATED = 200  # times
FREELY_INFLATED_BYTES = 64 << 20
CONFIG, WEIGHTS = "config.json", "model.weights.h5"

_OPERATIONS = re.compile(r"keras(\.src)?\.(ops|activations|losses|metrics|optimizers)(\.\w+)*")
_ADVICE = (
    "edgemon runs no code that a model file brings: convert the model to TFLite or ONNX where it "
    "was made, and give that"
)


def require_own(path: Path) -> None:
    """Raises BackendError unless an HDF5 or .keras file consists of classes of Keras itself, all
    in that file. Weights alone pass; who loads them says what they lack."""
    try:
        if h5py.is_hdf5(path):
            with h5py.File(path) as file:
                _require_whole(path, file, path.stat().st_size)
                text = _attribute(path, file)
            if text is not None:
                require_own_classes(path, parse(path, text))
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _check_archive(path, archive)
    except BackendError:
        raise
    except Exception as error:  # of a damaged file h5py and zipfile raise anything at all
        raise BackendError(f"{path}: is damaged: {_first_line(error)}") from None


def parse(path: Path, text: str | bytes) -> Any:
    """A configuration from JSON. Raises BackendError if it is too large, too deep, or not JSON."""
    if len(text) > MOST_CONFIG_BYTES:
        raise BackendError(
            f"{path}: its configuration has {len(text):,} bytes; edgemon reads at most "
            f"{MOST_CONFIG_BYTES:,}"
        )
    try:
        return json.loads(text)
    except RecursionError:
        raise BackendError(f"{path}: its configuration is nested too deeply") from None
    except ValueError:
        raise BackendError(f"{path}: is damaged: its configuration is not JSON") from None


def require_own_classes(path: Path, config: Any) -> None:
    """Raises BackendError if a configuration names a class or function that is not on the list,
    at whatever depth: in nested models, wrappers, cells, initialisers or activations."""
    if not isinstance(config, dict):
        raise BackendError(f"{path}: is damaged: its configuration does not describe a model")
    # How it was trained: nobody reads it (compile=False), and own losses are common.
    model = {key: value for key, value in config.items() if key != "compile_config"}
    for found, owner in _objects(path, model):
        problem = _problem(found)
        if problem is not None:
            where = f"its layer {owner!r}" if owner else "the model"
            raise BackendError(f"{path}: {where} {problem}; {_ADVICE}")


def _objects(path: Path, config: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Everything that has a class, and the name of what it belongs to."""
    waiting: list[tuple[Any, str, int]] = [(config, "", 0)]
    while waiting:
        value, owner, depth = waiting.pop()
        if depth > MOST_NESTED:
            raise BackendError(f"{path}: its configuration is nested too deeply")
        if isinstance(value, dict):
            inner = value.get("config")
            if "class_name" in value:
                if isinstance(inner, dict) and isinstance(inner.get("name"), str) and depth:
                    owner = inner["name"][:60]
                yield value, owner
            waiting.extend((v, owner, depth + 1) for v in reversed(value.values()))
        elif isinstance(value, list):
            waiting.extend((v, owner, depth + 1) for v in reversed(value))


def _problem(found: dict[str, Any]) -> str | None:
    """Why this object may not be loaded, as the rest of a sentence; None if it may."""
    name, module = found["class_name"], found.get("module")
    if name in ("function", "builtin_function_or_method"):
        called = found.get("config")
        if isinstance(called, str) and called in FUNCTIONS and _is_keras(module, "builtins"):
            return None
        return f"uses the function {_shown(called, module)}, which is none of Keras' activations"
    if isinstance(name, str) and name in REFUSED:
        kind = "has a" if name == "__lambda__" else "is a"
        return f"{kind} {name}, which {REFUSED[name]}"
    registered = found.get("registered_name")
    if _is_keras(module) and _is_keras(found.get("package")) and registered in (None, name):
        if isinstance(name, str) and name in CLASSES:
            return None
        if isinstance(module, str) and _OPERATIONS.fullmatch(module) and _is_class_name(name):
            return None
    # Keras 3 writes operations to HDF5 by their bare names, and cannot load them again.
    hint = "" if module or registered else ", unless an operation that only .keras files can hold"
    shown = _shown(name, module)
    return f"has the class {shown}, which is none of Keras' own that edgemon knows{hint}"


def _is_keras(module: Any, *others: str) -> bool:
    if module is None or module in others:
        return True
    return isinstance(module, str) and (module == "keras" or module.startswith("keras."))


def _is_class_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and name[0].isupper()


def _shown(name: Any, module: Any) -> str:
    whole = f"{module}.{name}" if module else f"{name}"
    return repr(whole if len(whole) <= 60 else whole[:60] + "...")


def _attribute(path: Path, file: Any) -> str | bytes | None:
    if "model_config" not in file.attrs:
        return None
    size = h5py.h5a.open(file.id, b"model_config").get_storage_size()
    if size > MOST_CONFIG_BYTES:
        raise BackendError(
            f"{path}: its configuration has {size:,} bytes; edgemon reads at most "
            f"{MOST_CONFIG_BYTES:,}"
        )
    text = file.attrs["model_config"]
    if not isinstance(text, str | bytes):
        raise BackendError(f"{path}: is damaged: its configuration is not text")
    return text


def _require_whole(path: Path, file: Any, size: int) -> None:
    """Raises BackendError if the HDF5 file refers to others, or unpacks to far more than it has."""

    def look(_: bytes, link: Any) -> bool | None:
        return True if link.type == h5py.h5l.TYPE_EXTERNAL else None

    elsewhere = bool(file.id.links.visit(look, info=True))
    sizes = [0]

    def visit(_: str, item: Any) -> bool | None:
        if not isinstance(item, h5py.Dataset):
            return None
        sizes.append(item.nbytes)
        return True if item.external or item.is_virtual else None

    if elsewhere or file.visititems(visit):
        raise BackendError(
            f"{path}: its weights are partly in other files, which edgemon does not open; save the "
            "whole model in one file"
        )
    _require_inflatable(path, size, sum(sizes))


def _require_inflatable(path: Path, packed: int, size: int) -> None:
    if size > max(FREELY_INFLATED_BYTES, MOST_INFLATED * packed):
        raise BackendError(
            f"{path}: {packed:,} bytes would unpack to {size:,}, and edgemon unpacks "
            f"{MOST_INFLATED} times at most; save the model again, without compression"
        )


def _check_archive(path: Path, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    if len({m.filename for m in members}) != len(members):
        raise BackendError(f"{path}: is damaged: the archive has two files of one name")
    for member in members:
        _require_inflatable(path, member.compress_size, member.file_size)
    with archive.open(CONFIG) as stream:
        require_own_classes(path, parse(path, stream.read(MOST_CONFIG_BYTES + 1)))
    if WEIGHTS in archive.namelist():
        with archive.open(WEIGHTS) as stream, tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(stream, copy)
            with h5py.File(copy, "r") as file:
                _require_whole(path, file, copy.tell())


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:200] if lines else type(error).__name__
