"""The checks of doctor: facts in, findings out. One file per check, found by itself.

A module here whose name has no leading underscore is a check (see `Check`); the others are what
the checks share. Nothing here observes, prints or repairs.
"""

from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._registry import (
    Check,
    check_names,
    foreign_checks,
    foreign_verifying_checks,
    load_check,
    needs_runtime,
    verifying_checks,
)
from fastinstall.rules.checks._run import gravest, ignored_findings, report, run_checks

__all__ = [
    "Check",
    "CheckContext",
    "check_names",
    "foreign_checks",
    "foreign_verifying_checks",
    "gravest",
    "ignored_findings",
    "load_check",
    "needs_runtime",
    "report",
    "run_checks",
    "verifying_checks",
]
