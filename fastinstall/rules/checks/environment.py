"""The environment itself: where it is, who manages it, and whether its Python is still the same.

- error: the Python changed its minor version under the packages that were set up for it.
- warning: VIRTUAL_ENV and CONDA_PREFIX name different environments, so that a bare `pip` may reach either.
- hint: protected against changes (PEP 668, a global interpreter, conda, `conda-meta/frozen`, fastinstall's own), not
  writable, or not the environment that is active in the shell.

Why it matters:
A bare `pip` acts on whatever the shell finds first. After a failed activation that is the global interpreter, and a
`pip uninstall pillow` meant for one environment breaks another. Compiled packages fit one minor version of Python
only: when the base interpreter of a virtual environment is upgraded, they are still there and cannot be imported.

How to fix it:
Name the environment in every command: `PREFIX/bin/python -m pip`, `fastinstall --prefix PREFIX`. Where Python changed,
set up the stack again for the Python that is there. Where the environment is protected, make one of your own beside
it: `fastinstall setup --new-env ./fast-env`.
"""

from collections.abc import Iterator

from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair, setup
from fastinstall.rules.checks._stack import minor
from fastinstall.rules.checks._verify import show_files, show_python, show_variables
from fastinstall.rules.checks._voice import Voice

NAME = "environment"
SUMMARY = "Which environment this is, who protects it, and whether its Python changed under its packages."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the environment, PIL aside."""
    problems = (*_changed_python(context), *_protected(context), *_activation(context.facts))
    yield from problems or (_well(context),)


def _well(context: CheckContext) -> Finding:
    evidence = (f"interpreter: {_python(context.facts)}",)
    return _SAY.ok(_portrait(context.facts), evidence=evidence, verify=show_python(context))


def _portrait(facts: Facts) -> str:
    python = f"{facts.interpreter.implementation} {facts.interpreter.version}"
    return f"{facts.environment.kind} {facts.environment.prefix} with {python}"


def _python(facts: Facts) -> str:
    return str(facts.environment.python)


def _changed_python(context: CheckContext) -> Iterator[Finding]:
    receipt, version = context.receipt, context.facts.interpreter.version
    if receipt is not None and minor(receipt.python_version) != minor(version):
        yield _SAY.error(
            f"the Python of this environment changed from {receipt.python_version} to {version} under its packages",
            evidence=(f"interpreter: {_python(context.facts)}", f"set up: {receipt.created_at}"),
            expected=receipt.python_version,
            observed=version,
            remedy=repair(context),
            verify=show_python(context),
        )


def _protected(context: CheckContext) -> Iterator[Finding]:
    facts = context.facts
    elsewhere = setup(context, "set up the fast stack")
    if (marker := facts.interpreter.externally_managed) is not None:
        message = "the operating system manages this Python (PEP 668): fastinstall does not change it"
        yield _SAY.hint(message, evidence=(str(marker),), remedy=elsewhere)
    elif facts.environment.kind is EnvironmentKind.SYSTEM:
        message = "this is a global interpreter, no environment of its own: fastinstall does not change it"
        yield _SAY.hint(message, evidence=(_python(facts),), remedy=elsewhere)
    if facts.frozen is not None:
        message = "this conda environment is frozen: fastinstall does not change it"
        yield _SAY.hint(message, evidence=(str(facts.frozen),), remedy=elsewhere)
    elif facts.environment.kind is EnvironmentKind.CONDA:
        message = "this is a conda environment: fastinstall examines it, and declines to change it"
        yield _SAY.hint(message, evidence=(_portrait(facts),), remedy=elsewhere)
    if facts.environment.prefix == facts.tool_prefix:
        message = "this is fastinstall's own environment: it does not change itself"
        yield _SAY.hint(message, evidence=(str(facts.tool_prefix),), remedy=elsewhere)
    if not facts.writable:
        message = "this user may not write to the site-packages of this environment"
        packages = facts.interpreter.site_packages
        yield _SAY.hint(message, evidence=(str(packages),), verify=f"{show_files(packages)} -d")


def _activation(facts: Facts) -> Iterator[Finding]:
    named = tuple(f"{variable}={prefix}" for variable, prefix in facts.active.items())
    prefixes, verify = set(facts.active.values()), show_variables("VIRTUAL_ENV", "CONDA_PREFIX")
    if len(prefixes) > 1:
        message = f"{' and '.join(facts.active)} name different environments: a bare `pip` may reach either"
        yield _SAY.warning(message, evidence=named, observed=str(facts.environment.prefix), verify=verify)
    elif prefixes and facts.environment.prefix not in prefixes:
        yield _SAY.hint("another environment than this one is active in the shell", evidence=named, verify=verify)
