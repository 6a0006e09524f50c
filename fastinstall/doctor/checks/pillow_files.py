"""PIL's files on disk against what its distribution, or its package of conda's, recorded.

- error: the core is missing, damaged, for another Python, or of another version than `PIL/_version.py`; an extension
  module (`_webp`, `_imagingft`, ...) or a bundled library is altered, or a stray module lies there (PIL imports fine
  with all of that); recorded files are missing.
- warning: other files altered, or claimed by nobody; modules of another Python beside the right ones.

With several owners, the files are held against the one that they fit best; a package of conda's is held against
conda's record.

Why it matters:
PIL imports with files of two versions mixed, as long as the core and `_version.py` agree: a `_webp` of another build is
loaded when the first WebP image is opened, against a library that is laid out otherwise. A module that no distribution
claims survives every uninstallation, and is loaded by the next Pillow. A module that carries the tag of another Python
is never loaded.

How to fix it:
Put the stack back that was set up, `fastinstall doctor --fix`; elsewhere install Pillow again, forced. Files that
nobody claims stay then: remove them by hand, or make a new environment.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext, Details, FindingFactory, listing
from fastinstall.doctor.owners import (
    Claimant,
    claimants,
    loaded_file,
    names_of_other_libc,
    other_libc,
    records,
    relative_to_prefix,
    version_conflict,
    why_no_stack,
)
from fastinstall.doctor.remedies import compare_with_conda, compare_with_record, repair, show_files, show_strings
from fastinstall.model.finding import Finding, Status

NAME = "pillow-files"
SUMMARY = "PIL's files against RECORD: altered, missing, mixed or stray ones, and the core's ABI."
ORDER = 60
VERIFIES_SETUP = True
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)
_TAGGED = re.compile(r"\.(cpython-|cp|pypy)\w*[^/]*\.so$")
_LIBRARY = re.compile(r"\.so(\.\d+)*$")
_LISTED = 3


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge PIL's files."""
    stack = context.facts.stack
    if stack.directory is None:
        yield _SAY.skipped(why_no_stack(context.facts))
        return
    judges = (_report_core, _report_versions, _report_recorded, _report_stray, _report_foreign_modules)
    problems = tuple(finding for judge in judges for finding in judge(context))
    yield from problems or (_report_intact(context),)


def _report_intact(context: CheckContext) -> Finding:
    record = find_fitting_record(context)
    if record is None:
        return _SAY.skipped("there is no RECORD to compare PIL's files with")
    message = f"all {record.files} files are as {record.title} recorded them"
    return _SAY.ok(message, evidence=(record.place,), verify=record.verify)


def _report_core(context: CheckContext) -> Iterator[Finding]:
    stack, verify = context.facts.stack, show_files(_locate_package(context))
    expected = f"PIL/_imaging{context.facts.interpreter.extension_suffix}"
    if stack.core is None and stack.foreign_cores:
        wrong = f"the imaging core has the wrong ABI tag: this Python is {context.facts.interpreter.abi}"
        message = other_libc(context.facts) or wrong
        told = Details(evidence=stack.foreign_cores, expected=expected, verify=verify)
        yield _report_problem(context, Status.ERROR, message, told)
    elif stack.core is None:
        message = "the imaging core is missing"
        yield _report_problem(context, Status.ERROR, message, Details(expected=expected, verify=verify))
    elif not stack.core.readable:
        message = f"the imaging core is damaged: {stack.core.problem}"
        evidence, verify = (f"{stack.core.path}, {stack.core.size} bytes",), show_files(stack.core.path)
        yield _report_problem(context, Status.ERROR, message, Details(evidence=evidence, verify=verify))


def _report_versions(context: CheckContext) -> Iterator[Finding]:
    stack = context.facts.stack
    if stack.core is not None and (conflict := version_conflict(stack)):
        message, path = f"PIL is mixed from two versions: {conflict}", loaded_file(stack.core)
        verify = show_strings(path, f"^{stack.core.version}$")
        told = Details(evidence=(str(path),), expected=str(stack.version), verify=verify)
        yield _report_problem(context, Status.ERROR, message, told)


def _report_recorded(context: CheckContext) -> Iterator[Finding]:
    record = find_fitting_record(context)
    if record is None:
        return
    whose, verify = record.title, record.verify
    modules, libraries, other = _divide(record.altered)
    stated = (
        (modules, Status.ERROR, f"extension modules are not those of {whose}: {_join_names(modules)}"),
        (libraries, Status.ERROR, f"bundled libraries are not those of {whose}: {_join_names(libraries)}"),
        (other, Status.WARNING, f"{len(other)} files differ from those of {whose}"),
        (record.missing, Status.ERROR, f"{len(record.missing)} files of {whose} are missing"),
    )
    for files, status, message in stated:
        if files:
            yield _report_problem(context, status, message, Details(evidence=files, verify=verify))


