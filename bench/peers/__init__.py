"""``edgemon bench --peers``: the same work in edgemon and in its peers, in one run.

``work`` says what is computed, ``contestants`` who computes it, ``native`` builds and counts,
``race`` times. Another kind of work is a module beside ``forests``.
"""
