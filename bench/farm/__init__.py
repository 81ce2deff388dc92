"""``edgemon farm``: monitors against faults, over many benchmark sets, by two oracles.

A TOML file names cases as ``compare`` does, and faults (``spec``). Each case makes its benchmark
sets (``sets``), records them once, compiles each monitor and asks the C runtime for its verdicts
(``case``, ``compiled``); ``measures`` and ``system`` say what they are worth, ``ranking`` which
differences are real, ``show`` and ``page`` tell people.
"""
