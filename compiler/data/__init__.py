"""Labelled rows: from files to rows that are fitted, calibrated or judged on."""
