"""Let a conda engine change packages of a live environment in a way that can be undone.

The affected files are known before the change: records in `conda-meta` list the files of installed packages, and the
engine lists the files of new packages. The journal copies the existing files, and records the paths of the new ones in
advance.
"""

import re
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Started, ignore
from fastinstall.core.messages import quote
from fastinstall.journal import conda_meta
from fastinstall.journal.entries import ExternalChange
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import CondaChange, CondaEngine, CondaPackage

_CHANGE_REASONS = (
    *(".condatmp", "CACHEDIR.TAG", "__clobbers__", "conda-meta/history.c~"),
    *(".tmp.index.json.*", ".refprobe-*", "symtest_*-*-*-*-*", "conda-meta/prefix_record_*"),
    *("conda-meta/.history.*", "conda-meta/.*.json.*"),
)
"""Patterns of temporary paths: conda's and py-rattler's drafts and link tests, the directory in which py-rattler keeps
files that several packages contain, and fastinstall's drafts of records and of the history."""


def change_conda_packages(
    change: CondaChange, engine: CondaEngine, transaction: Transaction, prefix: Path, emit: Emit = ignore
) -> None:
    """Carry out a change on the live environment.

    Args:
        change: the packages to install and to remove.
        engine: the engine that performs the change.
        transaction: the open transaction, which can undo the whole change.
        prefix: the environment.
        emit: receives a progress event.

    Raises:
        FailedError: a package to remove is not installed, the engine failed, or the engine did something other than
            planned; the caller must undo the transaction.
    """
    external = _describe_external_change(change, engine, prefix)
    gone, come = ({package.record for package in side} for side in (change.unlinked, change.linked))
    expected = frozenset(conda_meta.list_record_names(prefix)) - gone | come
    emit(Started(stage="conda", message=f"{engine.description}: {_describe_change(change)}"))
    transaction.run_external_change(external, lambda: engine.change(prefix, change))
    found = frozenset(conda_meta.list_record_names(prefix))
    if found != expected:
        lacking = (f"missing: {name.removesuffix('.json')}" for name in sorted(expected - found))
        strange = (f"present but not planned: {name.removesuffix('.json')}" for name in sorted(found - expected))
        raise FailedError(
            f"{prefix}: the engine did something other than planned",
            hint=f"to see what it would do: fastinstall plan --prefix {quote(prefix)}",
            details=(*lacking, *strange),
        )


def _describe_external_change(change: CondaChange, engine: CondaEngine, prefix: Path) -> ExternalChange:
    """Return the paths that a change removes, overwrites and creates, for the journal.

    Raises:
        FailedError: a package to remove is not installed, or its record cannot be read.
    """
    names = tuple(conda_meta.list_record_names(prefix))
    # The paths of a noarch package's files depend on the Python that the environment has after the change.
    pythons = [each.dist for each in change.linked if each.name == "python"]
    pythons += [name.removesuffix(".json") for name in names if conda_meta.package(name) == "python"]
    python = _derive_site_name(pythons[0]) if pythons else ""
    going = [path for package in change.unlinked for path in _list_going_files(package, prefix)]
    coming: list[str] = []
    for package in change.linked:
        coming += (*engine.read_contents(package, python=python), f"{conda_meta.RECORDS}/{package.record}")
    # Packages that are not changed may claim some of these files; py-rattler rewrites their records.
    paths, involved = {*going, *coming}, {package.record for package in (*change.linked, *change.unlinked)}
    sharing = (
        f"{conda_meta.RECORDS}/{name}"
        for name in names
        if name not in involved and not paths.isdisjoint(conda_meta.claims(prefix / conda_meta.RECORDS / name))
    )
    # conda renames files to NAME.c~ before it deletes them; package scripts write messages to .messages.txt.
    temporary = (*(f"{path}.c~" for path in going), ".messages.txt")
    return ExternalChange(copies=(*going, *sharing), appearing=(*coming, *temporary), own_places=_CHANGE_REASONS)


def _derive_site_name(dist: str) -> str:
    """Return the version in `lib/pythonVERSION` for the Python package `dist`: "3.14", or "3.14t" if free-threaded."""
    _, version, build = dist.rsplit("-", 2)
    return ".".join(version.split(".")[:2]) + ("t" if re.search(r"_cp\d+t$", build) else "")


def _list_going_files(package: CondaPackage, prefix: Path) -> tuple[str, ...]:
    record = f"{conda_meta.RECORDS}/{package.record}"
    claimed = tuple(conda_meta.claims(prefix / record))
    if not (prefix / record).is_file():
        raise FailedError(
            f"{prefix}: {package.dist} is not installed, so it cannot be changed",
            hint=f"fastinstall plan --prefix {quote(prefix)}",
        )
    if not claimed and not conda_meta.is_readable(prefix / record):
        raise FailedError(
            f"{prefix / record}: cannot be read, so the files of {package.name} are unknown",
            hint=f"python -m json.tool {quote(prefix / record)}",
        )
    return (*claimed, record)


def _describe_change(change: CondaChange) -> str:
    """Describe a change in words; a package that is removed and installed again is listed once, as reinstalled."""
    coming, going = ({package.dist for package in packages} for packages in (change.linked, change.unlinked))
    parts = (("reinstalling", coming & going), ("installing", coming - going), ("removing", going - coming))
    return "; ".join(f"{word} {', '.join(sorted(dists))}" for word, dists in parts if dists)
