"""Sentences about conda replacing the stack: before it does, with the cause, and after it has. Pure.

From what a solver has decided, or what lies in an environment, to words for a person. It judges no solver: a package
is told as the cause where it requires Pillow.
"""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaChange, CondaPackage
from fastinstall.model.conda_packages import GUARD, is_our_package
from fastinstall.model.dependants import bounds_of, name_of_spec
from fastinstall.model.recipe import PROVIDERS

_SHOWN = 3


class CoreStatus(StrEnum):
    """What became of the imaging core that a setup has put in place."""

    INTACT = "intact"
    OTHER = "other"
    GONE = "gone"


@immutable
class StackStatus:
    """How the stack of a setup stands, at a glance.

    Attributes:
        name: the stack, for people ("Pillow-SIMD 12.1.1.post0").
        packaged: it was set up as a conda package.
        guarded: the guard package is installed.
        core: what became of its imaging core.
        records: the packages in conda's records that provide PIL.
    """

    prefix: PurePath
    name: str
    packaged: bool
    guarded: bool = False
    core: CoreStatus
    records: tuple[CondaPackage, ...] = ()

    @property
    def repair(self) -> str:
        """The one command that puts it back; it works wherever conda does."""
        return f"conda fastinstall doctor --fix --prefix {quote(self.prefix)}"


def foresee_conda_changes(change: CondaChange, status: StackStatus) -> tuple[str, ...]:
    """Tell what conda is about to do to the stack.

    Args:
        change: what its solver has decided.
        status: of the environment, before.

    Returns:
        A sentence, then how to avoid it; nothing where the stack stays.
    """
    coming = next((each for each in change.linked if each.name in PROVIDERS), None)
    going = next((each for each in change.unlinked if each.name in PROVIDERS), None)
    stack, (before, after) = f"{status.name} in {status.prefix}", _find_pythons(change)
    pin = f"conda fastinstall guard install --pin --prefix {quote(status.prefix)}"
    if coming is not None and not is_our_package(coming):
        package = f"make a conda package of it: conda fastinstall setup --prefix {quote(status.prefix)}"
        told = f"{stack} will be replaced with {_name_package(coming)}{_explain_cause(coming, change)}"
        return told, f"to keep it, answer no, and {f'pin it: {pin}' if status.packaged else package}"
    if coming is None and going is not None:
        return f"{stack} will be removed", f"to get it back later: {status.repair}"
    if GUARD in {each.name for each in change.unlinked} - {each.name for each in change.linked}:
        told = f"{GUARD} will be removed from {status.prefix}: then conda may replace {status.name} silently"
        return told, f"a pin does the same: {pin}"
    if before == after:
        return ()
    told = f"will stop working: it was built for Python {before}, which becomes Python {after}"
    return f"{stack} {told}", f"afterwards: {status.repair}"


def _explain_cause(coming: CondaPackage, change: CondaChange) -> str:
    before, after = _find_pythons(change)
    if before != after:
        return f", because Python {before} becomes Python {after}"
    found = [(each, spec) for each in change.linked for spec in each.depends if name_of_spec(spec) == coming.name]
    found.sort(key=lambda pair: not bounds_of(pair[1]))
    causes = [f"{each.name} {each.version}, which requires {spec}" for each, spec in found]
    return f", because of {listing(causes, _SHOWN)}" if causes else ""


def _find_pythons(change: CondaChange) -> tuple[str, str]:
    """Return the minor versions of Python before and after; both empty if it stays."""
    sides = [[each.version for each in side if each.name == "python"] for side in (change.unlinked, change.linked)]
    if not all(sides):
        return "", ""
    before, after = (".".join(versions[0].split(".")[:2]) for versions in sides)
    return before, after


def explain_failed_solve(status: StackStatus) -> tuple[str, str]:
    """Say what the guard package may have to do with a solver that ended without a solution.

    Args:
        status: of the environment, which has the guard package.

    Returns:
        A sentence, then the way to another Pillow.
    """
    reason = (
        f"conda ended without a solution. The package {GUARD} in {status.prefix} allows no Pillow but the fast build"
    )
    undo = f"conda fastinstall rollback --yes --prefix {quote(status.prefix)}"
    return reason, f"if your command needs another Pillow, undo the setup first: {undo}"


def describe_conda_changes(status: StackStatus, command: str = "") -> tuple[str, ...]:
    """Tell what conda has done to the stack.

    Args:
        status: of the environment, after.
        command: of conda's that did it ("install"); empty if it is not known.

    Returns:
        A sentence, then the command that repairs it; nothing where the stack is in place, or another build of ours.
    """
    other = next((each for each in status.records if not is_our_package(each)), None)
    if status.core is CoreStatus.INTACT or (other is None and status.records and status.core is CoreStatus.OTHER):
        return ()
    told = "was removed" if status.core is CoreStatus.GONE else "was replaced"
    if other is not None:
        told = f"was replaced with {_name_package(other)}"
    by = f" by conda {command.replace('_', ' ')}" if command else ""
    return (f"{status.name} in {status.prefix} {told}{by}", status.repair)


def _name_package(package: CondaPackage) -> str:
    origin = f" of {package.channel}" if package.channel else ""
    return f"{package.name} {package.version} ({package.build}{origin})"
