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
from edgemon.runtime.preprocess_text import parsed, written
from edgemon.runtime.resize import resize_bilinear

Array = npt.NDArray[Any]
Float32 = npt.NDArray[np.float32]

CHANNELS = ("asis", "rgb", "bgr", "gray")
LAYOUTS = ("auto", "nhwc", "nchw")
LARGEST_TOKEN = 1 << 24  # below which float32, in which images are prepared, is exact
LARGEST_SIDE = 4096  # of a resized image, in pixels
LARGEST_SOURCE_SIDE = 16384
INPUT = -1  # in place of an output's position: the input tensor itself, which no graph gives back
FLOAT_INPUTS = ("float32", "float64", "float16")
INTEGER_INPUTS = ("int8", "uint8", "int16", "int32", "int64")
TOKENS = ("int32", "int64")  # dtypes of inputs that, without a scale, take numbers of something


@dataclass(frozen=True)
class Preprocess:
    """Steps in this order: resize, channels, ``v * scale + offset``, ``(v - mean) / std``.

    Arithmetic is float32. ``resize`` is (width, height) and equals Pillow's BILINEAR (with
    antialiasing), bit for bit on uint8 images. ``channels``: ``asis``, ``rgb`` (the same, for
    readers), ``bgr`` (the channels reversed) or ``gray`` (ITU-R 601 luma, as Pillow's "L").
    ``mean`` and ``std`` have one element, or one a channel.

    Images have their channels last. ``layout`` says whether the model wants that too (``nhwc``) or
    channels first (``nchw``); ``auto`` leaves it to the model's own description.
    """

    scale: float = 1.0
    offset: float = 0.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    resize: tuple[int, int] | None = None
    channels: str = "asis"
    layout: str = "auto"

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
        if self.layout not in LAYOUTS:
            raise InputError(
                f"preprocess: layout={self.layout!r} is unknown; use {', '.join(LAYOUTS)}"
            )
        if self.resize is not None and not all(1 <= v <= LARGEST_SIDE for v in self.resize):
            raise InputError(
                f"preprocess: resize needs a width and a height of 1 to {LARGEST_SIDE}"
            )

    @classmethod
    def parse(cls, text: str) -> Preprocess:
        """Read ``"scale=1/255,resize=30x30,mean=0.49:0.48:0.44,std=..,channels=rgb"``.
        ``standardize=FILE`` stands for the mean and std that a file has, see ``standardization``.
        """
        return cls(**parsed(text))

    def __str__(self) -> str:
        """The text that ``parse`` reads back as the same declaration."""
        return written(self)

    def to_json(self) -> dict[str, object]:
        """A JSON object; numbers keep every bit."""
        return {
            "scale": self.scale,
            "offset": self.offset,
            "mean": list(self.mean),
            "std": list(self.std),
            "resize": None if self.resize is None else list(self.resize),
            "channels": self.channels,
            "layout": self.layout,
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
                layout=str(found.get("layout", "auto")),
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise InputError("the stored preprocessing is damaged; compile again") from None

    def layout_of(self, spec: InputSpec) -> str:
        """ "nhwc" or "nchw": what is declared here, else what the model says."""
        return spec.layout if self.layout == "auto" else self.layout

    def apply(self, image: npt.ArrayLike) -> Float32:
        """One image, (H, W) or (H, W, C) or any shape if only numbers change, as float32."""
        v = np.asarray(image)
        if v.dtype.kind not in "buif":
            raise InputError(f"an image has dtype {v.dtype}; edgemon needs numbers")
        if self.resize is not None:
            v = _picture(v, "resize")
            if max(v.shape[:2]) > LARGEST_SOURCE_SIDE:
                raise InputError(
                    f"preprocess: resize takes images of at most {LARGEST_SOURCE_SIDE} pixels a "
                    f"side, not {v.shape}"
                )
            v = resize_bilinear(v, *self.resize)
        if self.channels == "bgr":
            v = _picture(v, "channels=bgr")
            v = v[..., ::-1] if v.ndim == 3 else v
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
            if len(long_axes(v.shape)) < 2:
                raise InputError(
                    f"preprocess: {name} has {len(values)} values, but a row has {v.size} columns"
                )
            raise InputError(
                f"preprocess: {name} has {len(values)} values, but an image has the shape "
                f"{v.shape}; give one value, or one for each channel of the last axis"
            )
        return np.array(values, np.float32)


@dataclass(frozen=True)
class InputSpec:
    """The classifier's input: ``shape`` without the batch axis, real = scale * (code - zero_point).

    ``scale`` is 0 where the tensor is not quantised. ``layout`` is "nchw" where channels come
    first, else "nhwc". ``batch``: has the tensor a batch axis? An input of sound may have none.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float = 0.0
    zero_point: int = 0
    layout: str = "nhwc"
    batch: bool = True

    @property
    def tensor_shape(self) -> tuple[int, ...]:
        """That of the whole tensor, of one image."""
        return (1, *self.shape) if self.batch else self.shape

    @property
    def takes_tokens(self) -> bool:
        """Does it take whole numbers that stand for something, as words, and measure nothing?"""
        return self.dtype in TOKENS and not self.scale

    @classmethod
    def of_tensor(cls, name: str, shape: tuple[int, ...], dtype: str) -> InputSpec:
        """Of a tensor with this shape; one of a single axis has no batch, unless of length 1."""
        batch = len(shape) != 1 or shape[0] == 1
        return cls(name, shape[1:] if batch else shape, dtype, batch=batch)

    def to_json(self) -> dict[str, object]:
        """A JSON object; numbers keep every bit."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "scale": self.scale,
            "zero_point": self.zero_point,
            "layout": self.layout,
            **({} if self.batch else {"batch": False}),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> InputSpec:
        """The inverse of ``to_json``; raises InputError on anything else."""
        try:
            spec = cls(
                name=str(found["name"]),
                shape=tuple(int(n) for n in found["shape"]),
                dtype=str(found["dtype"]),
                scale=float(found["scale"]),
                zero_point=int(found["zero_point"]),
                layout=str(found.get("layout", "nhwc")),
                batch=bool(found.get("batch", True)),
            )
            if spec.layout not in LAYOUTS[1:]:
                raise ValueError(spec.layout)
        except (KeyError, TypeError, ValueError):
            raise InputError("the stored input description is damaged; compile again") from None
        return spec


def to_input(image: npt.ArrayLike, preprocess: Preprocess, spec: InputSpec) -> Array:
    """The input tensor of one image: shape ``spec.tensor_shape``, dtype ``spec.dtype``.

    A quantised input takes ``round(v / scale + zero_point)``, half to even, saturated; an
    unquantised integer input takes ``round(v)``, saturated. An input with channels first takes the
    image's last axis as its first. Axes of length 1 may be missing or extra. A vector of as many
    values as the input has is an image, channels last, unless a resize is declared. Raises
    InputError on a wrong shape, NotFiniteError on a NaN or an infinity.
    """
    v = to_codes(image, preprocess, spec)
    if spec.dtype in FLOAT_INPUTS:
        return np.ascontiguousarray(v, spec.dtype)
    limits = np.iinfo(spec.dtype)
    if spec.takes_tokens and (np.abs(v) > LARGEST_TOKEN).any():
        raise InputError(
            f"the model's input {spec.name!r} takes whole numbers, and {np.abs(v).max():.15g} is "
            "more than float32 holds exactly; give numbers up to 2^24"
        )
    with np.errstate(invalid="ignore"):
        codes: Array = np.clip(v, limits.min, limits.max).astype(spec.dtype)
    codes[v >= float(limits.max)] = limits.max  # float64 rounds the largest of 64 bits up
    return codes


def to_codes(image: npt.ArrayLike, preprocess: Preprocess, spec: InputSpec) -> Array:
    """As ``to_input``, but what an integer input takes is float64, rounded and not saturated."""
    layout = preprocess.layout_of(spec)
    needed = image_shape(spec.shape, layout)
    v = preprocess.apply(image if preprocess.resize else _unflattened(np.asarray(image), needed))
    if long_axes(v.shape) != long_axes(needed):
        if len(long_axes(v.shape)) < 2 and len(long_axes(needed)) < 2:
            raise InputError(
                f"a row has {v.size} columns, but the model's input {spec.name!r} takes "
                f"{math.prod(needed)}: give the columns that it was trained on, and no others"
            )
        raise InputError(
            f"an image has the shape {v.shape} after preprocessing, but the model's input "
            f"{spec.name!r} needs {needed}; {_remedy(v.shape, spec.shape, layout)}"
        )
    if not np.isfinite(v).all():
        raise NotFiniteError("an image has a NaN or an infinity")
    v = v.reshape(needed)
    if layout == "nchw" and v.ndim == 3:
        v = np.moveaxis(v, -1, 0)
    v = v.reshape(spec.tensor_shape)
    if spec.dtype in FLOAT_INPUTS:
        return v
    if spec.dtype not in INTEGER_INPUTS:
        raise InputError(
            f"the model's input {spec.name!r} is {spec.dtype}, which edgemon cannot fill"
        )
    codes = v.astype(np.float64)
    if spec.scale:
        codes = codes / spec.scale + spec.zero_point
    return np.asarray(np.rint(codes))


def long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without its axes of length 1."""
    return tuple(n for n in shape if n != 1)


def image_shape(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """The shape of an image, channels last, for an input of this shape."""
    return (*shape[1:], shape[0]) if layout == "nchw" and len(shape) == 3 else shape


def vectors_as(
    image: npt.ArrayLike, preprocess: Preprocess, spec: InputSpec
) -> tuple[int, ...] | None:
    """(height, width, channels) that ``to_input`` makes of a vector, if there are several channels:
    whether they lie beside each other or one behind the other, a vector does not say."""
    needed = image_shape(spec.shape, preprocess.layout_of(spec))
    vector = np.asarray(image)
    several = len(needed) == 3 and needed[2] > 1 and not preprocess.resize
    flat = several and vector.shape != needed and _unflattened(vector, needed).shape == needed
    return needed if flat else None


def _unflattened(v: Array, shape: tuple[int, ...]) -> Array:
    is_vector = len(long_axes(v.shape)) == 1 and v.size == math.prod(shape)
    return v.reshape(shape) if is_vector else v


def _remedy(found: tuple[int, ...], shape: tuple[int, ...], layout: str) -> str:
    """What makes an image of the shape ``found`` fit an input of this shape, if anything does."""
    other = "nhwc" if layout == "nchw" else "nchw"
    if long_axes(found) == long_axes(image_shape(shape, other)):
        return f"declare --preprocess layout={other}"
    needed = image_shape(shape, layout)
    if len(long_axes(found)) < 2 or not 2 <= len(needed) <= 3:
        return f"give {math.prod(needed)} values an image"
    image, target = _with_channels(found), _with_channels(needed)
    if (*image[1:], image[0]) == target:
        return "give images with their channels last"
    steps = [] if image[:2] == target[:2] else [f"resize={target[1]}x{target[0]}"]
    if image[2:] == (3,) and target[2:] == (1,):
        steps.append("channels=gray")
    elif image[2:] != target[2:]:
        return "give the data that the model was made for"
    return f"declare --preprocess {','.join(steps)}"


def _with_channels(shape: tuple[int, ...]) -> tuple[int, ...]:
    """(H, W, C); leading axes of length 1 are dropped, as ``_picture`` does."""
    while len(shape) > 3 and shape[0] == 1:
        shape = shape[1:]
    return (*shape, 1) if len(shape) == 2 else shape


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
