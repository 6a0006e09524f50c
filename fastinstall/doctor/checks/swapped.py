"""The stack in place against the receipt of the setup: whether something replaced it.

- error: it is not what was set up. The message says what replaced it, by which tool and when; or that it was
  uninstalled, altered in place, replaced by half, or that the Python changed under it.

The core is compared by its sha256, its distribution by its metadata directory, the package by `PIL/_version.py`. Where
the core has one copy per CPU level, whose name its file tells, the copies are compared with RECORD. In a conda
environment the installed package is compared too, and conda's history tells the command that replaced it.
Skipped where fastinstall has set up nothing.

Why it matters:
A swap is silent: the import works, the version may be the same, and only the speed is gone, or with another version
the features. It happens by commands that have nothing to do with images, such as the upgrade of a package that
requires Pillow, or any transaction of conda's that touches Pillow.

How to fix it:
`fastinstall doctor --fix` puts back what was set up, out of the cache, in seconds. Where a later Pillow was asked for
by its name, or another package requires it, it builds that version with the kernels instead. To have the other Pillow
stay as it is: `fastinstall guard accept`. `fastinstall guard install` brings the guard, which tells of the next swap at
the next start of Python. In a conda environment the guard package keeps conda's solver from the next one.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.owners import (
    claimant_of,
    claimants,
    describe_conda_package,
    describe_revision,
    find_bringing_revision,
    find_removing_revision,
    holds_core,
    is_registered,
    lacks_guard,
    minor,
)
from fastinstall.doctor.remedies import repair, show_digests, show_files
from fastinstall.model.facts import Facts, InstalledStack, Owner
from fastinstall.model.finding import Finding
from fastinstall.model.receipt import Receipt

NAME = "swapped"
SUMMARY = "Whether something replaced the stack that was set up: what, by which tool, and when."
ORDER = 160
VERIFIES_SETUP = True
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the stack against its receipt."""
    receipt = context.receipt
    if receipt is None:
        yield _SAY.skipped("no receipt: fastinstall has set up nothing here")
        return
    differences = (*_describe_differences(context.facts, receipt), *package_differences(context.facts, receipt))
    if not differences:
        message = f"{_name_own_stack(receipt)} is in place as it was set up"
        yield _SAY.ok(message, evidence=(f"set up: {receipt.created_at}",), verify=_show(context.facts))
        return
    owners = tuple(f"{claimant.place}: {claimant.description}" for claimant in claimants(context.facts))
    yield _SAY.error(
        _describe_cause(context.facts, receipt),
        evidence=(
            *differences,
            *owners,
            *_describe_intent(context.facts, receipt),
            *describe_missing_guards(context.facts, receipt),
            f"set up: {receipt.created_at}",
        ),
        expected=f"{_name_own_stack(receipt)}, core sha256 {receipt.core.sha256[:16]}",
        observed=_describe_stack(context.facts.stack, receipt),
        remedy=repair(context),
        verify=_show(context.facts),
    )


def _describe_intent(facts: Facts, receipt: Receipt) -> Iterator[str]:
    from fastinstall.doctor.intent import intent_of  # noqa: PLC0415 (only where something was replaced)

    intent = intent_of(facts, receipt)
    if intent is not None:
        yield intent.story


def _show(facts: Facts) -> str:
    core = facts.stack.core
    if core is None:
        return show_files(facts.interpreter.site_packages)
    return show_digests(core.path, *(copy.path for copy in core.levels))


def _describe_differences(facts: Facts, receipt: Receipt) -> Iterator[str]:
    stack = facts.stack
    if _has_python_changed(facts, receipt):
        yield f"Python was {receipt.python_version}, is {facts.interpreter.version}"
    if stack.core is None:
        yield f"{receipt.core.path} is gone"
    elif stack.core.sha256 != receipt.core.sha256:
        yield f"{stack.core.path} has sha256 {stack.core.sha256[:16]}, was {receipt.core.sha256[:16]}"
    for path in _list_changed_copies(stack, receipt):
        yield f"{path} is not what {receipt.metadata} records"
    if receipt.metadata not in _list_metadata(stack):
        yield f"{receipt.metadata} is gone"
    if stack.directory is not None and stack.version != receipt.stack_version:
        yield f"PIL/_version.py says {stack.version or 'nothing'}, said {receipt.stack_version}"


def _describe_cause(facts: Facts, receipt: Receipt) -> str:
    """The one cause that explains the differences best."""
    stack, ours = facts.stack, _name_own_stack(receipt)
    if _has_python_changed(facts, receipt):
        return f"Python changed from {receipt.python_version} to {facts.interpreter.version} under {ours}"
    if stack.directory is None:
        return f"{ours} was uninstalled{describe_removal(facts, receipt)}, and PIL is gone"
    if (owner := _find_replacing_owner(facts, receipt)) is not None:
        return f"{ours} was replaced by {replacement(facts, owner)}"
    if (package := other_package(facts, receipt)) is not None:
        return f"{ours} was replaced by {package}"
    return _describe_unattributed_change(stack, receipt)


