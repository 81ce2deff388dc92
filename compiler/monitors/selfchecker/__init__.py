"""SelfChecker: densities of layers vote on the answer."""
