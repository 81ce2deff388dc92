"""``edgemon compare``: monitors side by side on real models and data, with resplits and intervals.

A TOML file names the cases (``spec``); each model is run once, each monitor fitted once (``case``);
calibration and test rows are drawn many times (``resplits``), and what comes out is averaged
(``averages``).
"""
