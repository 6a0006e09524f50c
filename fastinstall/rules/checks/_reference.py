"""Renders the reference page of the checks from the checks themselves."""

import inspect
from typing import cast

from fastinstall.rules.checks._registry import Check, check_names, load_check

_HEAD = """\
# Checks

What `fastinstall doctor` looks at, in the order of its report. `fastinstall doctor NAME ...` runs some of them,
`fastinstall doctor --list` names them. This page is generated from the checks; do not edit it.

A finding has one of these statuses: `ok`, `hint` (nothing is wrong, but there is something to know or to gain),
`warning` (it works, but worse than it should, or it may fail later), `error` (it does not work, or it is not what it
is taken for); beside them `skipped` (there was nothing to judge), `unknown` (it could not be told; weighs as a
warning) and `crashed` (the check itself failed; weighs as an error).
"""


_EXECUTES = "Imports PIL in a subprocess of the target's interpreter; `--quick` leaves that out."
_READS = "Executes nothing of PIL's."


def render_reference() -> str:
    """Give the text of docs/reference/checks.md."""
    return "\n".join((_HEAD, *(_section(load_check(name)) for name in check_names())))


def _section(check: Check) -> str:
    _title, _, body = inspect.cleandoc(cast("str", check.__doc__)).partition("\n\n")
    executed = _EXECUTES if check.NEEDS_RUNTIME else _READS
    return f"## {check.NAME}\n\n{check.SUMMARY}\n{executed}\n\n{body.strip()}\n"
