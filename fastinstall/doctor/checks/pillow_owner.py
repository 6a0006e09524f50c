"""Which distributions and packages of conda's claim PIL's files; there should be one.

- error: several claim them, and uninstalling one deletes the other's files (neither `pip list` nor `pip check` says
  so, nor does conda); a distribution, or a package of conda's, is left without its files; files are left without a
  distribution, as an interrupted installation leaves them.
- warning: the RECORD is missing, and pip and uv refuse to uninstall; a wheel of ours took the place of a package whose
  record conda keeps (`--engine pip`).
- hint: the only owner is not called `pillow`, so that any package that requires pillow brings stock Pillow back; or
  pip put it into a conda environment, and conda does not know it.

A package of conda's and the metadata that it brings along are one owner.

Why it matters:
`pip install pillow-simd` beside a Pillow leaves two owners of the same files. Whichever was installed last has
overwritten the other's; `pip uninstall pillow` then deletes PIL, while `pip list` shows pillow-simd, and `pip check` is
content. Every one of 19 usual commands of pip, uv and poetry brought stock Pillow back (measured 2026-11-21). conda and
pip keep books of their own: conda writes its Pillow over pip's, pip over conda's, and `conda remove` deletes by its
book, whoever's files those are by now.

How to fix it:
Have one owner, called `pillow`: `fastinstall setup` builds the SIMD stack under that name, takes the others out, and
keeps what it takes out for `fastinstall rollback`.
"""

from collections.abc import Iterator

from fastinstall.core.messages import listing as joined
from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.owners import (
    Claimant,
    claimants,
    describe,
    describe_revision,
    find_bringing_revision,
    holds_core,
    is_of_the_system,
    is_whole_enough,
    records,
    why_no_stack,
)
from fastinstall.doctor.remedies import repair, setup, show_files, show_lines, show_owner
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding
from fastinstall.model.request import EnvironmentKind

NAME = "pillow-owner"
SUMMARY = "Which distributions and conda packages own PIL's files: two, dangling ones, ones without a RECORD."
ORDER = 50
VERIFIES_SETUP = True
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)
_Claimants = tuple[Claimant, ...]


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge who owns PIL."""
    stack, found = context.facts.stack, claimants(context.facts)
    if not found and stack.directory is None:
        yield _SAY.skipped(why_no_stack(context.facts))
        return
    if is_of_the_system(context.facts):
        message = "PIL is the operating system's: its package manager keeps account of the files"
        directories = () if stack.directory is None else (stack.directory,)
        yield _SAY.ok(message, evidence=(str(stack.directory),), verify=show_files(*directories))
        return
    states = (
        _report_contested,
        _report_outlived,
        _report_dangling,
        _report_unowned,
        _report_unrecorded,
        _report_exposed,
        _report_unknown_to_conda,
    )
    problems = tuple(finding for state in states for finding in state(context, found))
    yield from problems or (_report_single_owner(context, found[0]),)


def _report_single_owner(context: CheckContext, claimant: Claimant) -> Finding:
    message = f"PIL belongs to {claimant.description}"
    evidence: tuple[str, ...] = (claimant.place,)
    if claimant.package is not None and claimant.owner is not None:  # the metadata that the package brings along
        evidence += (claimant.owner.distribution.metadata,)
    return _SAY.ok(message, evidence=evidence, verify=show_claim(context, claimant))


def _report_contested(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    if len(found) > 1 and not _is_outlived(context, found):
        what = "packages" if any(claimant.package for claimant in found) else "distributions"
        names = " and ".join(claimant.title for claimant in found)
        yield _SAY.error(
            f"{len(found)} {what} claim PIL's files: {names}; uninstalling one breaks the other",
            evidence=tuple(describe_claimant(claimant, context.facts) for claimant in found),
            expected="one owner",
            observed=f"{len(found)} owners",
            remedy=repair(context),
            verify=show_claims(context, found),
        )


def _report_outlived(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    """A wheel of ours that took the place of a package of conda's, whose record stays."""
    if _is_outlived(context, found):
        packages = tuple(claimant for claimant in found if claimant.package is not None)
        titles = joined(claimant.title for claimant in packages)
        yield _SAY.warning(
            f"the record of {titles} is still there, whose place this wheel took: conda deletes or overwrites "
            "the files when it changes that package",
            evidence=tuple(describe_claimant(claimant, context.facts) for claimant in found),
            expected="one owner",
            observed=f"{len(found)} owners",
            remedy=setup(context, "have one conda package in the place of both", "--engine", "auto"),
            verify=show_claims(context, found),
        )


