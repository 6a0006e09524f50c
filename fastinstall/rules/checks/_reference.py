"""The pages of docs/reference on the checks, made from what the checks say of themselves.

A check's docstring is its title, a blank line, what it finds (each status), and two parts behind these lines alone:
"Why it matters:" and "How to fix it:". Nothing is written here; `docs/reference/write_reference.py` does that.
"""

import inspect
import re
from typing import cast

from fastinstall.rules.checks._registry import Check, check_names, load_check

_HEAD = """\
# Checks

What `fastinstall doctor` looks at, in the order of its report. `fastinstall doctor NAME ...` runs some of them,
`fastinstall doctor --list` names them. This page and those of the checks are generated; do not edit them.

A finding has one of these statuses: `ok`, `hint` (nothing is wrong, but there is something to know or to gain),
`warning` (it works, but worse than it should, or it may fail later), `error` (it does not work, or it is not what it
is taken for); beside them `skipped` (there was nothing to judge), `unknown` (it could not be told; weighs as a
warning) and `crashed` (the check itself failed; weighs as an error). Behind `verify:` stands a command that shows what
a verdict rests on, without fastinstall. Other distributions can bring [checks of their own](../how-to/extend.md).
"""
_EXECUTES = "Imports PIL in a subprocess of the target's interpreter; `--quick` leaves that out."
_READS = "Executes nothing of PIL's."
_PARTS = re.compile(r"^(Why it matters|How to fix it):\n", re.MULTILINE)


def render_reference() -> str:
    """Give the text of docs/reference/checks.md, the index."""
    rows = (f"- [{name}](checks/{name}.md): {load_check(name).SUMMARY}" for name in check_names())
    return "\n".join((_HEAD, *rows)) + "\n"


def check_page(name: str, example: str) -> str:
    """Give the text of docs/reference/checks/NAME.md.

    Args:
        name: of the check.
        example: a finding of it, as doctor prints it.
    """
    check = load_check(name)
    found, parts = _parts(check)
    sections = {
        "What it checks": f"{check.SUMMARY}\n{_EXECUTES if check.NEEDS_RUNTIME else _READS}\n\n{found}",
        "Why it matters": parts.get("Why it matters", ""),
        "Example": f"```text\n{example.rstrip()}\n```",
        "How to fix it": parts.get("How to fix it", ""),
    }
    bodies = (f"## {heading}\n\n{body.strip()}\n" for heading, body in sections.items())
    return "\n".join((f"# {name}\n", *bodies, "[All checks](../checks.md)\n"))


def _parts(check: Check) -> tuple[str, dict[str, str]]:
    """What the check finds, and the other parts of its docstring by their headings."""
    _title, _, body = inspect.cleandoc(cast("str", check.__doc__)).partition("\n\n")
    found, *others = _PARTS.split(body)
    return found.strip(), dict(zip(others[::2], others[1::2], strict=True))