def _describe_unattributed_change(stack: InstalledStack, receipt: Receipt) -> str:
    ours = _name_own_stack(receipt)
    if stack.core is None:
        return f"the imaging core of {ours} was removed"
    if stack.core.sha256 != receipt.core.sha256:
        return f"the imaging core of {ours} was altered by something that left no trace in the metadata"
    if receipt.metadata not in _list_metadata(stack):
        return f"the metadata of {ours} is gone, its files are still there"
    if copies := _list_changed_copies(stack, receipt):
        return f"the code of {ours} was replaced behind its core, in {len(copies)} of its copies"
    if stack.version == receipt.stack_version:
        return f"conda's record of {ours} is gone, its files are still there"
    return f"half of {ours} was replaced: its core is there, PIL/_version.py says {stack.version or 'nothing'}"


def _list_changed_copies(stack: InstalledStack, receipt: Receipt) -> tuple[str, ...]:
    """Copies of the core that are missing or altered, by our RECORD."""
    names = {copy.path.name for copy in stack.core.levels} if stack.core is not None else set()
    ours = (owner for owner in stack.owners if owner.distribution.metadata == receipt.metadata)
    wrong = (path for owner in ours for path in (*owner.mismatched, *owner.missing))
    return tuple(path for path in wrong if PurePath(path).name in names)


def _find_replacing_owner(facts: Facts, receipt: Receipt) -> Owner | None:
    """Who brought what is there: the one whose record lists this core, else the latest that is not ours."""
    stack = facts.stack
    if stack.core is not None and stack.core.sha256 != receipt.core.sha256:
        bringers = [owner for owner in stack.owners if holds_core(claimant_of(facts, owner), facts)]
        if bringers:
            return bringers[0]
    others = [owner for owner in stack.owners if owner.distribution.metadata != receipt.metadata]
    return max(others, key=lambda owner: owner.installed_at, default=None)


def _describe_stack(stack: InstalledStack, receipt: Receipt) -> str:
    if stack.directory is None:
        return "no PIL"
    core = f"core sha256 {stack.core.sha256[:16]}" if stack.core is not None else "no core"
    altered = ", altered behind it" if _list_changed_copies(stack, receipt) else ""
    return f"PIL {stack.version or 'of unknown version'}, {core}{altered}"


def _has_python_changed(facts: Facts, receipt: Receipt) -> bool:
    return minor(facts.interpreter.version) != minor(receipt.python_version)


def _list_metadata(stack: InstalledStack) -> tuple[str, ...]:
    return tuple(owner.distribution.metadata for owner in stack.owners)


def _name_own_stack(receipt: Receipt) -> str:
    return f"{receipt.distribution} {receipt.version}"


def package_differences(facts: Facts, receipt: Receipt) -> Iterator[str]:
    """Say how what conda has installed differs from the package that was set up; nothing where none was."""
    if receipt.conda is None or facts.conda is None:
        return
    ours = receipt.conda.package
    found = facts.conda.named(ours.name)
    if found is None:
        yield f"conda-meta/{ours.record} is gone"
    elif found.dist != ours.dist:
        yield f"conda has {describe_conda_package(found)}, had {ours.dist}"


def replacement(facts: Facts, owner: Owner) -> str:
    """Name the owner that took the stack's place; one of conda's with the command that brought it."""
    claimant = claimant_of(facts, owner)
    if claimant.package is None:
        return claimant.description
    return f"{claimant.description}{describe_revision(find_bringing_revision(facts, claimant.package.dist))}"


def other_package(facts: Facts, receipt: Receipt) -> str | None:
    """Name the conda package that replaced ours and left no metadata, or return None."""
    found = facts.conda.named(receipt.conda.package.name) if facts.conda is not None and receipt.conda else None
    if found is None or receipt.conda is None or found.dist == receipt.conda.package.dist:
        return None
    return f"conda's {describe_conda_package(found)}{describe_revision(find_bringing_revision(facts, found.dist))}"


def describe_removal(facts: Facts, receipt: Receipt) -> str:
    """Tell of the transaction of conda's that took our package away; empty if none is known."""
    if receipt.conda is None:
        return ""
    return describe_revision(find_removing_revision(facts, receipt.conda.package.dist))


def describe_missing_guards(facts: Facts, receipt: Receipt) -> Iterator[str]:
    """Say what was missing of that which keeps conda from replacing the stack."""
    if lacks_guard(facts, receipt):
        yield "the guard package, which keeps conda's solver from that, is not installed"
    if not is_registered(facts, receipt):
        yield "the channel inside the environment, which has our packages, is not registered for it"
