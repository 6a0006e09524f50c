"""How those who claim PIL's files are portrayed, and shown, for the check of its owners."""

from fastinstall.model.facts import Facts
from fastinstall.rules.checks._claimants import Claimant, holds_core
from fastinstall.rules.checks._conda import bringer, records, told
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._verify import show_lines, show_owner

_CORE = "PIL/_imaging[.]"


def portrayed(claimant: Claimant, facts: Facts) -> str:
    """What it is, since when, what it lost, and whether the core is its own."""
    whose = "the core on disk is its own" if holds_core(claimant, facts) else "the core on disk is not its own"
    since = told(bringer(facts, claimant.package.dist)) if claimant.package is not None else ""
    return f"{claimant.place}: {claimant.description}{since}; {_lost(claimant)}{whose}"


def own_metadata(claimant: Claimant) -> tuple[str, ...]:
    """Give the metadata that a package of conda's brings along."""
    both = claimant.package is not None and claimant.owner is not None
    return (claimant.owner.distribution.metadata,) if both and claimant.owner is not None else ()


def missing_files(claimant: Claimant) -> int:
    """Give the number of files that it recorded and that are gone."""
    sides = (claimant.owner, claimant.claim)
    return max(len(side.missing) for side in sides if side is not None)


def show_claim(context: CheckContext, claimant: Claimant) -> str:
    """What it recorded."""
    if claimant.package is None:
        return show_owner(context, claimant.name)
    return show_lines(_CORE, *records(context, claimant.package))


def show_claims(context: CheckContext, found: tuple[Claimant, ...]) -> str:
    """The line of each RECORD that lists the core, with its hash, and of each record of conda's."""
    owners = (claimant.owner for claimant in found if claimant.owner is not None)
    named = [owner.distribution.metadata for owner in owners if owner.has_record]
    packages = context.facts.interpreter.site_packages
    kept = records(context, *(claimant.package for claimant in found if claimant.package is not None))
    pattern = _CORE if kept else f"^{_CORE}"
    return show_lines(pattern, *(packages / name / "RECORD" for name in named), *kept)


def _lost(claimant: Claimant) -> str:
    claim = claimant.claim
    counted = ((len(claim.altered), "altered"), (len(claim.missing), "missing")) if claim is not None else ()
    return "".join(f"{number} of its files {what}; " for number, what in counted if number)
