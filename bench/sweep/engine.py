"""Where steps are done: here, one after another; by processes of this machine; or by the workers
of a Dask scheduler.

What comes of a step that is done elsewhere travels by the store, which all workers must see, as
they must see the models and data. A worker that is lost costs its step alone: the step is sent
again.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeVar

from edgemon.bench.errors import BenchError
from edgemon.compiler.reporter import Progress, Reporter

LOCAL = "local"
TIMEOUT_S = 20.0  # for a scheduler to answer
LOSSES = 3  # of processes, until a sweep gives up


class Step(Protocol):
    """What can be done elsewhere; it is pickled."""

    @property
    def key(self) -> str:
        """A hash of what it reads."""
        ...

    @property
    def file(self) -> Path | None:
        """What comes of it, once it is there; None without a store."""
        ...


S = TypeVar("S", bound=Step)
T = TypeVar("T")
Store = Callable[[S], str]  # does the step, and stores what comes of it; or says why it cannot


@dataclass(frozen=True)
class Engine:
    """``scheduler``: "local", or a Dask scheduler's address; ``jobs``: local processes."""

    scheduler: str = LOCAL
    jobs: int = 1

    @property
    def elsewhere(self) -> bool:
        """Are steps done by other processes, which need a store?"""
        return self.scheduler != LOCAL or self.jobs > 1

    def require(self) -> None:
        """Raises BenchError before a long run."""
        if self.scheduler == LOCAL:
            return
        if self.jobs > 1:
            raise BenchError("--jobs are processes of this machine: leave out --scheduler")
        if find_spec("distributed") is None:
            raise BenchError(
                "--scheduler ADDRESS needs dask.distributed: pip install 'edgemon[cluster]'"
            )

    def each(
        self, steps: Sequence[S], here: Callable[[S], T | str], store: Store[S], name: str,
        reporter: Reporter,
    ) -> Iterator[T | str]:  # fmt: skip
        """What comes of each step, or why nothing does, in the order of the steps. ``here`` does
        one in this process, or finds it in the store; ``store``, a function of a module, does
        the same in another. ``name`` is said beside the progress."""
        reasons: dict[str, str] = {}
        missing = [s for s in steps if s.file is None or not s.file.is_file()]
        if missing and self.elsewhere:
            where = f"{self.jobs} processes" if self.scheduler == LOCAL else self.scheduler
            with reporter.stage(f"{name}: {len(missing)} steps by {where}") as progress:
                if self.scheduler == LOCAL:
                    reasons = self._by_processes(missing, store, progress)
                else:
                    reasons = self._by_workers(missing, len(steps), store, name, reporter, progress)
        for step in steps:
            yield reasons.get(step.key) or here(step)

    def _by_processes(
        self, missing: Sequence[S], store: Store[S], progress: Progress
    ) -> dict[str, str]:
        reasons: dict[str, str] = {}
        left, losses, context = {s.key: s for s in missing}, 0, multiprocessing.get_context("spawn")
        count = len(left)
        while left:
            with ProcessPoolExecutor(self.jobs, mp_context=context) as pool:
                futures = {pool.submit(store, step): key for key, step in left.items()}
                try:
                    for future in as_completed(futures):
                        reasons[futures[future]] = future.result()
                        del left[futures[future]]
                        progress(count - len(left), count)
                except BrokenProcessPool:
                    losses += 1
                    if losses == LOSSES:
                        raise BenchError(
                            f"--jobs {self.jobs}: a process was lost {LOSSES} times, for want of "
                            "memory perhaps; what is done is in the store, so that fewer --jobs "
                            "can go on from there"
                        ) from None
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
        return {key: why for key, why in reasons.items() if why}

    def _by_workers(
        self, missing: Sequence[S], count: int, store: Store[S], name: str, reporter: Reporter,
        progress: Progress,
    ) -> dict[str, str]:  # fmt: skip
        from distributed import Client
        from distributed import as_completed as completed

        try:
            client = Client(self.scheduler, timeout=TIMEOUT_S)
        except (OSError, ValueError, TimeoutError):
            raise BenchError(
                f"--scheduler {self.scheduler}: no Dask scheduler answers there"
            ) from None
        reasons: dict[str, str] = {}
        with client:
            reporter.note(f"{name}: {len(missing)} of {count} steps on {self.scheduler}; dashboard "
                          f"{client.dashboard_link}")  # fmt: skip
            futures = [client.submit(store, s, key=f"edgemon-{s.key}") for s in missing]
            keys = {f.key: s.key for f, s in zip(futures, missing, strict=True)}
            for done, future in enumerate(completed(futures), 1):
                reasons[keys[future.key]] = future.result()
                progress(done, len(missing))
        return reasons
