"""Examples on a page: each a picture, what it is, what was answered, and how surely."""

from __future__ import annotations

from typing import Any

from edgemon.compiler.html_page import templates

STYLE = """
.examples { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: 1rem; }
.examples figure { margin: 0; }
.examples img { width: 6rem; height: 6rem; object-fit: contain; image-rendering: pixelated; display: block; background: #808080; }
"""  # noqa: E501
TEMPLATE = """
<div class="examples">
{% for e in examples %}
<figure>
{% if e.image %}
<img src="{{ e.image }}" alt="row {{ e.row }}">
{% endif %}
<figcaption><b>{{ e.class | shown }}</b>, answered <b>{{ e.answered | shown }}</b>
at {{ '%.3f' | format(e.confidence) }}{% if e.property %}, {{ e.property | shown }}
{{ '%g' | format(e.value) }}{% endif %} <small class="muted">(row {{ e.row }})</small></figcaption>
</figure>
{% endfor %}
</div>
"""


def render(examples: list[dict[str, Any]]) -> str:
    """HTML; "" without examples."""
    if not examples:
        return ""
    return templates(__package__).from_string(TEMPLATE).render(examples=examples)
