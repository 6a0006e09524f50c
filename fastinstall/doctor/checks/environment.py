"""Which environment this is, what protects it, and whether its Python changed under its packages.

- error: the minor version of Python has changed since the stack was set up.
- warning: VIRTUAL_ENV and CONDA_PREFIX name different environments, so that a bare `pip` may reach either. Or a conda
  environment runs the Python of another one. Or conda changed the Python, and packages of pip are no longer found, PIL
  among them.
- hint: the environment is protected against changes, or not writable. Global interpreters, conda's base and
  fastinstall's own environment are protected. So are environments with a PEP 668 marker or `conda-meta/frozen`. Or
  another environment is active in the shell. Or packages of the previous Python remain.

Why it matters:
A bare `pip` acts on the environment that the shell finds first. After a failed activation that is the global
interpreter. A `pip uninstall pillow` for one environment then breaks another. Compiled packages fit one minor version
of Python only. Once the base interpreter is upgraded, or conda installs another Python, they cannot be imported. conda
replaces its own packages, but not those of pip.

How to fix it:
Name the environment in every command: `PREFIX/bin/python -m pip`, `fastinstall --prefix PREFIX`. If Python changed, set
up the stack again for the present Python. If the environment is protected, make an environment of your own:
`fastinstall setup --new-env ./fast-env`.
"""

from collections.abc import Iterator

from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import find_changed_python
from fastinstall.doctor.remedies import offer_repair, offer_setup, run_python, show, show_files, show_variables
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.finding import Finding, Remedy, Status


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the environment itself, without PIL."""
    problems = (
        *_report_changed_python(context),
        *_report_foreign_interpreter(context),
        *_report_protected(context),
        *_report_activation(context),
    )
    yield from problems or (_report_success(context),)


def _report_success(context: CheckContext) -> Finding:
    conda, python = context.facts.conda, context.facts.environment.python
    managed = (f"{len(conda.packages)} packages of conda's",) if conda is not None else ()
    evidence = (f"interpreter: {python}", *managed)
    return Finding.ok(_describe_environment(context.facts), evidence=evidence, verify=show(python, "--version"))


def _describe_environment(facts: Facts) -> str:
    python = f"{facts.interpreter.implementation} {facts.interpreter.version}"
    return f"{facts.environment.kind} {facts.environment.prefix} with {python}"


def _report_changed_python(context: CheckContext) -> Iterator[Finding]:
    receipt, facts, version = context.receipt, context.facts, context.facts.interpreter.version
    changed = find_changed_python(facts, receipt) if receipt is not None else None
    stale = facts.conda.stale if facts.conda is not None else ()
    if receipt is not None and changed is not None:
        yield Finding.error(
            f"the Python of this environment changed from {changed[0]} to {changed[1]}; its packages did not",
            evidence=(f"interpreter: {facts.environment.python}", f"set up: {receipt.created_at}"),
            expected=changed[0],
            observed=changed[1],
            remedy=offer_repair(context),
            verify=show(facts.environment.python, "--version"),
        )
    elif stale:  # directories with packages that conda did not move to the changed Python
        is_lost = facts.stack.directory is None
        told = f"{' and '.join(stale)} still {'holds' if len(stale) == 1 else 'hold'} packages that this Python does"
        directories = tuple(facts.environment.prefix / name for name in stale)
        yield Finding.of(
            Status.WARNING if is_lost else Status.HINT,
            f"Python changed to {version}: {told} not see{', and PIL is missing' if is_lost else ''}",
            evidence=tuple(map(str, directories)),
            remedy=offer_setup(context, "set up the fast stack for this Python") if is_lost else None,
            verify=show_files(*directories),
        )


def _report_protected(context: CheckContext) -> Iterator[Finding]:
    for message, place in _list_protections(context.facts):
        yield Finding.hint(message, evidence=(place,), remedy=offer_setup(context, "set up the fast stack"))
    facts = context.facts
    if facts.interpreter.externally_managed is not None and facts.environment.kind is EnvironmentKind.CONDA:
        message = "conda manages this Python (PEP 668): only conda packages may be installed here"
        yield Finding.hint(message, evidence=(str(facts.interpreter.externally_managed),))
    if not facts.writable:
        message = "you may not write to the site-packages of this environment"
        packages = facts.interpreter.site_packages
        yield Finding.hint(message, evidence=(str(packages),), verify=f"{show_files(packages)} -d")


def _list_protections(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield each reason why fastinstall does not change this environment, with the file or fact that shows it."""
    leaves, kind = "fastinstall does not change it", facts.environment.kind
    marker = facts.interpreter.externally_managed
    if marker is not None and kind is not EnvironmentKind.CONDA:
        yield f"the operating system manages this Python (PEP 668): {leaves}", str(marker)
    elif kind is EnvironmentKind.SYSTEM:
        where = str(facts.environment.python)
        yield f"this is a global interpreter, not an environment: {leaves}", where
    if facts.frozen is not None:
        yield f"this conda environment is frozen: {leaves}", str(facts.frozen)
    elif facts.conda is not None and facts.conda.is_base:
        what = "this is conda's base environment, in which conda itself is installed"
        yield f"{what}: {leaves}", _describe_environment(facts)
    if facts.environment.prefix == facts.tool_prefix:
        yield "this is fastinstall's own environment: it does not change itself", str(facts.tool_prefix)


def _report_foreign_interpreter(context: CheckContext) -> Iterator[Finding]:
    """Report a conda environment whose `bin/python` belongs to another environment; pip installs packages there."""
    facts = context.facts
    mine, theirs = facts.environment.prefix, facts.interpreter.prefix
    if facts.conda is not None and theirs != mine and theirs.name != mine.name:
        yield Finding.warning(
            f"the Python of this conda environment belongs to {theirs}: pip would install there",
            evidence=(f"interpreter: {facts.environment.python}", f"site-packages: {facts.interpreter.site_packages}"),
            expected=str(mine),
            observed=str(theirs),
            remedy=Remedy(text="install conda's package `python` in this environment again"),
            verify=run_python(context, "import sys; print(sys.prefix)"),
        )


def _report_activation(context: CheckContext) -> Iterator[Finding]:
    facts = context.facts
    named = tuple(f"{variable}={prefix}" for variable, prefix in facts.active.items())
    prefixes, verify = set(facts.active.values()), show_variables("VIRTUAL_ENV", "CONDA_PREFIX")
    if len(prefixes) > 1:
        message = f"{' and '.join(facts.active)} name different environments: a bare `pip` may reach either"
        yield Finding.warning(message, evidence=named, observed=str(facts.environment.prefix), verify=verify)
    elif prefixes and facts.environment.prefix not in prefixes:
        yield Finding.hint("another environment is active in the shell", evidence=named, verify=verify)
