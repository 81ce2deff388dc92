"""Sweeps: independent steps, done here, by processes, or by the workers of a scheduler.

A step is keyed by the content of what it reads. What came of it is a file of the store under that
key, so that a later sweep resumes from it, and two sweeps share what they have in common.
"""
