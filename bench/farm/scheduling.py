"""Where tasks are done: here, one after another, or by the workers of a Dask scheduler.

``dask.distributed`` sends a task again when its worker is lost; answers lie in the store, which all
workers must see, as they must see the models and data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

from edgemon.bench.errors import BenchError
from edgemon.bench.farm.answers import Answers
from edgemon.bench.farm.work import Task, Workshop, do, do_and_store
from edgemon.compiler.reporter import Reporter

LOCAL = "local"
TIMEOUT_S = 20.0  # for a scheduler to answer


def require(scheduler: str) -> None:
    """Raises BenchError before a long run."""
    if scheduler != LOCAL and find_spec("distributed") is None:
        raise BenchError(
            "--scheduler ADDRESS needs dask.distributed: pip install 'edgemon[cluster]'"
        )


def run(
    tasks: Sequence[Task], scheduler: str, workshop: Workshop, reporter: Reporter
) -> Iterator[Answers | str]:
    """The answers of each task, or why its rows are not available, in the order of the tasks."""
    if scheduler != LOCAL:
        yield from _distributed(tasks, scheduler, workshop, reporter)
        return
    for task in tasks:
        yield do(task, workshop)


def _distributed(
    tasks: Sequence[Task], address: str, workshop: Workshop, reporter: Reporter
) -> Iterator[Answers | str]:
    from distributed import Client, as_completed

    name = workshop.place.case.name
    missing = [t for t in tasks if t.file is None or not t.file.is_file()]
    reasons: dict[str, str] = {}
    if missing:
        try:
            client = Client(address, timeout=TIMEOUT_S)
        except (OSError, ValueError, TimeoutError):
            raise BenchError(f"--scheduler {address}: no Dask scheduler answers there") from None
        with client, reporter.stage(f"{name}: {len(missing)} tasks on {address}") as progress:
            reporter.note(f"{name}: {len(missing)} of {len(tasks)} tasks on {address}; dashboard "
                          f"{client.dashboard_link}")  # fmt: skip
            futures = [client.submit(do_and_store, t, key=f"edgemon-{t.key}") for t in missing]
            keys = {f.key: t.key for f, t in zip(futures, missing, strict=True)}
            for done, future in enumerate(as_completed(futures), 1):
                reasons[keys[future.key]] = future.result()
                progress(done, len(missing))
    for task in tasks:
        yield reasons.get(task.key) or do(task, workshop)
