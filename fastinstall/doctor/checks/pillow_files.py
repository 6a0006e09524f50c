"""Whether PIL's files match RECORD, are of one version and for this Python, and have usable permissions.

- error: the core is missing, damaged, for another Python, or of another version than `PIL/_version.py`. Or recorded
  files are missing. Or other users may not read PIL, though they may read other packages. Or an extension module
  (`_webp`, `_imagingft`, ...) or a bundled library is altered, or there is an unknown module. PIL can then still be
  imported.
- warning: files belong to another user, so that the owner of site-packages cannot replace them. Or other files are
  altered, or no distribution claims them. Or there are modules of another Python beside the right ones.

If PIL has several owners, the files are compared with the record of the owner that they match best. For a conda
package, that is conda's record.

Why it matters:
PIL can be imported from files of two versions, as long as the core and `_version.py` agree. Then the first WebP image
loads a `_webp` of another build, with a library whose memory layout it does not know. A module that no distribution
claims survives every uninstallation, and is loaded by the next Pillow. A module with the tag of another Python is never
loaded. If root installed PIL with umask 077, no other user can import it. pip fails halfway if it may not remove the
files of another user, and PIL is then missing.

How to fix it:
Restore the stack with `fastinstall doctor --fix`. Without a setup, force pip to install Pillow again. Files that no
distribution claims remain: remove them by hand, or make a new environment.
"""

import re
from collections.abc import Iterator

from fastinstall.core.messages import format_count, listing
from fastinstall.core.values import immutable
from fastinstall.doctor import owners
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import (
    compare_with_conda,
    compare_with_record,
    offer_repair,
    show,
    show_files,
    show_strings,
)
from fastinstall.model.finding import SURPRISES, Finding, Remedy, Status, shorten_evidence

_TAGGED = re.compile(r"\.(cpython-|cp|pypy)\w*[^/]*\.so$")
_LIBRARY = re.compile(r"\.so(\.\d+)*$")
_LISTED = 3


def check(context: CheckContext) -> Iterator[Finding]:
    """Check PIL's files."""
    if context.facts.stack.directory is None:
        yield Finding.skipped(owners.explain_no_stack(context.facts))
        return
    claimants = owners.list_claimants(context.facts)
    kept = [recorded for claimant in claimants if (recorded := _read_record(context, claimant))]
    record = min(kept, key=lambda each: len(each.altered) + len(each.missing), default=None)
    problems = (
        *_report_core(context),
        *_report_recorded(context, record),
        *_report_stray(context, record),
        *_report_rights(context),
    )
    if problems:
        yield from problems
    elif record is None:
        yield Finding.skipped("there is no RECORD to compare PIL's files with")
    else:
        message = f"all {record.files} files match {record.title}"
        yield Finding.ok(message, evidence=(record.place,), verify=record.verify)


def _report_core(context: CheckContext) -> Iterator[Finding]:
    stack, core = context.facts.stack, context.facts.stack.core
    if core is None or not core.readable:
        evidence = stack.foreign_cores if core is None else (f"{core.path}, {core.size} bytes",)
        place = context.facts.interpreter.site_packages / "PIL" if core is None else core.path
        yield _report(context, owners.explain_broken_core(context.facts), evidence, show_files(place))
    elif conflict := owners.explain_conflict(stack):
        path = core.loaded_file
        verify = show_strings(path, f"^{core.version}$")
        yield _report(context, f"PIL is mixed from two versions: {conflict}", (str(path),), verify)


def _report_recorded(context: CheckContext, record: "Recorded | None") -> Iterator[Finding]:
    if record is None:
        return
    whose, (modules, libraries, other) = record.title, _divide(record.altered)
    stated = (
        (modules, Status.ERROR, f"extension modules are not those of {whose}: {_join_names(modules)}"),
        (libraries, Status.ERROR, f"bundled libraries are not those of {whose}: {_join_names(libraries)}"),
        (other, Status.WARNING, _name_files(other, whose, "altered")),
        (record.missing, Status.ERROR, _name_files(record.missing, whose, "missing")),
    )
    for files, status, message in stated:
        if files:
            yield _report(context, message, files, record.verify, status)


