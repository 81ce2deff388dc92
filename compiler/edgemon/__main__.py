"""``python -m edgemon``: the command line."""

from __future__ import annotations

from edgemon.compiler.commands.main import main

main()
