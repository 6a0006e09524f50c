"""Which distributions claim PIL's files; there should be one.

- error: several claim them, and uninstalling one deletes the other's files (neither `pip list` nor `pip check` says
  so); a distribution is left without its files; files are left without a distribution, as an interrupted
  installation leaves them.
- warning: the RECORD is missing, and pip and uv refuse to uninstall.
- hint: the only owner is not called `pillow`, so that any package that requires pillow brings stock Pillow back.

Why it matters:
`pip install pillow-simd` beside a Pillow leaves two owners of the same files. Whichever was installed last has
overwritten the other's; `pip uninstall pillow` then deletes PIL, while `pip list` shows pillow-simd, and `pip check` is
content. Every one of 19 usual commands of pip, uv and poetry brought stock Pillow back (measured 2026-11-21).

How to fix it:
Have one owner, called `pillow`: `fastinstall setup` builds the SIMD stack under that name, takes the others out, and
keeps what it takes out for `fastinstall rollback`.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.model.facts import Owner, Stack
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair, setup
from fastinstall.rules.checks._stack import brought, describe, is_of_the_system, is_whole_enough, why_no_stack
from fastinstall.rules.checks._verify import show_files, show_lines, show_owner
from fastinstall.rules.checks._voice import Voice

NAME = "pillow-owner"
SUMMARY = "Which distributions own PIL's files: two, dangling ones, ones without a RECORD."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge who owns PIL."""
    stack = context.facts.stack
    if not stack.owners and stack.directory is None:
        yield _SAY.skipped(why_no_stack(context.facts))
        return
    if is_of_the_system(context.facts):
        message = "PIL is the operating system's: its package manager keeps account of the files"
        yield _SAY.ok(message, evidence=(str(stack.directory),), verify=show_files(*_directory(stack)))
        return
    states = (_contested, _dangling, _unowned, _unrecorded, _exposed)
    problems = tuple(finding for state in states for finding in state(context))
    yield from problems or (_single(context, stack.owners[0]),)


def _directory(stack: Stack) -> tuple[PurePath, ...]:
    return (stack.directory,) if stack.directory is not None else ()


def _single(context: CheckContext, owner: Owner) -> Finding:
    verify = show_owner(context, owner.distribution.name)
    return _SAY.ok(f"PIL belongs to {describe(owner)}", evidence=(owner.distribution.metadata,), verify=verify)


def _contested(context: CheckContext) -> Iterator[Finding]:
    stack = context.facts.stack
    if len(stack.owners) > 1:
        names = " and ".join(f"{owner.distribution.name} {owner.distribution.version}" for owner in stack.owners)
        yield _SAY.error(
            f"{len(stack.owners)} distributions claim PIL's files: {names}; uninstalling one breaks the other",
            evidence=tuple(_claim(owner, stack) for owner in stack.owners),
            expected="one owner",
            observed=f"{len(stack.owners)} owners",
            remedy=repair(context),
            verify=_show_claims(context),
        )


def _show_claims(context: CheckContext) -> str:
    """The line of each RECORD that lists the core, with its hash."""
    owners = [owner.distribution.metadata for owner in context.facts.stack.owners if owner.has_record]
    packages = context.facts.interpreter.site_packages
    return show_lines("^PIL/_imaging[.]", *(packages / name / "RECORD" for name in owners))


def _claim(owner: Owner, stack: Stack) -> str:
    whose = "the core on disk is its own" if brought(owner, stack.core) else "the core on disk is not its own"
    return f"{owner.distribution.metadata}: {describe(owner)}; {whose}"


def _dangling(context: CheckContext) -> Iterator[Finding]:
    stack = context.facts.stack
    if is_whole_enough(stack):
        return
    for owner in stack.owners:
        yield _SAY.error(
            f"{owner.distribution.name} {owner.distribution.version} is listed as installed, but PIL's files are gone",
            evidence=(f"{owner.distribution.metadata}: {describe(owner)}; {len(owner.missing)} files missing",),
            expected="metadata with files, or neither",
            observed="a dangling dist-info",
            remedy=repair(context),
            verify=show_owner(context, owner.distribution.name),
        )


def _unowned(context: CheckContext) -> Iterator[Finding]:
    if not context.facts.stack.owners:
        yield _SAY.error(
            "no distribution claims PIL's files: an interrupted installation leaves this, or a copy by hand",
            evidence=(str(context.facts.stack.directory),),
            expected="one owner",
            observed="no dist-info",
            remedy=repair(context),
            verify=show_owner(context),
        )


def _unrecorded(context: CheckContext) -> Iterator[Finding]:
    for owner in context.facts.stack.owners:
        if not owner.has_record:
            name = f"{owner.distribution.name} {owner.distribution.version}"
            yield _SAY.warning(
                f"{name} has no RECORD: pip and uv refuse to uninstall it",
                evidence=(owner.distribution.metadata, describe(owner)),
                expected="RECORD",
                observed="missing",
                remedy=repair(context),
                verify=show_files(context.facts.interpreter.site_packages / owner.distribution.metadata),
            )


def _exposed(context: CheckContext) -> Iterator[Finding]:
    names = [owner.distribution.name for owner in context.facts.stack.owners]
    if len(names) == 1 and names[0] != "pillow":
        yield _SAY.hint(
            f"PIL belongs to {names[0]} alone: any package that requires pillow brings stock Pillow back",
            evidence=tuple(f"{one.name} requires {one.requirement}" for one in context.facts.stack.dependants),
            remedy=setup(context, "set it up under the name that dependants ask for", "--dist-name", "pillow"),
            verify=show_owner(context, names[0]),
        )
