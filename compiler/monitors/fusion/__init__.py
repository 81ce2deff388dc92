"""Several signals as one score."""
