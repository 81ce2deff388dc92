"""Runs workers as child processes, so that a model can bring down nothing but its worker."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from edgemon.compiler.errors import DataError, ModelError

Job = dict[str, Any]
Message = dict[str, Any]

COMMAND = (sys.executable, "-P", "-m")
WORKER = "edgemon.compiler.models.worker"
ERRORS = {"model": ModelError, "data": DataError}


def run(
    jobs: Sequence[Job],
    *,
    subject: str,
    silence_s: float,
    progress: Callable[[int], None] | None = None,
    module: str = WORKER,
) -> list[Message]:
    """Run each job in a worker of its own, all at once; returns the result of each.

    ``progress`` gets the number of rows done by all together. A worker that dies, or says nothing
    for ``silence_s`` seconds, or reports an error, ends the others too and raises ModelError (or
    DataError if it blames the data); ``subject`` names the model in the sentence, ``module`` is
    what a worker runs.
    """
    workers: list[_Worker] = []
    try:
        for job in jobs:
            workers.append(
                _Worker(job, module)
            )  # one by one: a failed start must not lose the others
        with selectors.DefaultSelector() as selector:
            for worker in workers:
                selector.register(worker.output, selectors.EVENT_READ, worker)
            while selector.get_map():
                quiet_until = min(
                    key.data.heard_s + silence_s for key in selector.get_map().values()
                )
                events = selector.select(max(0.0, quiet_until - time.monotonic()))
                if not events:
                    raise ModelError(
                        f"{subject}: the model did not answer for {silence_s:.0f} s and was stopped"
                    )
                for key, _ in events:
                    if not key.data.read():
                        selector.unregister(key.fileobj)
                if progress is not None:
                    progress(sum(worker.done for worker in workers))
        return [worker.result(subject, silence_s) for worker in workers]
    finally:
        for worker in workers:
            worker.stop()


@dataclass
class _Worker:
    """One child: its job goes in by standard input, messages come back as JSON lines."""

    job: Job
    module: str
    done: int = 0
    heard_s: float = field(default_factory=time.monotonic)
    _last: Message | None = None
    _partial: bytes = b""

    def __post_init__(self) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._process = subprocess.Popen(
            (*COMMAND, self.module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # One interpreter thread a worker is the device's way; BLAS threads would only cost.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.output = self._process.stdout
        try:
            self._process.stdin.write(json.dumps(self.job).encode())
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # It died at once: result() says so.

    def read(self) -> bool:
        """Take what has arrived; False at the end."""
        arrived = os.read(self.output.fileno(), 1 << 16)
        self.heard_s = time.monotonic()
        *lines, self._partial = (self._partial + arrived).split(b"\n")
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue  # A library of the model's printed something.
            if isinstance(message, dict) and "done" in message:
                self.done = int(message["done"])
            elif isinstance(message, dict):
                self._last = message
        return bool(arrived)

    def result(self, subject: str, patience_s: float) -> Message:
        """The worker's last message; raises if there is none, or if the worker did not end well."""
        try:
            code = self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise ModelError(
                f"{subject}: the model's process did not end and was stopped"
            ) from None
        if self._last is not None and "error" in self._last:
            raise ERRORS[self._last["blames"]](f"{subject}: {self._last['error']}")
        if code < 0:
            raise ModelError(f"{subject}: {_death(-code, self.job.get('task'))}")
        if code or self._last is None:
            raise ModelError(
                f"{subject}: the process that ran the model failed: {self._complaint()}"
            )
        return self._last

    def stop(self) -> None:
        """End the process if it still runs, and close everything."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self.output.close()
        self._log.close()

    def _complaint(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "it gave no reason"


def _death(number: int, task: str | None) -> str:
    if number == signal.SIGKILL:
        return "the process that ran the model was killed (SIGKILL), probably for lack of memory"
    if task == "convert":
        return (
            f"TensorFlow crashed ({signal.Signals(number).name}) while it converted the model; try "
            "--convert float, or convert the model to TFLite where it was made, and give that"
        )
    return (
        f"the model crashed the interpreter ({signal.Signals(number).name}) in the process that "
        "ran it; it cannot be used with this interpreter"
    )
