"""Which distributions and conda packages own PIL's files, and whether the owner has its files and its RECORD.

- error: several owners claim the files (pillow-simd, pillow-rs or any other beside pillow). Uninstalling one deletes
  the other's files. Neither `pip list` nor `pip check` nor conda reports that. Or a distribution or conda package has
  lost its files. Or an interrupted installation left files without a distribution.
- warning: the RECORD is missing, so pip and uv refuse to uninstall. Or fastinstall's wheel replaced a conda package
  whose record remains (`--engine pip`).
- hint: the only owner is not called `pillow`, so any package that requires pillow installs stock Pillow again. Or pip
  installed PIL into a conda environment, and conda does not know it. Or a constraint of pip or uv (PIP_CONSTRAINT,
  pip.conf) forbids this version, so the next installation replaces it.

A conda package and the metadata that it contains are one owner.

Why it matters:
`pip install pillow-simd` beside Pillow leaves two owners of the same files. The second has overwritten the files of the
first. `pip uninstall pillow` then deletes PIL. `pip list` still shows pillow-simd, and `pip check` finds nothing wrong.
All of 19 usual commands of pip, uv and poetry installed stock Pillow again (measured 2026-11-21). conda and pip keep
separate records, and each overwrites the other's Pillow. `conda remove` deletes the files in conda's record, even if
another owner has replaced them.

How to fix it:
Have one owner, called `pillow`. `fastinstall setup` builds the SIMD stack under that name, removes the others, and
keeps them for `fastinstall rollback`.
"""

from collections.abc import Iterator

from fastinstall.core.messages import listing as joined
from fastinstall.core.version_numbers import is_version
from fastinstall.doctor import owners
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import offer_repair, offer_setup, show, show_files, show_owner, show_text
from fastinstall.index.upgrades import list_forbidding_dependants
from fastinstall.model.facts import EnvironmentKind
from fastinstall.model.finding import Finding, Remedy

_CORE = "PIL/_imaging[.]"
_Claimants = tuple[owners.Claimant, ...]


def check(context: CheckContext) -> Iterator[Finding]:
    """Check who owns PIL."""
    directory, found = context.facts.stack.directory, owners.list_claimants(context.facts)
    if not found and directory is None:
        yield Finding.skipped(owners.explain_no_stack(context.facts))
        return
    if directory is not None and owners.is_of_the_system(context.facts):
        message = "PIL belongs to the operating system, whose package manager tracks the files"
        yield Finding.ok(message, evidence=(str(directory),), verify=show_files(directory))
        return
    problems = (
        *_report_several(context, found),
        *_report_dangling(context, found),
        *_report_unrecorded(context, found),
        *_report_exposed(context, found),
        *_report_constraints(context),
    )
    yield from problems
    if not problems:
        only = found[0]
        # If a conda package contains the metadata, both its record and the metadata are evidence.
        metadata = (only.owner.distribution.metadata,) if only.owner is not None else ()
        evidence, verify = tuple(dict.fromkeys((only.place, *metadata))), _show_claim(context, only)
        yield Finding.ok(f"PIL belongs to {only.description}", evidence=evidence, verify=verify)


