"""What an engine would change in an environment beside the stack: in words, and its risks. Pure."""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from fastinstall.model.conda import Conda, CondaChange, CondaPackage
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Hazard
from fastinstall.model.wish import Risk
from fastinstall.rules.conda_order import is_older
from fastinstall.rules.messages import listing

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


def package_changes(change: CondaChange) -> tuple[PackageChange, ...]:
    """What becomes of each package, by name."""
    gone = {package.name: package for package in change.unlinked}
    come = {package.name: package for package in change.linked}
    return tuple(
        PackageChange(name=name, before=gone.get(name), after=come.get(name)) for name in sorted({*gone, *come})
    )


def change_hazards(change: CondaChange) -> tuple[Hazard, ...]:
    """The named risks of a change: packages that much depends on, any that become older, and any that just go."""
    changes = package_changes(change)
    protected = [each for each in changes if is_protected(each.name)]
    older = [each for each in changes if each.before and each.after and _is_downgrade(each.before, each.after)]
    gone = [each for each in changes if each.after is None and each not in protected]
    found = (
        _hazard(Risk.PROTECTED_PACKAGES, "the solver would change what everything else depends on", protected),
        _hazard(Risk.DOWNGRADE, "the solver would put older versions in place", older),
        _hazard(Risk.FORCE_REMOVE, "the solver would remove packages, and nothing takes their place", gone),
    )
    return tuple(hazard for hazard in found if hazard is not None)


def is_protected(name: str) -> bool:
    """Whether a package is Python itself, torch or one of CUDA's."""
    return any(fnmatchcase(name, pattern) for pattern in _PROTECTED)


def change_reason(change: CondaChange, why: str) -> str:
    """A sentence: why, and what is lost by it."""
    going = [each.name for each in package_changes(change) if each.after is None]
    verb = "goes, and nothing takes its place" if len(going) == 1 else "go, and nothing takes their place"
    return f"{why}; {_shortened(going)} {verb}" if going else why


def changed_environment(conda: Conda, change: CondaChange) -> tuple[CondaPackage, ...]:
    """The packages that are there afterwards."""
    touched = {package.name for package in (*change.unlinked, *change.linked)}
    return (*(package for package in conda.packages if package.name not in touched), *change.linked)


def _is_downgrade(before: CondaPackage, after: CondaPackage) -> bool:
    return is_older(after.version, before.version)


def _hazard(risk: Risk, what: str, changes: Collection[PackageChange]) -> Hazard | None:
    if not changes:
        return None
    names = _shortened(each.name for each in changes)
    return Hazard(risk=risk, summary=f"{what}: {names}", items=tuple(each.words for each in changes))


def _shortened(words: Iterable[str]) -> str:
    all_of_them = list(words)
    more = len(all_of_them) - _NAMED
    return listing([*all_of_them[:_NAMED], f"{more} more"]) if more > 0 else listing(all_of_them)
