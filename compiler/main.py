"""Entry point of the ``edgemon`` console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; on a device, where it is not installed, say what is missing."""
    try:
        from edgemon.compiler.root import app
    except ModuleNotFoundError as error:
        print(
            f"edgemon: the commands need more than the device runtime ({error.name} is missing): "
            "pip install 'edgemon[compile]'",
            file=sys.stderr,
        )
        sys.exit(2)
    app()
