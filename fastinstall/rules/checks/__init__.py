"""The checks of doctor: facts in, findings out. One file per check, found by itself.

A module here whose name has no leading underscore is a check (see `Check`); the others are what
the checks share. Nothing here observes, prints or repairs.
"""

from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._registry import ORDER, Check, check_names, load_check, needs_runtime
from fastinstall.rules.checks._run import gravest, report, run_checks

__all__ = [
    "ORDER",
    "Check",
    "CheckContext",
    "check_names",
    "gravest",
    "load_check",
    "needs_runtime",
    "report",
    "run_checks",
]
