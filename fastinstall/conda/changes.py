"""Have an engine change packages of a live conda environment so that it can be undone, whatever becomes of the engine.

What is removed and overwritten is known before: from the records in `conda-meta`, and from the engine, which tells what
a package brings. The journal copies the former and announces the latter. Changes beside the stack are described in
words, with their risks.

A downgrade is recognised by conda's ordering of versions. Source: conda's documentation of package match
specifications: numbers before the rest of a component, "dev" before every other word, "post" after every number, and
what is missing counts as 0.
"""

import re
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Started, ignore
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.index.execution import CondaEngine
from fastinstall.journal import conda_records
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
    external = describe_external_change(change, engine, prefix)
    gone, come = ({package.record for package in side} for side in (change.unlinked, change.linked))
    expected = frozenset(conda_records.names(prefix)) - gone | come
    emit(Started(stage="conda", message=f"{engine.description}: {_describe_change(change)}"))
    transaction.run_external_change(external, lambda: engine.change(prefix, change))
    found = frozenset(conda_records.names(prefix))
    if found != expected:
        lacking = (f"missing: {name.removesuffix('.json')}" for name in sorted(expected - found))
        strange = (f"present but not planned: {name.removesuffix('.json')}" for name in sorted(found - expected))
        raise FailedError(
            f"{prefix}: the engine did something other than planned",
            hint=f"to see what it would do: fastinstall plan --prefix {quote(prefix)}",
            details=(*lacking, *strange),
        )


def describe_external_change(change: CondaChange, engine: CondaEngine, prefix: Path) -> ExternalChange:
    """What a change takes away, overwrites and brings.

    Raises:
        FailedError: a package that goes is not installed, or its record cannot be read.
    """
    names = tuple(conda_records.names(prefix))
    # The Python that is there in the end.
    pythons = [each.version for each in change.linked if each.name == "python"]
    pythons += [name.rsplit("-", 2)[1] for name in names if conda_records.package(name) == "python"]
    python = ".".join(pythons[0].split(".")[:2]) if pythons else ""
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
    # conda parks a file that is about to go under such a name; scripts of packages leave words for the user.
    temporary = (*(f"{path}.c~" for path in going), ".messages.txt")
    return ExternalChange(copies=(*going, *sharing), appearing=(*coming, *temporary), own_places=_CHANGE_REASONS)


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
    """What happens, each package once."""
    coming, going = ({package.dist for package in packages} for packages in (change.linked, change.unlinked))
    parts = (("reinstalling", coming & going), ("installing", coming - going), ("removing", going - coming))
    return "; ".join(f"{word} {', '.join(sorted(dists))}" for word, dists in parts if dists)


_PROTECTED = (
    *("python", "pypy*", "python_abi"),
    *("pytorch*", "libtorch*", "torch", "torchvision*", "torchaudio*", "torchtriton"),
    *("cuda*", "cudatoolkit*", "cudnn*", "nccl*", "nvidia-*", "libnv*", "libnpp*", "cutensor*", "libcutensor*"),
    *("libcublas*", "libcuda*", "libcudnn*", "libcudss*", "libcufft*", "libcufile*", "libcupti*"),
    *("libcurand*", "libcusolver*", "libcusparse*"),
)
"""Python itself, torch, and CUDA."""


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
        if before is None:
            return f"{self.name}: added: {after.version if after else ''}"
        if after is None:
            return f"{self.name}: removed: {before.version}"
        if before.dist == after.dist:
            return f"{self.name}: {before.version}, reinstalled"
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
    older = [
        each for each in changes if each.before and each.after and is_older(each.after.version, each.before.version)
    ]
    gone = [each for each in changes if each.after is None and each not in protected]
    found = (
        (Risk.PROTECTED_PACKAGES, "the solver would change packages that all others depend on", protected),
        (Risk.DOWNGRADE, "the solver would install older versions", older),
        (Risk.FORCE_REMOVE, "the solver would remove packages without replacement", gone),
    )
    return tuple(
        PlanRisk(
            risk=risk,
            summary=f"{what}: {listing((each.name for each in which), _NAMED)}",
            items=tuple(each.words for each in which),
        )
        for risk, what, which in found
        if which
    )


def is_protected(name: str) -> bool:
    """Whether a package is Python itself, torch or one of CUDA's."""
    return any(fnmatchcase(name, pattern) for pattern in _PROTECTED)


def explain_change(change: CondaChange, why: str) -> str:
    """A sentence: why, and what is lost by it."""
    going = [each.name for each in list_package_changes(change) if each.after is None]
    verb = "is removed without replacement" if len(going) == 1 else "are removed without replacement"
    return f"{why}; {listing(going, _NAMED)} {verb}" if going else why


def apply_conda_change(conda: Conda, change: CondaChange) -> tuple[CondaPackage, ...]:
    """The packages that are there afterwards."""
    touched = {package.name for package in (*change.unlinked, *change.linked)}
    return (*(package for package in conda.packages if package.name not in touched), *change.linked)


def is_older(version: str, than: str) -> bool:
    """Whether conda would sort a version before another; versions that it would not take are compared all the same."""
    for left, right in zip(_split_version(version), _split_version(than), strict=True):
        for pair in zip_longest(left, right, fillvalue=[_ZERO]):
            for atom, opposite in zip_longest(*pair, fillvalue=_ZERO):
                if atom != opposite:
                    return atom < opposite
    return False


_ZERO = (2, 0, "")  # what is missing counts as 0; words come before numbers


def _split_version(version: str) -> list[list[list[tuple[int, int, str]]]]:
    """Epoch, version and local version, each as its components, and these as their numbers and words."""
    epoch, mark, rest = version.strip().lower().partition("!")
    public, _, local = (rest if mark else epoch).partition("+")
    return [[_split_component(word) for word in _list_words(text)] for text in (epoch if mark else "0", public, local)]


def _list_words(text: str) -> list[str]:
    words = re.split(r"[._-]", text.rstrip("_"))
    return [word for word in (*words[:-1], words[-1] + "_" * text.endswith("_")) if word]


def _split_component(word: str) -> list[tuple[int, int, str]]:
    atoms = [
        (2, int(atom), "") if atom.isdigit() else ({"dev": 0, "post": 3}.get(atom, 1), 0, atom)
        for atom in re.findall(r"\d+|[^\d.]+", word)
    ]
    return atoms if atoms[0][0] == _ZERO[0] else [_ZERO, *atoms]