def _report_stray(context: CheckContext) -> Iterator[Finding]:
    if find_fitting_record(context) is None:
        return
    foreign = (*_list_files_of_another_python(context), *context.facts.stack.foreign_cores)
    modules, libraries, files = _divide(tuple(name for name in find_unclaimed_files(context) if name not in foreign))
    others = (*libraries, *files)
    if modules:
        message = f"stray extension modules that no distribution claims: {_join_names(modules)}"
        yield _report_strays(context, Status.ERROR, message, modules)
    if others:
        message = f"{len(others)} files below PIL/ that no distribution claims"
        yield _report_strays(context, Status.WARNING, message, others)


def _report_strays(context: CheckContext, status: Status, message: str, files: tuple[str, ...]) -> Finding:
    packages = context.facts.interpreter.site_packages
    verify = show_files(*(packages / name for name in files[:_LISTED]))
    return _report_problem(context, status, message, Details(evidence=files, verify=verify))


def _report_foreign_modules(context: CheckContext) -> Iterator[Finding]:
    """Modules that this Python passes over; a core among them is grave only where there is no other."""
    stack = context.facts.stack
    if stack.core is not None and stack.foreign_cores:
        whose = _describe_foreign_python(context, stack.foreign_cores)
        yield _report_strays(
            context, Status.WARNING, f"a core for {whose} lies beside the right one", stack.foreign_cores
        )
    modules = tuple(name for name in _list_files_of_another_python(context) if name not in stack.foreign_cores)
    if modules:
        whose = _describe_foreign_python(context, modules)
        message = f"extension modules for {whose}, which this one never loads: {_join_names(modules)}"
        yield _report_strays(context, Status.WARNING, message, modules)


def _describe_foreign_python(context: CheckContext, names: tuple[str, ...]) -> str:
    """What modules are for that this Python passes over."""
    return "a Python on another C library" if names_of_other_libc(context.facts, names) == names else "another Python"


def _list_files_of_another_python(context: CheckContext) -> tuple[str, ...]:
    suffix = context.facts.interpreter.extension_suffix
    tagged = (name for name in find_unclaimed_files(context) if _TAGGED.search(name))
    return tuple(name for name in tagged if not name.endswith(suffix))


def _report_problem(context: CheckContext, status: Status, message: str, told: Details) -> Finding:
    told |= Details(evidence=listing(told.get("evidence", ())), remedy=repair(context))
    return _SAY.say(status, message, **told)


def _locate_package(context: CheckContext) -> PurePath:
    return context.facts.interpreter.site_packages / "PIL"


def _divide(files: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Extension modules, bundled libraries, and what is not compiled."""
    modules = tuple(name for name in files if name.endswith(".so") and ".libs/" not in name)
    libraries = tuple(name for name in files if name not in modules and _LIBRARY.search(name))
    return modules, libraries, tuple(name for name in files if name not in (*modules, *libraries))


def _join_names(files: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(name.rpartition("/")[2].partition(".")[0] for name in files))


@immutable
class Recorded:
    """The files that one claimant recorded.

    Attributes:
        title: whose they are: "pillow 12.1.1".
        place: where it is recorded.
        files: how many.
        altered: those whose contents differ, relative to site-packages where they lie there.
        missing: those that are not on disk, likewise.
        verify: a command that compares them.
    """

    title: str
    place: str
    files: int
    altered: tuple[str, ...]
    missing: tuple[str, ...]
    verify: str


def find_fitting_record(context: CheckContext) -> Recorded | None:
    """Return the record that fits PIL's files best, or None if there is none."""
    found = (_record(context, claimant) for claimant in claimants(context.facts))
    kept = (record for record in found if record is not None)
    return min(kept, key=lambda record: len(record.altered) + len(record.missing), default=None)


def find_unclaimed_files(context: CheckContext) -> tuple[str, ...]:
    """Give the files below `PIL/` that neither a RECORD nor a record of conda's names."""
    claims = (claimant.claim for claimant in claimants(context.facts) if claimant.claim is not None)
    known = {path for claim in claims for path in _list_record_paths(context, claim.files)}
    return tuple(name for name in context.facts.stack.unclaimed if name not in known)


def _record(context: CheckContext, claimant: Claimant) -> Recorded | None:
    owner, claim = claimant.owner, claimant.claim
    if claim is not None and claimant.package is not None:
        return Recorded(
            title=claimant.title,
            place=claimant.place,
            files=len(claim.files),
            altered=_list_record_paths(context, claim.altered),
            missing=_list_record_paths(context, claim.missing),
            verify=compare_with_conda(context, records(context, claimant.package)[0]),
        )
    if owner is None or not owner.has_record:
        return None
    return Recorded(
        title=claimant.title,
        place=claimant.place,
        files=owner.files,
        altered=owner.mismatched,
        missing=owner.missing,
        verify=compare_with_record(context, claimant.name),
    )


def _list_record_paths(context: CheckContext, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Paths of the prefix as a RECORD has them; compiled modules aside, which Python writes anew as it likes."""
    packages = f"{relative_to_prefix(context.facts, context.facts.interpreter.site_packages)}/"
    return tuple(path.removeprefix(packages) for path in paths if not path.endswith(".pyc"))
