"""``edgemon bench --peers``: the same work in edgemon and in its peers, in one run.

``work`` says what is computed, ``contestants`` who computes it, ``native`` builds and counts,
``race`` times; ``forests`` are one kind of work. Single ops have their own: ``ops``,
``op_contestants``, ``op_graphs`` and ``op_race``.
"""