def _report_several(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    if len(found) < 2:  # noqa: PLR2004 (more than one owner is a problem)
        return
    packages, receipt = [claimant for claimant in found if claimant.package is not None], context.own_receipt
    names = " and ".join(claimant.title for claimant in found)
    what = "packages" if packages else "distributions"
    say, remedy = Finding.error, offer_repair(context)
    message = f"{len(found)} {what} claim PIL's files: {names}; uninstalling one breaks the other"
    # If our wheel replaced conda packages, their records remain: that is only a warning.
    wheels = [claimant.place for claimant in found if claimant.owner is not None]
    if receipt is not None and receipt.conda is None and wheels == [receipt.metadata]:
        message = (
            f"the record of {joined(claimant.title for claimant in packages)} is still there, whose place this wheel "
            "took: conda deletes or overwrites the files when it changes that package"
        )
        text = "replace both with one conda package"
        say, remedy = Finding.warning, offer_setup(context, text, "--engine", "auto")
    yield say(
        message,
        evidence=tuple(_describe_claimant(context, claimant) for claimant in found),
        remedy=remedy,
        verify=_show_claims(context, found),
    )


def _report_dangling(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    """Report metadata without files, and files without metadata."""
    dangling = () if owners.is_whole_enough(context.facts.stack) else found
    for claimant in dangling:
        if claimant.owner is not None and claimant.owner.checkout is not None:
            yield Finding.hint(
                f"{claimant.title} is an editable installation of {claimant.owner.checkout}",
                evidence=(claimant.place, "its files are in that directory, not in site-packages"),
                remedy=offer_setup(context, "replace it with the fast build; the directory itself stays"),
                verify=show_owner(context, claimant.name),
            )
            continue
        missing = max(len(side.missing) for side in (claimant.owner, claimant.claim) if side is not None)
        yield Finding.error(
            f"{claimant.title} is listed as installed, but PIL's files are missing",
            evidence=(f"{claimant.place}: {claimant.description}; {missing} files missing",),
            remedy=offer_repair(context),
            verify=_show_claim(context, claimant),
        )
    if not found:
        yield Finding.error(
            "no distribution claims PIL's files, as after an interrupted installation or a manual copy",
            evidence=(str(context.facts.stack.directory),),
            remedy=offer_repair(context),
            verify=show_owner(context),
        )


def _report_unrecorded(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    for claimant in found:
        owner = claimant.owner
        if owner is not None and claimant.package is None and not owner.has_record:
            yield Finding.warning(
                f"{claimant.title} has no RECORD: pip and uv refuse to uninstall it",
                evidence=(owner.distribution.metadata, owners.describe_owner(owner)),
                remedy=offer_repair(context),
                verify=show_files(context.facts.interpreter.site_packages / owner.distribution.metadata),
            )


def _report_exposed(context: CheckContext, found: _Claimants) -> Iterator[Finding]:
    """Report a sole owner that the next installation may replace: it is unknown to conda, or not named pillow.

    fastinstall's own wheel in a conda environment is left to the check `guards`.
    """
    conda, is_conda = context.facts.conda, context.facts.environment.kind is EnvironmentKind.CONDA
    if len(found) != 1:
        return
    only = found[0]
    if only.name != "pillow":
        yield Finding.hint(
            f"PIL belongs to {only.name} only: any package that requires pillow brings back stock Pillow",
            evidence=tuple(one.sentence for one in context.facts.stack.dependants),
            remedy=offer_setup(context, "set it up under the name that dependants require", "--dist-name", "pillow"),
            verify=show_owner(context, only.name),
        )
    elif is_conda and conda and not conda.unreadable and not context.core_is_ours and only.package is None:
        yield Finding.hint(
            f"conda does not know {only.description}: the next conda package that requires pillow installs "
            "another one over it",
            evidence=(only.place, "no record in conda-meta claims PIL's files"),
            remedy=offer_setup(context, "set it up as a conda package"),
            verify=show_owner(context),
        )


def _report_constraints(context: CheckContext) -> Iterator[Finding]:
    """Report the user's constraints for pip or uv that forbid the installed version."""
    stack, interpreter = context.facts.stack, context.facts.interpreter
    constraints = [each for each in stack.dependants if each.constraints is not None]
    if stack.version is None or not is_version(stack.version) or not constraints:
        return
    forbidding = list_forbidding_dependants(stack.version, interpreter, constraints)
    if forbidding:
        yield Finding.hint(
            f"pip or uv would replace Pillow {stack.version}: {joined(each.reason for each in forbidding)}",
            evidence=tuple(each.sentence for each in constraints),
            remedy=Remedy(text="change that constraint, or set up a version that it allows"),
            verify=show_text(*(each.constraints for each in constraints if each.constraints is not None)),
        )


def _describe_claimant(context: CheckContext, claimant: owners.Claimant) -> str:
    """Return evidence on a claimant: name, installation, changed files, and whether the core on disk is its own."""
    told = [claimant.description]
    if claimant.package is not None:
        told[0] += owners.describe_arrival(context.facts, claimant.package.dist)
    if claimant.claim is not None:
        counted = ((len(claimant.claim.altered), "altered"), (len(claimant.claim.missing), "missing"))
        told += [f"{number} of its files {what}" for number, what in counted if number]
    told.append(f"the core on disk is {'its own' if owners.holds_core(claimant, context.facts) else 'not its own'}")
    return f"{claimant.place}: {'; '.join(told)}"


def _show_claim(context: CheckContext, claimant: owners.Claimant) -> str:
    """Return a command that lists a distribution's files or, for a conda package, the record's lines on the core."""
    if claimant.package is None:
        return show_owner(context, claimant.name)
    return show("grep", "-H", _CORE, *owners.list_records(context, claimant.package))


def _show_claims(context: CheckContext, found: _Claimants) -> str:
    """Return a command that shows the line for the core in each RECORD and each conda record."""
    sides = (claimant.owner for claimant in found if claimant.owner is not None)
    named = [owner.distribution.metadata for owner in sides if owner.has_record]
    packages = context.facts.interpreter.site_packages
    kept = owners.list_records(context, *(claimant.package for claimant in found if claimant.package is not None))
    pattern = _CORE if kept else f"^{_CORE}"
    return show("grep", "-H", pattern, *(packages / name / "RECORD" for name in named), *kept)
