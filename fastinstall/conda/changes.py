"""Have an engine change packages of a live conda environment so that it can be undone, whatever becomes of the engine.

What is removed and overwritten is known before: from the records in `conda-meta`, and from the engine, which tells what
a package brings. The journal copies the former and announces the latter. Changes beside the stack are described in
words, with their risks.

A downgrade is recognised by conda's ordering of versions. Source: conda's documentation of package match
specifications: numbers before the rest of a component, "dev" before every other word, "post" after every number, and
what is missing counts as 0.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import chain, zip_longest
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Started, ignore
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.index.execution import CondaEngine
from fastinstall.journal import external_changes
from fastinstall.journal.entries import ExternalChange
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import Conda, CondaChange, CondaPackage
from fastinstall.model.request import PlanRisk, Risk

_CHANGE_REASONS = (
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
    change: CondaChange, engine: CondaEngine, transaction: Transaction, prefix: Path, emit: Emit = ignore
) -> None:
    """Carry a change out on the live environment.

    Args:
        change: what comes and what goes.
        engine: who does it.
        transaction: open; it undoes all of it.
        prefix: of the environment.
        emit: listens to events.

    Raises:
        FailedError: a package that goes is not there, the engine failed, or it did something else than was planned; the
            caller undoes.
    """
    stretch = describe_external_change(change, engine, prefix)
    expected = _list_expected_files(change, prefix)
    emit(Started(stage="conda", message=f"{engine.description}: {_describe_change(change)}"))
    transaction.engage(stretch, lambda: engine.change(prefix, change))
    _refuse_others(expected, prefix)


def describe_external_change(change: CondaChange, engine: CondaEngine, prefix: Path) -> ExternalChange:
    """What a change takes away, overwrites and brings.

    Raises:
        FailedError: a package that goes is not installed, or its record cannot be read.
    """
    going = tuple(path for package in change.unlinked for path in _list_installed_files(package, prefix))
    python = _find_python_version(change, prefix)
    coming = tuple(
        path
        for package in change.linked
        for path in (*engine.read_contents(package, python=python), _locate_record(package))
    )
    sharing = _list_sharing_records({*going, *coming}, change, prefix)
    parked = (f"{path}{_PARKED}" for path in going)
    return ExternalChange(copies=(*going, *sharing), appearing=(*coming, *parked, _MESSAGES), grounds=_CHANGE_REASONS)


def _list_installed_files(package: CondaPackage, prefix: Path) -> tuple[str, ...]:
    claimed = tuple(external_changes.claims(prefix, package.record))
    if not (prefix / _locate_record(package)).is_file():
        hint = f"fastinstall plan --prefix {quote(prefix)}"
        raise FailedError(f"{prefix}: {package.dist} is not installed (any more), so it cannot be changed", hint=hint)
    if not claimed and not external_changes.is_readable(prefix, package.record):
        message = (
            f"{prefix / _locate_record(package)}: cannot be read, so nobody knows which files go with {package.name}"
        )
        raise FailedError(message, hint=f"python -m json.tool {quote(prefix / _locate_record(package))}")
    return (*claimed, _locate_record(package))


def _locate_record(package: CondaPackage) -> str:
    return f"{external_changes.RECORDS}/{package.record}"


def _find_python_version(change: CondaChange, prefix: Path) -> str:
    """The minor version of the Python that is there in the end ("3.11"); empty if there is none."""
    coming = (package.version for package in change.linked if package.name == "python")
    there = (
        name.rsplit("-", 2)[1] for name in external_changes.names(prefix) if external_changes.package(name) == "python"
    )
    version = next(chain(coming, there), "")
    return ".".join(version.split(".")[:2])


def _list_sharing_records(paths: set[str], change: CondaChange, prefix: Path) -> Iterator[str]:
    """Records of packages that stay and claim the same files: py-rattler writes those anew."""
    involved = {package.record for package in (*change.linked, *change.unlinked)}
    for name in external_changes.names(prefix):
        if name not in involved and not paths.isdisjoint(external_changes.claims(prefix, name)):
            yield f"{external_changes.RECORDS}/{name}"


def _list_expected_files(change: CondaChange, prefix: Path) -> frozenset[str]:
    stay = frozenset(external_changes.names(prefix)) - {package.record for package in change.unlinked}
    return stay | {package.record for package in change.linked}


def _refuse_others(expected: frozenset[str], prefix: Path) -> None:
    found = frozenset(external_changes.names(prefix))
    if found == expected:
        return
    lacking, strange = sorted(expected - found), sorted(found - expected)
    raise FailedError(
        f"{prefix}: the engine did something else than was planned",
        hint=f"see what it would do: fastinstall plan --prefix {quote(prefix)}",
        details=(*_list_lines("not there", lacking), *_list_lines("there, and not planned", strange)),
    )


def _list_lines(words: str, names: Iterable[str]) -> Iterator[str]:
    return (f"{words}: {name.removesuffix('.json')}" for name in names)


def _describe_change(change: CondaChange) -> str:
    """What happens, each package once."""
    coming, going = ({package.dist for package in packages} for packages in (change.linked, change.unlinked))
    parts = (
        ("reinstalling", coming & going),
        ("installing", coming - going),
        ("removing", going - coming),
    )
    return "; ".join(f"{word} {', '.join(sorted(dists))}" for word, dists in parts if dists)


_PYTHON = ("python", "pypy*", "python_abi")
_TORCH = ("pytorch*", "libtorch*", "torch", "torchvision*", "torchaudio*", "torchtriton")
_CUDA = ("cuda*", "cudatoolkit*", "cudnn*", "nccl*", "nvidia-*", "libnv*", "libnpp*", "cutensor*", "libcutensor*")
_CUDA_LIBRARIES = ("libcublas*", "libcuda*", "libcudnn*", "libcudss*", "libcufft*", "libcufile*", "libcupti*")
_CUDA_MATHEMATICS = ("libcurand*", "libcusolver*", "libcusparse*")
_PROTECTED = (*_PYTHON, *_TORCH, *_CUDA, *_CUDA_LIBRARIES, *_CUDA_MATHEMATICS)
_NAMED = 5


@immutable
class PackageChange:
    """What becomes of one package.

    Attributes:
        name: of the package.
        before: the installed package, or None if it is not installed yet.
        after: the package that takes its place, or None if nothing does.
    """

    name: str
    before: CondaPackage | None
    after: CondaPackage | None

    @property
    def words(self) -> str:
        """For people: "libtiff: 4.5.1 -> 4.7.2"."""
        before, after = self.before, self.after
        if before is None or after is None:
            came, gone = (f"comes: {after.version}" if after else ""), (f"goes: {before.version}" if before else "")
            return f"{self.name}: {came or gone}"
        if before.dist == after.dist:
            return f"{self.name}: {before.version}, once more"
        if before.version == after.version:
            return f"{self.name}: {before.version} {before.build} -> {after.version} {after.build}"
        return f"{self.name}: {before.version} -> {after.version}"


def list_package_changes(change: CondaChange) -> tuple[PackageChange, ...]:
    """What becomes of each package, by name."""
    gone = {package.name: package for package in change.unlinked}
    come = {package.name: package for package in change.linked}
    return tuple(
        PackageChange(name=name, before=gone.get(name), after=come.get(name)) for name in sorted({*gone, *come})
    )


def find_change_risks(change: CondaChange) -> tuple[PlanRisk, ...]:
    """The named risks of a change: packages that much depends on, any that become older, and any that just go."""
    changes = list_package_changes(change)
    protected = [each for each in changes if is_protected(each.name)]
    older = [each for each in changes if each.before and each.after and _is_downgrade(each.before, each.after)]
    gone = [each for each in changes if each.after is None and each not in protected]
    found = (
        _make_change_risk(
            Risk.PROTECTED_PACKAGES, "the solver would change what everything else depends on", protected
        ),
        _make_change_risk(Risk.DOWNGRADE, "the solver would put older versions in place", older),
        _make_change_risk(Risk.FORCE_REMOVE, "the solver would remove packages, and nothing takes their place", gone),
    )
    return tuple(hazard for hazard in found if hazard is not None)


def is_protected(name: str) -> bool:
    """Whether a package is Python itself, torch or one of CUDA's."""
    return any(fnmatchcase(name, pattern) for pattern in _PROTECTED)


