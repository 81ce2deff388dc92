"""What people mix up: preprocessings and orders of classes beside those in force."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.classes import Classes
from edgemon.runtime.preprocess import InputSpec, Preprocess

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.int64]

MOST_NAMES = 12  # of classes in a flag
MOST_FEATURES = 16  # whose means a flag can hold
NOBODYS = -1  # the label of a class that no row has

# Of pixels 0 to 255, and of values 0 to 1; each as --preprocess takes it.
_IMAGENET = "mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
OF_PIXELS = ("", "scale=1/255", "scale=1/127.5,offset=-1", "scale=-1/255,offset=1")
OF_COLOUR_PIXELS = (f"scale=1/255,{_IMAGENET}", "mean=103.939:116.779:123.68")
OF_SHARES = ("", "scale=255", "scale=2,offset=-1", "scale=-1,offset=1")
OF_COLOUR_SHARES = (_IMAGENET,)
OF_OTHERS = ("", "scale=0.5,offset=0.5", "scale=127.5,offset=127.5")


@dataclass(frozen=True)
class Way:
    """A preprocessing, and the flag that chooses it; "" for the one in force."""

    preprocess: Preprocess
    flag: str = ""


@dataclass(frozen=True, eq=False)
class Order:
    """A label map, and the flag that chooses it; "" for the one in force."""

    labels: Labels
    flag: str = ""


def ways(preprocess: Preprocess, spec: InputSpec, rows: Array) -> list[Way]:
    """Other preprocessings of images or feature vectors like ``rows`` (n, ...) that could be
    meant: scalings, and of colours also their order."""
    if spec.takes_tokens:
        return []  # a scaled word is another word
    channels = _channels(preprocess, spec)
    found = [preprocess]
    texts = _scalings(preprocess, rows, colours=channels == 3)
    for text in texts:
        other = Preprocess.parse(text)
        numbers = {k: getattr(other, k) for k in ("scale", "offset", "mean", "std")}
        found.append(replace(preprocess, **numbers))
    flags = ["", *texts]
    if channels == 3:
        swapped = "asis" if preprocess.channels == "bgr" else "bgr"
        found += [replace(p, channels=swapped) for p in found]
        flags += flags
    distinct: dict[Preprocess, str] = {}
    for p, text in zip(found, flags, strict=True):
        if p != preprocess:
            distinct.setdefault(p, _flag(p, text if text or not _numbers(p) else str(p)))
    return [Way(p, flag) for p, flag in distinct.items()]


def orders(classes: Classes, present: Labels) -> list[Order]:
    """Other orders of the classes that could be meant, and in which each label that is ``present``
    has one: by number or as text, counted from 0 or 1, or, of two, the other way round."""
    found = list(_of_numbers(classes) if _numeric(classes) else _of_words(classes))
    if len(classes.names) == 2:
        found.append(Order(classes.map[::-1], f"--classes {','.join(classes.names[::-1])}"))
    kept: list[Order] = []
    for order in found:
        if np.isin(present, order.labels).all() and not any(
            np.array_equal(order.labels, o.labels) for o in (Order(classes.map), *kept)
        ):
            kept.append(order)
    return kept


def _channels(preprocess: Preprocess, spec: InputSpec) -> int:
    if len(spec.shape) < 3:
        return 1
    return spec.shape[0 if preprocess.layout_of(spec) == "nchw" else -1]


def _scalings(preprocess: Preprocess, rows: Array, *, colours: bool) -> tuple[str, ...]:
    finite = rows[np.isfinite(rows)]
    if not finite.size:
        return ()
    low, high = float(finite.min()), float(finite.max())
    picture = rows.ndim > 2
    if low >= 0 and 1.5 < high <= 255 and bool((finite == np.rint(finite)).all()):
        return (*OF_PIXELS, *(OF_COLOUR_PIXELS if colours else ()))
    if picture and low >= 0 and high <= 1:
        return (*OF_SHARES, *(OF_COLOUR_SHARES if colours else ()))
    if picture:
        return OF_OTHERS
    return (("",) if _numbers(preprocess) else ()) + _standardised(rows)


def _standardised(rows: Array) -> tuple[str, ...]:
    """Features with the mean 0 and the deviation 1, as scalers in front of a model make them."""
    flat = rows.reshape(len(rows), -1).astype(np.float64)
    mean, std = flat.mean(axis=0), flat.std(axis=0)
    if flat.shape[1] > MOST_FEATURES or not np.isfinite(std).all() or (std == 0).any():
        return ()
    if np.abs(mean).max() < 0.2 and np.abs(std - 1).max() < 0.2:
        return ()
    listed = (":".join(f"{v:.4g}" for v in values) for values in (mean, std))
    return ("mean={},std={}".format(*listed),)


def _numbers(preprocess: Preprocess) -> bool:
    """Does it change numbers?"""
    return Preprocess(
        resize=preprocess.resize, channels=preprocess.channels, layout=preprocess.layout
    ) != preprocess  # fmt: skip


def _flag(preprocess: Preprocess, scaling: str) -> str:
    rest = str(replace(preprocess, scale=1.0, offset=0.0, mean=(), std=()))
    numbers = re.sub(r"(^|,)(resize|channels|layout)=[^,]*", "", scaling).strip(",")
    text = ",".join(filter(None, (rest, numbers)))
    return f"--preprocess {text}" if text else "no --preprocess"


def _numeric(classes: Classes) -> bool:
    return classes.names == tuple(map(str, classes.values))


def _of_numbers(classes: Classes) -> Iterator[Order]:
    count = len(classes.values)
    for first in (0, 1):
        values = range(first, first + count)
        for order, key in (("numeric", int), ("string", str)):
            labels = np.array(sorted(values, key=key), np.int64)
            counted_alike = sorted(classes.values)[0] == first
            flag = f"--label-order {order}" if counted_alike else _classes(labels.tolist())
            yield Order(labels, flag)
    yield Order(
        np.array([NOBODYS, *range(count - 1)], np.int64),
        _classes(["background", *range(count - 1)]),
    )


def _of_words(classes: Classes) -> Iterator[Order]:
    for key in (_natural, str.casefold):
        order = sorted(range(len(classes.names)), key=lambda j: key(classes.names[j]))
        yield Order(classes.map[order], _classes([classes.names[j] for j in order]))


def _natural(name: str) -> tuple[tuple[str, int], ...]:
    """class2 before class10."""
    return tuple((word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", name))


def _classes(names: list[Any]) -> str:
    shown = [str(n) for n in names]
    if len(shown) > MOST_NAMES:
        shown = [*shown[:3], "...", shown[-1]]
    return f"--classes {','.join(shown)}"
