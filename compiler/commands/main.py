"""Entry point of the ``edgemon`` console script."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from edgemon.compiler.answer import failure, is_asked_for

NOT_INSTALLED = 2
STOPPED = 128  # added to a signal's number in an exit code, as shells do


def main() -> None:
    """Run the command line; on a device, where it is not installed, say what is missing."""
    try:
        from edgemon.compiler.commands.root import app
    except ModuleNotFoundError as error:
        sentence = (
            f"the commands need more than the device runtime ({error.name} is missing): "
            "pip install 'edgemon[compile]', or for run, bench and op-times alone 'edgemon[device]'"
        )
        print(f"edgemon: {sentence}", file=sys.stderr)
        if is_asked_for(sys.argv[1:]):
            print(failure(sentence, NOT_INSTALLED))
        sys.exit(NOT_INSTALLED)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup wants it ignored
            signal.signal(number, _stop)
    app()


def _stop(number: int, _frame: FrameType | None) -> None:
    """Leave as after an error, so that temporary files and child processes go too."""
    raise SystemExit(STOPPED + number)
