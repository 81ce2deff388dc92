"""The commands ``sign`` and ``fleet``, for what leaves the workstation and what comes back.

Heavy imports are inside the functions, so that ``edgemon --help`` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgemon.compiler.commands import early
from edgemon.compiler.commands.cli import Json

app = typer.Typer()


@app.command(epilog="edgemon sign BUNDLE --key fleet.pem --new-key")
def sign(
    key: Annotated[
        Path, typer.Option(metavar="PRIVATE.pem", help="The key, Ed25519; keep it off devices.")
    ],
    bundle: Annotated[Path | None, typer.Argument(metavar="BUNDLE")] = None,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Make the key first, and its .pub.pem beside it.")
    ] = False,
    json: Json = False,
) -> None:
    """Sign a bundle, so that `verify --key` and devices can tell whose it is."""
    from edgemon.compiler.commands.signing import sign_bundle
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    terminal.document(sign_bundle(bundle, key, new_key=new_key, terminal=terminal))


@app.command(epilog="edgemon fleet logs/ --bundle BUNDLE --html fleet.html")
def fleet(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOGS...",
            help="Files or folders of reports, as devices send them or as lines of JSON "
            "(docs/fleet.md); - is standard input.",
        ),
    ],
    bundle: Annotated[
        Path | None,
        typer.Option(help="What the devices run; rates are held to its promise."),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="Share of alarms to expect at most, as 0.08.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page to look at.")] = None,
    json: Json = False,
) -> None:
    """Merge the reports of many devices: rates, who is above the promise, who drifts first."""
    from edgemon.compiler.fleet.reading import files

    files(logs)
    if bundle is not None:
        early.require_bundle(bundle)
    from edgemon.compiler.commands import fleet as merging
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    found = merging.merge(logs, bundle, limit, terminal)
    merging.warn(found, terminal)
    merging.show(found, terminal)
    if html is not None:
        merging.write_page(found, html, terminal)
    terminal.document(found)
