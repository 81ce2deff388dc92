"""What is promised of verdicts: thresholds on held-out rows, and the drift test beside them."""