def explain_change(change: CondaChange, why: str) -> str:
    """A sentence: why, and what is lost by it."""
    going = [each.name for each in list_package_changes(change) if each.after is None]
    verb = "goes, and nothing takes its place" if len(going) == 1 else "go, and nothing takes their place"
    return f"{why}; {_shorten_words(going)} {verb}" if going else why


def apply_conda_change(conda: Conda, change: CondaChange) -> tuple[CondaPackage, ...]:
    """The packages that are there afterwards."""
    touched = {package.name for package in (*change.unlinked, *change.linked)}
    return (*(package for package in conda.packages if package.name not in touched), *change.linked)


def _is_downgrade(before: CondaPackage, after: CondaPackage) -> bool:
    return is_older(after.version, before.version)


def _make_change_risk(risk: Risk, what: str, changes: Collection[PackageChange]) -> PlanRisk | None:
    if not changes:
        return None
    names = _shorten_words(each.name for each in changes)
    return PlanRisk(risk=risk, summary=f"{what}: {names}", items=tuple(each.words for each in changes))


def _shorten_words(words: Iterable[str]) -> str:
    all_of_them = list(words)
    more = len(all_of_them) - _NAMED
    return listing([*all_of_them[:_NAMED], f"{more} more"]) if more > 0 else listing(all_of_them)


_Atom = tuple[int, int, str]
_Part = tuple[_Atom, ...]

_ATOMS = re.compile(r"\d+|[^\d.]+")
_NUMBER, _ZERO = 2, (2, 0, "")


def is_older(version: str, than: str) -> bool:
    """Whether conda would sort a version before another; versions that it would not take are compared all the same."""
    mine, other = _split_version(version), _split_version(than)
    for one, two in zip(mine, other, strict=True):
        for left, right in zip_longest(one, two, fillvalue=(_ZERO,)):
            for first, second in zip_longest(left, right, fillvalue=_ZERO):
                if first != second:
                    return first < second
    return False


def _split_version(version: str) -> tuple[tuple[_Part, ...], ...]:
    """Epoch, version and local version, each as its components."""
    epoch, mark, rest = version.strip().lower().partition("!")
    public, _, local = (rest if mark else epoch).partition("+")
    return _split_components(epoch if mark else "0"), _split_components(public), _split_components(local)


def _split_components(text: str) -> tuple[_Part, ...]:
    ending = "_" if text.endswith("_") else ""
    words = re.split(r"[._-]", text.rstrip("_"))
    words[-1] += ending
    return tuple(_parse_component(word) for word in words if word)


def _parse_component(word: str) -> _Part:
    atoms = tuple(_parse_atom(found) for found in _ATOMS.findall(word))
    return atoms if atoms and atoms[0][0] == _NUMBER else (_ZERO, *atoms)


def _parse_atom(text: str) -> _Atom:
    if text.isdigit():
        return (_NUMBER, int(text), "")
    ranks = {"dev": 0, "post": 3}
    return (ranks.get(text, 1), 0, text)
