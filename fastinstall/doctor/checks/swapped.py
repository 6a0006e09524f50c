"""Whether the stack that was set up was replaced: by which Pillow, by which tool, and when.

- error: the stack is not the one that was set up. The message names the Pillow that replaced it, the tool and the time.
  Or the stack was uninstalled, altered in place or half replaced, or the environment's Python changed.
- hint: conda removed other packages together with the stack; `--fix` does not restore these packages.

The core is compared by its SHA-256, the distribution by its metadata directory, and the version by `PIL/_version.py`.
If the core has one copy per CPU level, the copies are compared with RECORD. In a conda environment the installed
package is compared too, and conda's history shows the command that replaced it. The check is skipped if fastinstall has
set up nothing.

Why it matters:
A replacement is silent. The import works, and the version may be the same. Only the speed is lost, or features if the
version differs. Commands that have nothing to do with images can replace the stack. Examples are the upgrade of a
package that requires Pillow, or any conda transaction that changes Pillow.

How to fix it:
`fastinstall doctor --fix` restores the stack from the cache in seconds. If a later Pillow was requested by name, or
another package requires it, `--fix` builds that version with the kernels. To keep the other Pillow as it is, run
`fastinstall guard accept`. `fastinstall guard install` installs the guard, which reports the next swap when Python
starts. In a conda environment the guard package keeps conda's solver from replacing the stack.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from fastinstall.core.messages import listing
from fastinstall.doctor import owners
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import offer_repair, show, show_files
from fastinstall.model.conda_packages import conda_command
from fastinstall.model.facts import Facts, InstalledStack
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.receipt import Receipt


def check(context: CheckContext) -> Iterator[Finding]:
    """Compare the stack with its receipt."""
    receipt, facts, core = context.receipt, context.facts, context.facts.stack.core
    if context.is_built_elsewhere:
        yield Finding.skipped("fastinstall built this stack, and another tool installed it: `pillow-files` compares it")
        return
    if receipt is None:
        yield Finding.skipped("no receipt: fastinstall has set up nothing here")
        return
    ours, set_up = f"{receipt.distribution} {receipt.version}", f"set up: {receipt.created_at}"
    verify = show_files(facts.interpreter.site_packages)
    if core is not None:
        verify = show("sha256sum", core.path, *(copy.path for copy in core.levels))
    differences = dict(_list_differences(facts, receipt, ours))
    if not differences:
        yield Finding.ok(f"{ours} is installed as it was set up", evidence=(set_up,), verify=verify)
        return
    claims = (f"{claimant.place}: {claimant.description}" for claimant in owners.list_claimants(facts))
    yield Finding.error(
        _describe_cause(facts, receipt, ours, differences.values()),
        evidence=(*differences, *claims, *_describe_circumstances(facts, receipt), set_up),
        expected=f"{ours}, core sha256 {receipt.core.sha256[:16]}",
        observed=_describe_stack(facts.stack, receipt),
        remedy=offer_repair(context),
        verify=verify,
    )
    yield from _report_removed_with_it(context, receipt)


def _report_removed_with_it(context: CheckContext, receipt: Receipt) -> Iterator[Finding]:
    """Report other packages that conda removed together with the stack, because a repair restores only the stack."""
    dropped = owners.list_removed_with(context.facts, receipt.conda.package.dist) if receipt.conda is not None else ()
    if dropped:
        specs = ("=".join(dist.rsplit("-", 2)[:2]) for dist in dropped)
        command = conda_command(context.facts, "install", *specs)
        yield Finding.hint(
            f"conda removed {listing(dropped)} together with it, and a repair does not bring that back",
            remedy=Remedy(text="after the repair, install it again", command=command),
        )


def _describe_circumstances(facts: Facts, receipt: Receipt) -> Iterator[str]:
    """Yield why the replacement was installed, and which protections against it are missing."""
    from fastinstall.doctor.intent import intent_of  # needed only if the stack was replaced

    intent = intent_of(facts, receipt)
    if intent is not None:
        yield intent.story
    guard = receipt.conda.guard if receipt.conda is not None else None
    if guard is not None and facts.conda is not None and facts.conda.named(guard.name) is None:
        yield "the guard package, which prevents that, is not installed"
    if not owners.is_registered(facts, receipt):
        yield "the environment's own channel, which has our packages, is not registered"


def _list_differences(facts: Facts, receipt: Receipt, ours: str) -> Iterator[tuple[str, str]]:
    """Yield each difference from the setup, and the message to show if no replacement is found.

    The message is empty for differences whose cause `_describe_cause` finds itself.
    """
    stack, core, changed = facts.stack, facts.stack.core, owners.find_changed_python(facts, receipt)
    if changed is not None:
        yield f"Python was {changed[0]}, is {changed[1]}", ""
    if core is None:
        yield f"{receipt.core.path} is gone", f"the imaging core of {ours} was removed"
    elif core.sha256 != receipt.core.sha256:
        digests = f"sha256 {core.sha256[:16]}, was {receipt.core.sha256[:16]}"
        yield f"{core.path} has {digests}", f"the imaging core of {ours} was altered by an unknown tool"
    if receipt.metadata not in {owner.distribution.metadata for owner in stack.owners}:
        yield f"{receipt.metadata} is gone", f"the metadata of {ours} is missing, its files are present"
    copies = _list_changed_copies(stack, receipt)
    replaced = f"the code of {ours} was replaced, but not its core, in {len(copies)} of its copies"
    yield from ((f"{path} is not what {receipt.metadata} records", replaced) for path in copies)
    if stack.directory is not None and stack.version != receipt.stack_version:
        says = f"PIL/_version.py says {stack.version or 'nothing'}"
        yield f"{says}, said {receipt.stack_version}", f"half of {ours} was replaced: its core is present, {says}"
    if receipt.conda is not None and facts.conda is not None:
        package = receipt.conda.package
        if facts.conda.named(package.name) is None:
            yield f"conda-meta/{package.record} is gone", f"conda's record of {ours} is missing, its files are present"
        elif found := owners.find_foreign_package(facts, receipt):
            yield f"conda has {owners.describe_conda_package(found)}, had {package.dist}", ""


def _describe_cause(facts: Facts, receipt: Receipt, ours: str, meanings: Iterable[str]) -> str:
    """Return the message that explains the differences best; `meanings` are the messages of `_list_differences`."""
    changed = owners.find_changed_python(facts, receipt)
    if changed is not None:
        return f"Python changed from {changed[0]} to {changed[1]} under {ours}"
    if facts.stack.directory is None:
        removal = owners.describe_removal(facts, receipt.conda.package.dist) if receipt.conda is not None else ""
        return f"{ours} was uninstalled{removal}, and PIL is missing"
    other = _name_replacement(facts, receipt)
    return f"{ours} was replaced by {other}" if other else next(filter(None, meanings))


def _name_replacement(facts: Facts, receipt: Receipt) -> str:
    """Return a description of the distribution or conda package that replaced our build; empty if unknown.

    The first of these that exists counts: 1. the owner whose record lists the core on disk; 2. the owner that was
    installed last; 3. the conda package with our package's name. For a conda package, the description includes the
    command that installed it.
    """
    core, owner = facts.stack.core, owners.find_foreign_owner(facts, receipt)
    claimants = [each for each in owners.list_claimants(facts) if each.owner is not None]
    claimant = next((each for each in claimants if each.owner == owner), None)
    if core is not None and core.sha256 != receipt.core.sha256:
        claimant = next((each for each in claimants if owners.holds_core(each, facts)), claimant)
    if claimant is not None:
        arrival = owners.describe_arrival(facts, claimant.package.dist) if claimant.package is not None else ""
        return f"{claimant.description}{arrival}"
    package = owners.find_foreign_package(facts, receipt)
    if package is None:
        return ""
    return f"conda's {owners.describe_conda_package(package)}{owners.describe_arrival(facts, package.dist)}"


def _list_changed_copies(stack: InstalledStack, receipt: Receipt) -> tuple[str, ...]:
    """Return the copies of the core that are missing from disk, or that differ from our RECORD."""
    names = {copy.path.name for copy in stack.core.levels} if stack.core is not None else set()
    ours = (owner for owner in stack.owners if owner.distribution.metadata == receipt.metadata)
    wrong = (path for owner in ours for path in (*owner.mismatched, *owner.missing))
    return tuple(path for path in wrong if PurePath(path).name in names)


def _describe_stack(stack: InstalledStack, receipt: Receipt) -> str:
    if stack.directory is None:
        return "no PIL"
    core = f"core sha256 {stack.core.sha256[:16]}" if stack.core is not None else "no core"
    altered = ", with altered code" if _list_changed_copies(stack, receipt) else ""
    return f"PIL {stack.version or 'of unknown version'}, {core}{altered}"
