"""The drift test beside a promise: what it is, how it is chosen, what the manifest says."""
