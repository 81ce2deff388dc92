"""The documents of a bundle, ``manifest.json`` and ``report.json``, as types: their schema."""
