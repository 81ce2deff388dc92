"""The folder that ``compile`` writes: how it appears, what is written in it, and how it is read."""
