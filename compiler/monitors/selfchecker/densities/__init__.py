"""Compact class densities of one layer: what a device stores instead of every fit row.

``docs/monitors.md`` (selfchecker) says what each form is worth.
"""

from edgemon.compiler.monitors.selfchecker.densities.density import ClassDensity
from edgemon.compiler.monitors.selfchecker.densities.gaussian import Gaussian, Precisions
from edgemon.compiler.monitors.selfchecker.densities.marginal import Marginal
from edgemon.compiler.monitors.selfchecker.densities.statistics import LayerStatistics
from edgemon.compiler.monitors.selfchecker.densities.subset import Subset

__all__ = ["ClassDensity", "Gaussian", "LayerStatistics", "Marginal", "Precisions", "Subset"]