def _report_stray(context: CheckContext, record: "Recorded | None") -> Iterator[Finding]:
    """Report files that no distribution claims, and modules that this Python cannot load."""
    stack, packages = context.facts.stack, context.facts.interpreter.site_packages
    claims = (claimant.claim for claimant in owners.list_claimants(context.facts) if claimant.claim is not None)
    known = {path for claim in claims for path in _list_record_paths(context, claim.files)}
    unclaimed, cores = tuple(name for name in stack.unclaimed if name not in known), stack.foreign_cores
    suffix = context.facts.interpreter.extension_suffix
    passed = (name for name in unclaimed if not name.endswith(suffix) and name not in cores)
    tagged = tuple(filter(_TAGGED.search, passed))
    modules, libraries, files = _divide(tuple(name for name in unclaimed if name not in (*tagged, *cores)))
    others = (*libraries, *files)
    other_python = "extension modules for another Python, which this one never loads"
    stated = (
        (modules, f"stray extension modules that no distribution claims: {_join_names(modules)}", record is not None),
        (
            others,
            f"{format_count(len(others), 'file')} below PIL/ that no distribution claims: {_list_paths(others)}",
            record is not None,
        ),
        (cores, "a core for another Python lies beside the right one", stack.core is not None),
        (tagged, f"{other_python}: {_join_names(tagged)}", True),
    )
    for names, message, is_told in stated:
        if names and is_told:
            status = Status.ERROR if names is modules else Status.WARNING
            yield _report(context, message, names, show_files(*(packages / name for name in names[:_LISTED])), status)


def _report_rights(context: CheckContext) -> Iterator[Finding]:
    """Report files that other users cannot read, or that the owner of site-packages cannot replace."""
    stack, packages = context.facts.stack, context.facts.interpreter.site_packages
    hidden, theirs = ([packages / name for name in names] for names in (stack.hidden, stack.of_others))
    if hidden:
        yield Finding.error(
            f"other users may not read {listing(stack.hidden)}, though they may read other packages here",
            evidence=shorten_evidence(map(str, hidden)),
            remedy=Remedy(
                text="as their owner or root, let others read them", command=show("chmod", "-R", "go+rX", *hidden)
            ),
            link=f"{SURPRISES}#versions-and-installers",
            verify=show("ls", "-ld", packages, *hidden[:_LISTED]),
        )
    if theirs:
        own = show("chown", "-R", f"--reference={packages}", *theirs)
        yield Finding.warning(
            f"the owner of site-packages cannot replace {listing(stack.of_others)}: they belong to another user",
            evidence=shorten_evidence(map(str, theirs)),
            remedy=Remedy(text="as root, give them to the owner of site-packages", command=own),
            verify=show("ls", "-ld", packages, *theirs[:_LISTED]),
        )


def _report(
    context: CheckContext, message: str, evidence: tuple[str, ...], verify: str, status: Status = Status.ERROR
) -> Finding:
    return Finding.of(status, message, evidence=shorten_evidence(evidence), remedy=offer_repair(context), verify=verify)


def _divide(files: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Divide file names into extension modules, bundled libraries, and other files."""
    modules = tuple(name for name in files if name.endswith(".so") and ".libs/" not in name)
    libraries = tuple(name for name in files if name not in modules and _LIBRARY.search(name))
    return modules, libraries, tuple(name for name in files if name not in (*modules, *libraries))


def _name_files(files: tuple[str, ...], whose: str, state: str) -> str:
    are = "is" if len(files) == 1 else "are"
    return f"{format_count(len(files), 'file')} of {whose} {are} {state}: {_list_paths(files)}"


def _list_paths(files: tuple[str, ...]) -> str:
    return listing(files, most=_LISTED)


def _join_names(files: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(name.rpartition("/")[2].partition(".")[0] for name in files))


@immutable
class Recorded:
    """The result of comparing the record of one claimant with the files on disk.

    Attributes:
        title: name of the claimant: "pillow 12.1.1".
        place: metadata directory, or path of the conda record.
        files: number of files that the record lists.
        altered: files whose contents differ, relative to site-packages; of a conda package, files outside
            site-packages are relative to the prefix.
        missing: files that do not exist, relative to the same directories as in `altered`.
        verify: a command that compares the files with the record.
    """

    title: str
    place: str
    files: int
    altered: tuple[str, ...]
    missing: tuple[str, ...]
    verify: str


def _read_record(context: CheckContext, claimant: owners.Claimant) -> Recorded | None:
    owner, claim, package = claimant.owner, claimant.claim, claimant.package
    if claim is not None and package is not None:
        files, verify = len(claim.files), compare_with_conda(context, owners.list_records(context, package)[0])
        altered, missing = (_list_record_paths(context, paths) for paths in (claim.altered, claim.missing))
    elif owner is not None and owner.has_record:
        files, verify = owner.files, compare_with_record(context, claimant.name)
        altered, missing = owner.mismatched, owner.missing
    else:
        return None
    title, place = claimant.title, claimant.place
    return Recorded(title=title, place=place, files=files, altered=altered, missing=missing, verify=verify)


def _list_record_paths(context: CheckContext, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Convert paths of a conda record to paths of a RECORD, which are relative to site-packages.

    Paths outside site-packages stay as they are. Bytecode is left out, since Python may rewrite it.
    """
    packages = f"{owners.relative_to_prefix(context.facts, context.facts.interpreter.site_packages)}/"
    return tuple(path.removeprefix(packages) for path in paths if not path.endswith(".pyc"))
