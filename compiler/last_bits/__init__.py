"""Verdicts under errors of the last bits of the taps, and under other kernel sets."""
