"""How accurate the model is now: from a monitor's score to the probability of being right."""
