"""What conda's records and history say of a stack that was replaced, for the check of swaps."""

from collections.abc import Iterator

from fastinstall.model.facts import Facts, Owner
from fastinstall.model.receipt import Receipt
from fastinstall.rules.checks._claimants import claimant_of
from fastinstall.rules.checks._conda import bringer, described, remover, told
from fastinstall.rules.checks._conda_guard import is_registered, lacks_guard


def package_differences(facts: Facts, receipt: Receipt) -> Iterator[str]:
    """Say how what conda has installed differs from the package that was set up; nothing where none was."""
    if receipt.conda is None or facts.conda is None:
        return
    ours = receipt.conda.package
    found = facts.conda.named(ours.name)
    if found is None:
        yield f"conda-meta/{ours.record} is gone"
    elif found.dist != ours.dist:
        yield f"conda has {described(found)}, had {ours.dist}"


def replacement(facts: Facts, owner: Owner) -> str:
    """Name the owner that took the stack's place; one of conda's with the command that brought it."""
    claimant = claimant_of(facts, owner)
    since = told(bringer(facts, claimant.package.dist)) if claimant.package is not None else ""
    return f"{claimant.description}{since}"


def other_package(facts: Facts, receipt: Receipt) -> str | None:
    """Name the conda package that replaced ours and left no metadata, or return None."""
    found = facts.conda.named(receipt.conda.package.name) if facts.conda is not None and receipt.conda else None
    if found is None or receipt.conda is None or found.dist == receipt.conda.package.dist:
        return None
    return f"conda's {described(found)}{told(bringer(facts, found.dist))}"


def removed_by(facts: Facts, receipt: Receipt) -> str:
    """Tell of the transaction of conda's that took our package away; empty where none is known."""
    return told(remover(facts, receipt.conda.package.dist)) if receipt.conda is not None else ""


def unguarded(facts: Facts, receipt: Receipt) -> Iterator[str]:
    """Say what was missing of that which keeps conda from replacing the stack."""
    if lacks_guard(facts, receipt):
        yield "the guard package, which keeps conda's solver from that, is not installed"
    if not is_registered(facts, receipt):
        yield "the channel inside the environment, which has our packages, is not registered for it"
