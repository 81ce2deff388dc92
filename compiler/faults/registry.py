"""All faults by name, and how they are made: ``make``.

A package says in its ``pyproject.toml``::

    [project.entry-points."edgemon.faults"]
    smear = "its_module:SMEAR"

where ``SMEAR`` is a ``Fault`` of that name. It is found where the package is installed beside
edgemon, and held to the contract (``contract.check_fault``) before it is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults import blur, digital, geometry, noise, sensor, weather
from edgemon.compiler.faults.image import Bytes, Make
from edgemon.targets.nearest import choices

GROUP = "edgemon.faults"
# Another data set, and attacks, are kinds too: no image alone makes them.
NOVELTY, ADVERSARIAL = "novelty", "adversarial"
KINDS = (
    NOVELTY, "noise", "blur", "weather", "digital", "geometry", "anomaly", ADVERSARIAL
)  # fmt: skip
FULL_SCALE = 255
LEFT_OUT = "frost (the 19th corruption of Hendrycks & Dietterich) needs photographs of frost"


class UnknownFaultError(FaultError):
    """No fault has this name."""


@dataclass(frozen=True)
class Fault:
    """What one fault does to an image; see ``image.Make``. ``channels``: of images that it can
    change, empty for any number. ``needs_frame``: it sees one image instead of all."""

    name: str
    kind: str
    what: str
    make: Make
    severities: int = 5
    channels: tuple[int, ...] = ()
    needs_frame: bool = False


COLOURS = (3,)
PICTURES = (1, 3)

_ALL = (
    Fault("gaussian_noise", "noise", "noise of a sensor", noise.gaussian),
    Fault("shot_noise", "noise", "few photons", noise.shot),
    Fault("impulse_noise", "noise", "values lost here and there", noise.impulse),
    Fault("speckle_noise", "noise", "noise in proportion to the value", noise.speckle),
    Fault("defocus_blur", "blur", "out of focus", blur.defocus),
    Fault("glass_blur", "blur", "behind frosted glass", blur.glass),
    Fault("motion_blur", "blur", "the camera moves", blur.motion),
    Fault("zoom_blur", "blur", "the camera approaches", blur.zoom),
    Fault("gaussian_blur", "blur", "a bell for each point", blur.gaussian),
    Fault("snow", "weather", "whiter, with flakes", weather.snow),
    Fault("fog", "weather", "a haze of uneven thickness", weather.fog),
    Fault("spatter", "weather", "drops of water or mud on the lens", weather.spatter),
    Fault("brightness", "digital", "brighter", digital.brightness),
    Fault("contrast", "digital", "closer to the mean", digital.contrast),
    Fault("saturate", "digital", "paler or more colourful", digital.saturate, channels=COLOURS),
    Fault("elastic_transform", "digital", "stretched and wavy", digital.elastic),
    Fault("pixelate", "digital", "of fewer pixels", digital.pixelate, channels=PICTURES),
    Fault("jpeg_compression", "digital", "compressed", digital.jpeg, channels=PICTURES),
    Fault("rotation", "geometry", "rotated by 10, 20, 30, 45, 60 degrees", geometry.rotation),
    Fault("black", "anomaly", "a black frame", sensor.black, 1),
    Fault("white", "anomaly", "a white frame", sensor.white, 1),
    Fault("grey", "anomaly", "a grey frame", sensor.grey, 1),
    Fault("dead_rows", "anomaly", "1/16, 1/8, 1/4, 1/2 of the lines black", sensor.dead_rows, 4),
    Fault("stuck_rows", "anomaly", "a block of lines repeats one", sensor.stuck_rows, 4),
    Fault("stuck_columns", "anomaly", "a block of columns repeats one", sensor.stuck_columns, 4),
    Fault("shifted_lines", "anomaly", "lines late by 1, 2, 4, 8 pixels", sensor.shifted_lines, 4),
    Fault("byte_shift", "anomaly", "one byte too many: channels rotate", sensor.byte_shift, 1),
    Fault("frozen", "anomaly", "one frame for all", sensor.frozen, 1, needs_frame=True),
)  # fmt: skip
FAULTS = {f.name: f for f in _ALL}
ALIASES = {
    "gaussian": "gaussian_noise", "elastic": "elastic_transform", "jpeg": "jpeg_compression",
    "shot": "shot_noise", "impulse": "impulse_noise", "speckle": "speckle_noise",
    "defocus": "defocus_blur", "glass": "glass_blur", "motion": "motion_blur", "zoom": "zoom_blur",
}  # fmt: skip


def names() -> list[str]:
    """Of all faults, those of other packages last."""
    return [*FAULTS, *sorted({entry.name for entry in entry_points(group=GROUP)} - FAULTS.keys())]


def find(name: str) -> Fault:
    """By its name or a short form of it. Raises FaultError if there is none, or a package's fault
    cannot be taken."""
    known = ALIASES.get(name, name)
    brought = tuple(entry_points(group=GROUP, name=known))
    packages = " and ".join(sorted({e.dist.name for e in brought if e.dist is not None}))
    if len(brought) > 1 or (brought and known in FAULTS):
        raise FaultError(
            f"fault {name}: brought by {packages}, but there is another of that name; remove a "
            "package, or let it name its fault otherwise"
        )
    if brought:
        return _loaded(known, brought[0], packages)
    if known == "frost":
        raise FaultError(f"fault {name}: is not available: {LEFT_OUT}")
    if known not in FAULTS:
        raise UnknownFaultError(f"unknown fault {name!r}{choices(name, names())}")
    return FAULTS[known]


def _loaded(name: str, entry: Any, package: str) -> Fault:
    from edgemon.compiler.faults.contract import check_fault

    where = f"fault {name}: {entry.value} of the package {package}"
    try:
        found = entry.load()
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise FaultError(f"{where} cannot be imported ({text})") from None
    if not isinstance(found, Fault):
        raise FaultError(f"{where} is not a Fault (edgemon.compiler.faults.registry)")
    if found.name != name:
        raise FaultError(f"{where} has name={found.name!r}, and must have the entry point's name")
    try:
        check_fault(found)
    except FaultError as error:
        raise FaultError(f"{where} breaks the contract: {error}") from None
    return found


def make(
    images: Bytes, fault: str | Fault, severity: int, *, seed: int, rows: Iterable[int],
    full_scale: int = FULL_SCALE, frame: Bytes | None = None,
) -> Bytes:  # fmt: skip
    """Images (n, H, W) or (n, H, W, C) of bytes with a fault; as many, of the same shape.

    A row's draws depend on (seed, fault, severity, its number in ``rows``) alone, so that one row
    is the same in every run, order and block.

    Args:
        severity: from 1 to the fault's ``severities``.
        rows: (n,) numbers of the images in their data set.
        full_scale: the value of full brightness in these images; larger ones count as that.
        frame: (H, W[, C]), the image that stays, for a fault that needs one.
    """
    found = find(fault) if isinstance(fault, str) else fault
    require_images(images)
    if not 1 <= severity <= found.severities:
        raise FaultError(f"fault {found.name}: severity {severity}: 1 to {found.severities} exist")
    channels = 1 if images.ndim == 3 else images.shape[3]
    if found.channels and channels not in found.channels:
        wanted = " or ".join(map(str, found.channels))
        raise FaultError(f"fault {found.name}: needs images of {wanted} channels, not {channels}")
    if found.needs_frame and frame is None:
        raise FaultError(f"fault {found.name}: needs the frame that stays")
    numbers = np.fromiter(rows, np.int64)
    if len(numbers) != len(images):
        raise FaultError(f"{len(images)} images, but the numbers of {len(numbers)} rows")
    made = np.empty_like(images)
    for i, row in enumerate(numbers.tolist()):
        source = frame if found.needs_frame and frame is not None else images[i]
        x = np.minimum(source.reshape(*source.shape[:2], -1) / full_scale, 1)
        out = np.clip(found.make(x, severity, generator(found.name, severity, seed, row)), 0, 1)
        made[i] = np.rint(full_scale * out).reshape(images.shape[1:])
    return made


def require_images(images: npt.NDArray[Any]) -> None:
    """Raises FaultError unless these are images of bytes."""
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise FaultError(
            f"faults are made of images of 8 bits, (N, H, W) or (N, H, W, C); these are "
            f"{images.dtype} of shape {images.shape}"
        )


def warn_of_scale(images: Bytes, full_scale: int, option: str, warn: Callable[[str], None]) -> None:
    """Warns where the brightest of these images is far from full scale."""
    top = int(images.max(initial=0))
    if top > full_scale or 2 * top < full_scale:
        warn(
            f"the largest value of these images is {top}, but faults are made for a full scale of "
            f"{full_scale}: say {option} if brightness ends elsewhere"
        )


def generator(name: str, severity: int, seed: int, row: int) -> np.random.Generator:
    """The draws of one row."""
    code = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, code, severity, row])))


def digest(images: Bytes) -> str:
    """SHA-256 of the values in C order."""
    return hashlib.sha256(np.ascontiguousarray(images).tobytes()).hexdigest()
