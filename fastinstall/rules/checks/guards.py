"""The start-up guard, which tells at the next start of Python that something replaced the stack.

- warning: it is damaged, outdated or not compiled.
- hint: it is not installed.

Skipped where fastinstall has set up nothing, or where the guard was declined (`--no-guard`).

Why it matters:
Any later `pip install` of a package that requires Pillow may put stock Pillow in the place of the stack, silently;
`pip check` has nothing to say about it. The guard says so once, when Python is started next.

How to fix it:
`fastinstall guard install` writes its files again, for the Python and the core that are there. They are plain to read,
and `FASTINSTALL_GUARD=0` switches them off.
"""

from collections.abc import Iterator

from fastinstall.model.facts import GuardState
from fastinstall.model.finding import Finding, Remedy
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import command
from fastinstall.rules.checks._verify import show_files
from fastinstall.rules.checks._voice import Voice

NAME = "guards"
SUMMARY = "Whether the start-up guard is installed, intact, compiled and up to date."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the guard."""
    guard, receipt = context.facts.guard, context.receipt
    if receipt is None:
        yield _SAY.skipped("no receipt: fastinstall has set up nothing here to be guarded")
    elif guard.problems:
        yield _damaged(context, guard)
    elif guard.installed:
        yield _SAY.ok("the start-up guard is installed and intact", observed=guard.version, verify=_show(context))
    elif not receipt.wish.guard:
        yield _SAY.skipped("the guard was declined at the setup")
    else:
        message = "no guard is installed: nothing tells when another installation replaces this stack"
        yield _SAY.hint(message, expected="installed", observed="not installed", remedy=_install(context))


def _damaged(context: CheckContext, guard: GuardState) -> Finding:
    return _SAY.warning(
        f"the start-up guard does not work as it should: {guard.problems[0]}",
        evidence=guard.problems,
        expected="installed, intact, compiled and up to date",
        observed=f"problems: {len(guard.problems)}",
        remedy=_install(context),
        verify=_show(context),
    )


def _show(context: CheckContext) -> str:
    packages = context.facts.interpreter.site_packages
    return show_files(packages / "fastinstall_guard.pth", packages / "_fastinstall_guard")


def _install(context: CheckContext) -> Remedy:
    return Remedy(text="install the guard", command=command(context, "guard install"))
