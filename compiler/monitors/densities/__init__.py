"""Compact class densities of one layer: what a device stores instead of every fit row.

``docs/monitors.md`` (selfchecker) says what each form is worth.
"""

from edgemon.compiler.monitors.densities.base import ClassDensity
from edgemon.compiler.monitors.densities.gaussian import Gaussian, Precisions
from edgemon.compiler.monitors.densities.marginal import Marginal
from edgemon.compiler.monitors.densities.statistics import LayerStatistics
from edgemon.compiler.monitors.densities.subset import Subset

__all__ = ["ClassDensity", "Gaussian", "LayerStatistics", "Marginal", "Precisions", "Subset"]
