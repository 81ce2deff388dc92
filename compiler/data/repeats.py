"""Rows that repeat others: draws of a process that repeats its values, or copies that collecting
made.

Independent draws stay exchangeable with new ones however often they are equal, also across a random
split: to leave repeats out would make frequent values rare, and a threshold that is set on what is
left promises something else than what comes. Copies (a file twice, a picture saved again) are not
independent: of those one row may count. A tool sees equal rows, and not which of the two they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.groups import Groups, one_of_each
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Warn

KEEP, GROUP = POLICIES = ("keep", "group")


def require_policy(policy: str) -> None:
    """Raises DataError for what is no policy."""
    if policy not in POLICIES:
        raise DataError(f"--repeats {policy}: use {' or '.join(POLICIES)}")


def contents(data: Dataset) -> Groups:
    """(n,): a number of each row's values; rows that are equal to a model have equal ones."""
    digests = np.frombuffer(b"".join(data.fingerprints()), "<i8").reshape(len(data), -1)
    return digests[:, 0].astype(np.int64)


def treated(data: Dataset, policy: str, seed: int, warn: Warn) -> Dataset:
    """The rows that count, and a word to ``warn`` if some repeat others."""
    own = contents(data)
    repeated = len(own) - len(np.unique(own))
    if not repeated:
        return data
    which = f"{data.source}: {repeated:,} of {len(data):,} rows repeat another row"
    if policy == KEEP:
        warn(
            f"{which}; all of them count, as draws of a process that repeats its values. If "
            "collecting made the copies (a file twice), let one of each count: --repeats group"
        )
        return data
    warn(f"{which}; of equal rows one counts, drawn by seed (--repeats group)")
    if data.groups is not None:
        data = replace(data, groups=_merged(data.groups, own))
    return data.take(one_of_each(own, seed, data.rows))


def _merged(groups: Groups, own: Groups) -> npt.NDArray[np.int64]:
    """The groups of rows (n,), of which those that share contents (n,) are one: it has the smallest
    number of them."""
    from scipy.sparse import coo_array  # which devices lack
    from scipy.sparse.csgraph import connected_components

    each, group = np.unique(groups, return_inverse=True)
    count, content = len(each), np.unique(own, return_inverse=True)[1]
    size = count + int(content.max(initial=-1)) + 1
    edges = coo_array((np.ones(len(own)), (group, count + content)), shape=(size, size))
    part = connected_components(edges, directed=False)[1][:count]
    smallest = np.full(int(part.max(initial=-1)) + 1, each.max(initial=0))
    np.minimum.at(smallest, part, each)
    return smallest[part][group].astype(np.int64)
