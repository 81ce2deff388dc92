"""The declared preprocessing: from an image to the classifier's input tensor. NumPy only.

It is declared once, stored in the artifact, and used by the compiler and on the device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.errors import InputError, NotFiniteError
from edgemon.runtime.resize import resize_bilinear

Array = npt.NDArray[Any]
Float32 = npt.NDArray[np.float32]

CHANNELS = ("asis", "rgb", "bgr", "gray")
INTEGER_INPUTS = ("int8", "uint8", "int16", "int32")


@dataclass(frozen=True)
class Preprocess:
    """Steps in this order: resize, channels, ``v * scale + offset``, ``(v - mean) / std``.

    Arithmetic is float32. ``resize`` is (width, height) and equals Pillow's BILINEAR (with
    antialiasing), bit for bit on uint8 images. ``channels``: ``asis``, ``rgb`` (the same, for
    readers), ``bgr`` (the last axis reversed) or ``gray`` (ITU-R 601 luma, as Pillow's "L").
    ``mean`` and ``std`` have one element, or one a channel.
    """

    scale: float = 1.0
    offset: float = 0.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    resize: tuple[int, int] | None = None
    channels: str = "asis"

    def __post_init__(self) -> None:
        numbers = (self.scale, self.offset, *self.mean, *self.std)
        if not all(math.isfinite(v) for v in numbers):
            raise InputError("preprocess: every number must be finite")
        if any(v == 0 for v in self.std):
            raise InputError("preprocess: std must not be zero")
        if self.channels not in CHANNELS:
            raise InputError(
                f"preprocess: channels={self.channels!r} is unknown; use {', '.join(CHANNELS)}"
            )
        if self.resize is not None and not all(1 <= v <= 65535 for v in self.resize):
            raise InputError("preprocess: resize needs a width and a height of 1 to 65535")

    @classmethod
    def parse(cls, text: str) -> Preprocess:
        """Read ``"scale=1/255,resize=30x30,mean=0.49:0.48:0.44,std=..,channels=rgb"``."""
        found: dict[str, Any] = {}
        for part in (p.strip() for p in text.split(",") if p.strip()):
            key, equals, value = (p.strip() for p in part.partition("="))
            if not equals or key not in _PARSERS:
                raise InputError(
                    f"preprocess: {part!r} is not understood; write KEY=VALUE with KEY one of "
                    f"{', '.join(_PARSERS)}"
                )
            if key in found:
                raise InputError(f"preprocess: {key} is given twice")
            try:
                found[key] = _PARSERS[key](value)
            except (ValueError, ZeroDivisionError):
                raise InputError(
                    f"preprocess: {part!r} is not understood; an example is {_EXAMPLES[key]}"
                ) from None
        return cls(**found)

    def __str__(self) -> str:
        """The text that ``parse`` reads back as the same declaration."""
        parts = []
        if self.resize is not None:
            parts.append(f"resize={self.resize[0]}x{self.resize[1]}")
        if self.channels != "asis":
            parts.append(f"channels={self.channels}")
        if self.scale != 1.0:
            parts.append(f"scale={self.scale!r}")
        if self.offset != 0.0:
            parts.append(f"offset={self.offset!r}")
        for name, values in (("mean", self.mean), ("std", self.std)):
            if values:
                parts.append(f"{name}={':'.join(repr(v) for v in values)}")
        return ",".join(parts)

    def to_json(self) -> dict[str, object]:
        """A JSON object; numbers keep every bit."""
        return {
            "scale": self.scale,
            "offset": self.offset,
            "mean": list(self.mean),
            "std": list(self.std),
            "resize": None if self.resize is None else list(self.resize),
            "channels": self.channels,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Preprocess:
        """The inverse of ``to_json``; raises InputError on anything else."""
        try:
            resize = found["resize"]
            return cls(
                scale=float(found["scale"]),
                offset=float(found["offset"]),
                mean=tuple(float(v) for v in found["mean"]),
                std=tuple(float(v) for v in found["std"]),
                resize=None if resize is None else (int(resize[0]), int(resize[1])),
                channels=str(found["channels"]),
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise InputError("the stored preprocessing is damaged; compile again") from None

    def apply(self, image: npt.ArrayLike) -> Float32:
        """One image, (H, W) or (H, W, C) or any shape if only numbers change, as float32."""
        v = np.asarray(image)
        if v.dtype.kind not in "buif":
            raise InputError(f"an image has dtype {v.dtype}; edgemon needs numbers")
        if self.resize is not None:
            v = resize_bilinear(_picture(v, "resize"), *self.resize)
        if self.channels == "bgr":
            v = _picture(v, "channels=bgr")[..., ::-1]
        elif self.channels == "gray":
            v = _gray(_picture(v, "channels=gray"))
        with np.errstate(over="ignore", invalid="ignore"):
            out = v.astype(np.float32)
            if self.scale != 1.0:
                out = out * np.float32(self.scale)
            if self.offset != 0.0:
                out = out + np.float32(self.offset)
            if self.mean:
                out = out - self._each_channel("mean", self.mean, out)
            if self.std:
                out = out / self._each_channel("std", self.std, out)
        return out

    @staticmethod
    def _each_channel(name: str, values: tuple[float, ...], v: Array) -> Float32:
        if len(values) != 1 and (v.ndim == 0 or v.shape[-1] != len(values)):
            raise InputError(
                f"preprocess: {name} has {len(values)} values, but an image has the shape "
                f"{v.shape}; give one value, or one for each channel of the last axis"
            )
        return np.array(values, np.float32)


@dataclass(frozen=True)
class InputSpec:
    """The classifier's input: ``shape`` without the batch axis, real = scale * (code - zero_point).

    ``scale`` is 0 where the tensor is not quantised.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float = 0.0
    zero_point: int = 0

    def to_json(self) -> dict[str, object]:
        """A JSON object; numbers keep every bit."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "scale": self.scale,
            "zero_point": self.zero_point,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> InputSpec:
        """The inverse of ``to_json``; raises InputError on anything else."""
        try:
            return cls(
                name=str(found["name"]),
                shape=tuple(int(n) for n in found["shape"]),
                dtype=str(found["dtype"]),
                scale=float(found["scale"]),
                zero_point=int(found["zero_point"]),
            )
        except (KeyError, TypeError, ValueError):
            raise InputError("the stored input description is damaged; compile again") from None


def to_input(image: npt.ArrayLike, preprocess: Preprocess, spec: InputSpec) -> Array:
    """The input tensor of one image: shape (1, *spec.shape), dtype ``spec.dtype``.

    A quantised input takes ``round(v / scale + zero_point)``, half to even, saturated; an
    unquantised integer input takes ``round(v)``, saturated. Axes of length 1 may be missing or
    extra. Raises InputError on a wrong shape, NotFiniteError on a NaN or an infinity.
    """
    v = preprocess.apply(image)
    if _long_axes(v.shape) != _long_axes(spec.shape):
        raise InputError(
            f"an image has the shape {v.shape} after preprocessing, but the model's input "
            f"{spec.name!r} needs {spec.shape}; declare --preprocess resize=WxH or channels=..., "
            "or give the data that the model was made for"
        )
    if not np.isfinite(v).all():
        raise NotFiniteError("an image has a NaN or an infinity")
    v = v.reshape((1, *spec.shape))
    if spec.dtype == "float32":
        return np.ascontiguousarray(v)
    if spec.dtype not in INTEGER_INPUTS:
        raise InputError(
            f"the model's input {spec.name!r} is {spec.dtype}, which edgemon cannot fill"
        )
    limits = np.iinfo(spec.dtype)
    codes = v.astype(np.float64)
    if spec.scale:
        codes = codes / spec.scale + spec.zero_point
    return np.clip(np.rint(codes), limits.min, limits.max).astype(spec.dtype)


def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _picture(v: Array, step: str) -> Array:
    """(H, W) or (H, W, C): leading axes of length 1 are dropped."""
    while v.ndim > 3 and v.shape[0] == 1:
        v = v[0]
    if v.ndim not in (2, 3) or 0 in v.shape:
        raise InputError(
            f"preprocess: {step} needs an image of shape (height, width) or "
            f"(height, width, channels), not {v.shape}"
        )
    return v


def _gray(v: Array) -> Array:
    """ITU-R 601 luma, (H, W). uint8: Pillow's 16-bit fixed point, exactly."""
    if v.ndim == 2:
        return v
    if v.shape[2] == 1:
        return v[:, :, 0]
    if v.shape[2] != 3:
        raise InputError(f"preprocess: channels=gray needs 3 channels, an image has {v.shape[2]}")
    if v.dtype == np.uint8:
        r, g, b = np.moveaxis(v.astype(np.uint32), 2, 0)
        luma: Array = ((19595 * r + 38470 * g + 7471 * b + 32768) >> 16).astype(np.uint8)
    else:
        r, g, b = np.moveaxis(v.astype(np.float32), 2, 0)
        luma = np.float32(0.299) * r + np.float32(0.587) * g + np.float32(0.114) * b
    return luma


def _number(text: str) -> float:
    numerator, slash, denominator = text.partition("/")
    return float(numerator) / float(denominator) if slash else float(numerator)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_number(part) for part in text.split(":"))


def _size(text: str) -> tuple[int, int]:
    width, height = text.lower().split("x")
    return int(width), int(height)


_PARSERS: dict[str, Any] = {
    "scale": _number,
    "offset": _number,
    "mean": _numbers,
    "std": _numbers,
    "resize": _size,
    "channels": str,
}
_EXAMPLES = {
    "scale": "scale=1/255",
    "offset": "offset=-1",
    "mean": "mean=0.49:0.48:0.44",
    "std": "std=0.25:0.24:0.26",
    "resize": "resize=30x32 (width x height)",
    "channels": "channels=bgr",
}
