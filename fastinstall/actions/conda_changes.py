"""Have an engine change packages of a live conda environment, so that it can be undone whatever becomes of the engine.

What goes and what is overwritten is known before: from the records in `conda-meta`, and from the engine, which tells
what a package brings. The journal copies the one and announces the other.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from fastinstall.errors import FailedError
from fastinstall.installers.conda.engine import CondaEngine
from fastinstall.journal import records
from fastinstall.journal.stretch import Stretch
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import CondaChange, CondaPackage
from fastinstall.model.event import Emit, Started, ignore
from fastinstall.model.steps import ChangeCondaPackages
from fastinstall.rules.messages import quote

_GROUNDS = (
    *(".condatmp", "CACHEDIR.TAG", "__clobbers__", "conda-meta/history.c~"),
    *(".tmp.index.json.*", ".refprobe-*", "symtest_*-*-*-*-*", "conda-meta/prefix_record_*"),
    *("conda-meta/.history.*", "conda-meta/.*.json.*"),
)
"""Where conda and py-rattler draft files and try links, where py-rattler keeps those that several packages claim, and
where ours writes what becomes a record or the history."""

_PARKED = ".c~"
"""What conda adds to the name of a file that is about to go, until its transaction has ended."""

_MESSAGES = ".messages.txt"
"""Where scripts of packages leave words for the user."""


def change_conda_packages(
    step: ChangeCondaPackages, engine: CondaEngine, transaction: Transaction, prefix: Path, emit: Emit = ignore
) -> None:
    """Carry the step out on the live environment.

    Args:
        step: what comes and what goes.
        engine: who does it.
        transaction: open; it undoes all of it.
        prefix: of the environment.
        emit: listens to events.

    Raises:
        FailedError: a package that goes is not there, the engine failed, or it did something else than was planned; the
            caller undoes.
    """
    stretch = stretch_of(step.change, engine, prefix)
    expected = _expected(step.change, prefix)
    emit(Started(stage="conda", message=f"{engine.description}: {_sentence(step.change)}"))
    transaction.engage(stretch, lambda: engine.change(prefix, step.change))
    _refuse_others(expected, prefix)


def stretch_of(change: CondaChange, engine: CondaEngine, prefix: Path) -> Stretch:
    """What a change takes away, overwrites and brings.

    Raises:
        FailedError: a package that goes is not installed, or its record cannot be read.
    """
    going = tuple(path for package in change.unlinked for path in _installed(package, prefix))
    python = _python(change, prefix)
    coming = tuple(
        path for package in change.linked for path in (*engine.contents(package, python=python), _record(package))
    )
    sharing = _records_that_share({*going, *coming}, change, prefix)
    parked = (f"{path}{_PARKED}" for path in going)
    return Stretch(copies=(*going, *sharing), appearing=(*coming, *parked, _MESSAGES), grounds=_GROUNDS)


def _installed(package: CondaPackage, prefix: Path) -> tuple[str, ...]:
    claimed = tuple(records.claims(prefix, package.record))
    if not (prefix / _record(package)).is_file():
        hint = f"fastinstall plan --prefix {quote(prefix)}"
        raise FailedError(f"{prefix}: {package.dist} is not installed (any more), so it cannot be changed", hint=hint)
    if not claimed and not records.is_readable(prefix, package.record):
        message = f"{prefix / _record(package)}: cannot be read, so nobody knows which files go with {package.name}"
        raise FailedError(message, hint=f"python -m json.tool {quote(prefix / _record(package))}")
    return (*claimed, _record(package))


def _record(package: CondaPackage) -> str:
    return f"{records.RECORDS}/{package.record}"


def _python(change: CondaChange, prefix: Path) -> str:
    """The minor version of the Python that is there in the end ("3.11"); empty where there is none."""
    coming = (package.version for package in change.linked if package.name == "python")
    there = (name.rsplit("-", 2)[1] for name in records.names(prefix) if records.package(name) == "python")
    version = next(chain(coming, there), "")
    return ".".join(version.split(".")[:2])


def _records_that_share(paths: set[str], change: CondaChange, prefix: Path) -> Iterator[str]:
    """Records of packages that stay and claim the same files: py-rattler writes those anew."""
    involved = {package.record for package in (*change.linked, *change.unlinked)}
    for name in records.names(prefix):
        if name not in involved and not paths.isdisjoint(records.claims(prefix, name)):
            yield f"{records.RECORDS}/{name}"


def _expected(change: CondaChange, prefix: Path) -> frozenset[str]:
    stay = frozenset(records.names(prefix)) - {package.record for package in change.unlinked}
    return stay | {package.record for package in change.linked}


def _refuse_others(expected: frozenset[str], prefix: Path) -> None:
    found = frozenset(records.names(prefix))
    if found == expected:
        return
    lacking, strange = sorted(expected - found), sorted(found - expected)
    raise FailedError(
        f"{prefix}: the engine did something else than was planned",
        hint=f"see what it would do: fastinstall plan --prefix {quote(prefix)}",
        details=(*_lines("not there", lacking), *_lines("there, and not planned", strange)),
    )


def _lines(words: str, names: Iterable[str]) -> Iterator[str]:
    return (f"{words}: {name.removesuffix('.json')}" for name in names)


def _sentence(change: CondaChange) -> str:
    """What happens, each package once."""
    coming, going = ({package.dist for package in packages} for packages in (change.linked, change.unlinked))
    parts = (
        ("reinstalling", coming & going),
        ("installing", coming - going),
        ("removing", going - coming),
    )
    return "; ".join(f"{word} {', '.join(sorted(dists))}" for word, dists in parts if dists)
