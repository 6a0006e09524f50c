"""Have a conda engine change packages of a live environment so that the change can be undone.

What is removed and overwritten is known before: from the records in `conda-meta`, and from the engine, which tells what
a package brings. The journal copies the former and announces the latter.
"""

import re
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Started, ignore
from fastinstall.core.messages import quote
from fastinstall.journal import conda_records
from fastinstall.journal.entries import ExternalChange
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import CondaChange, CondaEngine, CondaPackage

_CHANGE_REASONS = (
    *(".condatmp", "CACHEDIR.TAG", "__clobbers__", "conda-meta/history.c~"),
    *(".tmp.index.json.*", ".refprobe-*", "symtest_*-*-*-*-*", "conda-meta/prefix_record_*"),
    *("conda-meta/.history.*", "conda-meta/.*.json.*"),
)
"""Where conda and py-rattler draft files and try links, where py-rattler keeps those that several packages claim, and
where ours writes what becomes a record or the history."""


def change_conda_packages(
    change: CondaChange, engine: CondaEngine, transaction: Transaction, prefix: Path, emit: Emit = ignore
) -> None:
    """Carry a change out on the live environment.

    Args:
        change: what comes and what goes.
        transaction: open; it undoes all of it.

    Raises:
        FailedError: a package that goes is not there, the engine failed, or it did something else than was planned; the
            caller undoes.
    """
    external = describe_external_change(change, engine, prefix)
    gone, come = ({package.record for package in side} for side in (change.unlinked, change.linked))
    expected = frozenset(conda_records.list_record_names(prefix)) - gone | come
    emit(Started(stage="conda", message=f"{engine.description}: {_describe_change(change)}"))
    transaction.run_external_change(external, lambda: engine.change(prefix, change))
    found = frozenset(conda_records.list_record_names(prefix))
    if found != expected:
        lacking = (f"missing: {name.removesuffix('.json')}" for name in sorted(expected - found))
        strange = (f"present but not planned: {name.removesuffix('.json')}" for name in sorted(found - expected))
        raise FailedError(
            f"{prefix}: the engine did something other than planned",
            hint=f"to see what it would do: fastinstall plan --prefix {quote(prefix)}",
            details=(*lacking, *strange),
        )


def describe_external_change(change: CondaChange, engine: CondaEngine, prefix: Path) -> ExternalChange:
    """Return what a change takes away, overwrites and brings.

    Raises:
        FailedError: a package that goes is not installed, or its record cannot be read.
    """
    names = tuple(conda_records.list_record_names(prefix))
    # The Python that is there in the end.
    pythons = [(each.version, each.build) for each in change.linked if each.name == "python"]
    pythons += [_split_record(name) for name in names if conda_records.package(name) == "python"]
    python = _derive_site_name(*pythons[0]) if pythons else ""
    going = [path for package in change.unlinked for path in _list_going_files(package, prefix)]
    coming: list[str] = []
    for package in change.linked:
        coming += (*engine.read_contents(package, python=python), f"{conda_records.RECORDS}/{package.record}")
    # Records of packages that stay and claim the same files: py-rattler writes those anew.
    paths, involved = {*going, *coming}, {package.record for package in (*change.linked, *change.unlinked)}
    sharing = (
        f"{conda_records.RECORDS}/{name}"
        for name in names
        if name not in involved and not paths.isdisjoint(conda_records.claims(prefix, name))
    )
    # conda renames files to NAME.c~ before it deletes them; package scripts write messages to .messages.txt.
    temporary = (*(f"{path}.c~" for path in going), ".messages.txt")
    return ExternalChange(copies=(*going, *sharing), appearing=(*coming, *temporary), own_places=_CHANGE_REASONS)


def _split_record(name: str) -> tuple[str, str]:
    _, version, build = name.removesuffix(".json").rsplit("-", 2)
    return version, build


def _derive_site_name(version: str, build: str) -> str:
    """Return what "lib/python" goes on with: the minor version, with a "t" for a free-threaded build ("3.14t")."""
    return ".".join(version.split(".")[:2]) + ("t" if re.search(r"_cp\d+t$", build) else "")


def _list_going_files(package: CondaPackage, prefix: Path) -> tuple[str, ...]:
    record = f"{conda_records.RECORDS}/{package.record}"
    claimed = tuple(conda_records.claims(prefix, package.record))
    if not (prefix / record).is_file():
        raise FailedError(
            f"{prefix}: {package.dist} is not installed, so it cannot be changed",
            hint=f"fastinstall plan --prefix {quote(prefix)}",
        )
    if not claimed and not conda_records.is_readable(prefix, package.record):
        raise FailedError(
            f"{prefix / record}: cannot be read, so the files of {package.name} are unknown",
            hint=f"python -m json.tool {quote(prefix / record)}",
        )
    return (*claimed, record)


def _describe_change(change: CondaChange) -> str:
    """Describe what happens, each package once."""
    coming, going = ({package.dist for package in packages} for packages in (change.linked, change.unlinked))
    parts = (("reinstalling", coming & going), ("installing", coming - going), ("removing", going - coming))
    return "; ".join(f"{word} {', '.join(sorted(dists))}" for word, dists in parts if dists)
