"""How far the answers of a model can be trusted: what its confidence is worth."""