def _is_outlived(context: CheckContext, found: _Claimants) -> bool:
    """Whether all but our own distribution, in place as a wheel, are records of conda's that lost their files."""
    receipt = context.receipt
    if receipt is None or receipt.conda is not None or not context.core_is_ours:
        return False
    owners = [claimant.place for claimant in found if claimant.owner is not None]
    return owners == [receipt.metadata] and len(found) > 1


def _report_dangling(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    if is_whole_enough(context.facts.stack):
        return
    for claimant in found:
        missing = max(len(side.missing) for side in (claimant.owner, claimant.claim) if side is not None)
        yield _SAY.error(
            f"{claimant.title} is listed as installed, but PIL's files are gone",
            evidence=(f"{claimant.place}: {claimant.description}; {missing} files missing",),
            expected="metadata with files, or neither",
            observed="a dangling dist-info" if claimant.package is None else "a record of conda's without its files",
            remedy=repair(context),
            verify=show_claim(context, claimant),
        )


def _report_unowned(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    if not found:
        yield _SAY.error(
            "no distribution claims PIL's files: an interrupted installation leaves this, or a copy by hand",
            evidence=(str(context.facts.stack.directory),),
            expected="one owner",
            observed="no dist-info",
            remedy=repair(context),
            verify=show_owner(context),
        )


def _report_unrecorded(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    for claimant in found:
        owner = claimant.owner
        if owner is not None and claimant.package is None and not owner.has_record:
            yield _SAY.warning(
                f"{claimant.title} has no RECORD: pip and uv refuse to uninstall it",
                evidence=(owner.distribution.metadata, describe(owner)),
                expected="RECORD",
                observed="missing",
                remedy=repair(context),
                verify=show_files(context.facts.interpreter.site_packages / owner.distribution.metadata),
            )


def _report_exposed(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    names = [claimant.name for claimant in found]
    if len(names) == 1 and names[0] != "pillow":
        yield _SAY.hint(
            f"PIL belongs to {names[0]} alone: any package that requires pillow brings stock Pillow back",
            evidence=tuple(one.sentence for one in context.facts.stack.dependants),
            remedy=setup(context, "set it up under the name that dependants ask for", "--dist-name", "pillow"),
            verify=show_owner(context, names[0]),
        )


def _report_unknown_to_conda(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    """A wheel in a conda environment that is not ours; ours is told of by the check of the guards."""
    conda, is_conda = context.facts.conda, context.facts.environment.kind is EnvironmentKind.CONDA
    if not is_conda or conda is None or conda.unreadable or context.core_is_ours:
        return
    if len(found) == 1 and found[0].package is None and found[0].name == "pillow":
        yield _SAY.hint(
            f"conda does not know {found[0].description}: the next package of conda's that requires pillow brings "
            "another one, and writes it over this",
            evidence=(found[0].place, "no record in conda-meta claims PIL's files"),
            remedy=setup(context, "set it up as a conda package"),
            verify=show_owner(context),
        )


_CORE = "PIL/_imaging[.]"


def describe_claimant(claimant: Claimant, facts: Facts) -> str:
    """What it is, since when, what it lost, and whether the core is its own."""
    told = [claimant.description]
    if claimant.package is not None:
        told[0] += describe_revision(find_bringing_revision(facts, claimant.package.dist))
    if claimant.claim is not None:
        counted = ((len(claimant.claim.altered), "altered"), (len(claimant.claim.missing), "missing"))
        told += [f"{number} of its files {what}" for number, what in counted if number]
    told.append(f"the core on disk is {'its own' if holds_core(claimant, facts) else 'not its own'}")
    return f"{claimant.place}: {'; '.join(told)}"


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
