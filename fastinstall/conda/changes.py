"""Describe a change of conda packages, find its risks, and compute the packages that are installed after it. Pure."""

from fnmatch import fnmatchcase

from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.model.conda import Conda, CondaChange, CondaPackage
from fastinstall.model.request import PlanRisk, Risk

_PROTECTED = (
    *("python", "pypy*", "python_abi"),
    *("pytorch*", "libtorch*", "torch", "torchvision*", "torchaudio*", "torchtriton"),
    *("cuda*", "cudatoolkit*", "cudnn*", "nccl*", "nvidia-*", "libnv*", "libnpp*", "cutensor*", "libcutensor*"),
    *("libcublas*", "libcuda*", "libcudnn*", "libcudss*", "libcufft*", "libcufile*", "libcupti*"),
    *("libcurand*", "libcusolver*", "libcusparse*"),
)
"""Name patterns of packages that many others depend on: Python itself, torch, and CUDA."""


_NAMED = 5


@immutable
class PackageChange:
    """The change of one package.

    Attributes:
        before: the package that is installed before the change, or None if there is none.
        after: the package that is installed after the change, or None if there is none.
    """

    name: str
    before: CondaPackage | None
    after: CondaPackage | None

    @property
    def words(self) -> str:
        """The change as text for people: "libtiff: 4.5.1 -> 4.7.2"."""
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

    @property
    def is_older(self) -> bool:
        """Whether the version after the change is older, or cannot be compared by Python's rules ("9e")."""
        if self.before is None or self.after is None or self.before.version == self.after.version:
            return False
        try:
            return parse_version_number(self.after.version) < parse_version_number(self.before.version)
        except ValueError:
            return True


def list_package_changes(change: CondaChange) -> tuple[PackageChange, ...]:
    """List the change of each package, sorted by name."""
    gone = {package.name: package for package in change.unlinked}
    come = {package.name: package for package in change.linked}
    return tuple(
        PackageChange(name=name, before=gone.get(name), after=come.get(name)) for name in sorted({*gone, *come})
    )


def find_change_risks(change: CondaChange) -> tuple[PlanRisk, ...]:
    """Return the risks of a change: it changes protected packages, installs older versions, or removes packages."""
    changes = list_package_changes(change)
    protected = [each for each in changes if is_protected(each.name)]
    older = [each for each in changes if each.is_older]
    gone = [each for each in changes if each.after is None and each not in protected]
    found = (
        (Risk.PROTECTED_PACKAGES, "the solver would change packages that all others depend on", protected),
        (Risk.DOWNGRADE, "the solver would install older versions, or some that cannot be compared", older),
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
    """Return whether a package is Python itself, torch or part of CUDA."""
    return any(fnmatchcase(name, pattern) for pattern in _PROTECTED)


def explain_change(change: CondaChange, why: str) -> str:
    """Return a sentence with the reason for a change, and the packages that it removes without replacement."""
    going = [each.name for each in list_package_changes(change) if each.after is None]
    verb = "is removed without replacement" if len(going) == 1 else "are removed without replacement"
    return f"{why}; {listing(going, _NAMED)} {verb}" if going else why


def apply_conda_change(conda: Conda, change: CondaChange) -> tuple[CondaPackage, ...]:
    """Return the packages that are installed after a change."""
    touched = {package.name for package in (*change.unlinked, *change.linked)}
    return (*(package for package in conda.packages if package.name not in touched), *change.linked)
