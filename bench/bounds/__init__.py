"""``edgemon op-bounds``: each op beside the same in plain C and beside reading its bytes once."""
