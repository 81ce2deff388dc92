"""Does a monitor keep the contract? For authors, as scikit-learn's ``check_estimator``."""

from edgemon.compiler.checks.check_monitor import ContractError, check_monitor

__all__ = ["ContractError", "check_monitor"]
