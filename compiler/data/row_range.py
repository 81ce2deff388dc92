"""A range of rows as the user wrote it, with Python's slice semantics, but never out of range."""

from __future__ import annotations

from dataclasses import dataclass

from edgemon.compiler.errors import DataError

MOST_ROWS = 10_000_000  # a row costs the compiler some 100 bytes of memory, whatever its size


@dataclass(frozen=True)
class RowRange:
    """``[first:end]``; negative numbers count from the end, None is the outermost."""

    first: int | None
    end: int | None
    source: str

    def of(self, count: int) -> range:
        """The rows among ``count``. Raises DataError if there are none, or fewer than asked for."""
        for bound in (self.first, self.end):
            if bound is not None and not -count <= bound <= count:
                raise DataError(
                    f"{self.source}: row {bound} is out of range, there are {count} rows"
                )
        rows = range(count)[self.first : self.end]
        if not rows:
            raise DataError(f"{self.source}: has no rows" + (" in this range" if count else ""))
        if rows.stop - rows.start > MOST_ROWS:
            raise DataError(
                f"{self.source}: has more than {MOST_ROWS:,} rows; give a range [FIRST:END]"
            )
        return rows
