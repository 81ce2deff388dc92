"""Pages show text of others: names of files, of classes, of devices."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from edgemon.compiler.html_page import style, templates


def test_a_page_escapes_what_it_shows() -> None:
    page = templates("edgemon.compiler.report").from_string("{{ name }} {{ name | shown }}")
    assert page.render(name="<b>\x1b") == "&lt;b&gt;\x1b &lt;b&gt;\\x1b"


def test_a_page_that_names_what_nobody_gave_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        templates("edgemon.compiler.report").from_string("{{ nothing }}").render()


def test_the_style_of_all_pages_fetches_nothing() -> None:
    assert "body" in style()
    assert [w for w in ("url(", "@import", "http") if w in style()] == []
