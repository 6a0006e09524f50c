"""Write warnings that conda will replace the stack, with the cause, or that conda has replaced the stack. Pure.

Warnings are derived from a solver's decision or from the state of an environment. A package is named as the cause if it
requires Pillow; whether the solver had other choices is not examined.
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
    """The state of the imaging core that a setup installed."""

    INTACT = "intact"
    OTHER = "other"
    GONE = "gone"


@immutable
class StackStatus:
    """The state of an installed stack, from a quick check.

    Attributes:
        prefix: the environment.
        name: the stack's name and version, for messages ("Pillow-SIMD 12.1.1.post0").
        packaged: whether the stack was set up as a conda package.
        guarded: whether the guard package is installed.
        core: the state of the stack's imaging core.
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
        """The shell command that restores the stack; as a subcommand of conda, it needs only conda on PATH."""
        return f"conda fastinstall doctor --fix --prefix {quote(self.prefix)}"


def foresee_conda_changes(change: CondaChange, status: StackStatus) -> tuple[str, ...]:
    """Return a warning about the effects of conda's planned change on the stack.

    Args:
        change: the solver's decision.
        status: the stack's state before the change.

    Returns:
        A sentence, and advice on how to avoid or repair the effect; empty if the stack is not affected.
    """
    coming = next((each for each in change.linked if each.name in PROVIDERS), None)
    going = next((each for each in change.unlinked if each.name in PROVIDERS), None)
    stack, (before, after) = f"{status.name} in {status.prefix}", _find_pythons(change)
    pin = f"conda fastinstall guard install --pin --prefix {quote(status.prefix)}"
    if coming is not None and not is_our_package(coming):
        package = f"make a conda package of it: conda fastinstall setup --prefix {quote(status.prefix)}"
        told = f"{stack} will be replaced with {_name_package(coming)}{_explain_cause(coming, change, before, after)}"
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


def _explain_cause(coming: CondaPackage, change: CondaChange, before: str, after: str) -> str:
    if before != after:
        return f", because Python {before} becomes Python {after}"
    found = [(each, spec) for each in change.linked for spec in each.depends if name_of_spec(spec) == coming.name]
    found.sort(key=lambda pair: not bounds_of(pair[1]))
    causes = [f"{each.name} {each.version}, which requires {spec}" for each, spec in found]
    return f", because of {listing(causes, _SHOWN)}" if causes else ""


def _find_pythons(change: CondaChange) -> tuple[str, str]:
    """Return Python's minor versions before and after a change; two empty texts if Python is not changed."""
    sides = [[each.version for each in side if each.name == "python"] for side in (change.unlinked, change.linked)]
    if not all(sides):
        return "", ""
    before, after = (".".join(versions[0].split(".")[:2]) for versions in sides)
    return before, after


def explain_failed_solve(status: StackStatus) -> tuple[str, str]:
    """Explain that the guard package may be the reason why a solver found no solution.

    Args:
        status: the state of a stack with the guard package.

    Returns:
        A sentence, and advice on how to install another Pillow.
    """
    reason = (
        f"conda ended without a solution. The package {GUARD} in {status.prefix} allows no Pillow but the fast build"
    )
    undo = f"conda fastinstall rollback --yes --prefix {quote(status.prefix)}"
    return reason, f"if your command needs another Pillow, undo the setup first: {undo}"


def describe_conda_changes(status: StackStatus, command: str = "") -> tuple[str, ...]:
    """Return a warning that conda has replaced or removed the stack.

    Args:
        status: the stack's state after conda's command.
        command: conda's command ("install"); empty if unknown.

    Returns:
        A sentence, and the command that repairs the stack; empty if the stack, or another build made by
        fastinstall, is in place.
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
