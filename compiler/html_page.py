"""Pages of HTML that fetch nothing and run nothing: their templates, and the style of all."""

from __future__ import annotations

from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from edgemon.runtime.untrusted import printable


def templates(package: str) -> Environment:
    """Those in the folder of a package. What they show is escaped, and a name without a value is an
    error. Filters: ``shown`` for text of others, ``plain`` for whole numbers."""
    files = resources.files(package)
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
        loader=FunctionLoader(lambda name: files.joinpath(name).read_text(encoding="utf-8")),
    )  # fmt: skip
    environment.filters |= {
        "shown": lambda text: printable(str(text)), "plain": lambda n: f"{n:,}",
    }  # fmt: skip
    return environment


def style() -> Markup:
    """That of the report."""
    css = resources.files(__package__).joinpath("report", "page.css")
    return Markup(css.read_text(encoding="utf-8"))
