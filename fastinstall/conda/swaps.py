"""Sentences about conda replacing the stack: before it does, with the cause, and after it has. Pure.

From what a solver has decided, or what lies in an environment, to words for a person. It judges no solver: that a
package is the cause is told where it requires Pillow or was asked for by name, and otherwise that nothing was found.
"""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaChange, CondaPackage
from fastinstall.model.conda_packages import GUARD, bounds_of, is_ours, name_of
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
        prefix: the environment.
        name: the stack, for people ("Pillow-SIMD 12.1.1.post0").
        packaged: it was set up as a conda package.
        core: its imaging core.
        records: the packages in conda's records that provide PIL.
    """

    prefix: PurePath
    name: str
    packaged: bool
    core: CoreStatus
    records: tuple[CondaPackage, ...] = ()

    @property
    def repair(self) -> str:
        """The one command that puts it back; it works wherever conda does."""
        return f"conda fastinstall doctor --fix --prefix {quote(self.prefix)}"


def foresee_conda_changes(change: CondaChange, requested: tuple[str, ...], standing: StackStatus) -> tuple[str, ...]:
    """What conda is about to do to the stack.

    Args:
        change: what its solver has decided.
        requested: the specs that were asked for, to come or to go.
        standing: of the environment, before.

    Returns:
        A sentence, then how to avoid it; nothing where the stack stays.
    """
    coming = next((each for each in change.linked if each.name in PROVIDERS), None)
    going = next((each for each in change.unlinked if each.name in PROVIDERS), None)
    if coming is not None and not is_ours(coming):
        told = f"will be replaced with {_name_package(coming)}, {_explain_cause(coming, change, requested)}"
        return (f"{standing.name} in {standing.prefix} {told}", _explain_prevention(coming, requested, standing))
    if coming is None and going is not None:
        told = f"will be removed, {_explain_removal(going, requested)}"
        return (f"{standing.name} in {standing.prefix} {told}", f"to have it back later: {standing.repair}")
    return _describe_loosened_guard(change, standing)


def describe_conda_changes(standing: StackStatus, command: str = "") -> tuple[str, ...]:
    """What conda has done to the stack.

    Args:
        standing: of the environment, after.
        command: of conda's that did it ("install"); empty if it is not known.

    Returns:
        A sentence, then the command that repairs it; nothing where the stack is in place, or another build of ours.
    """
    other = next((each for each in standing.records if not is_ours(each)), None)
    if standing.core is CoreStatus.INTACT or (other is None and standing.records and standing.core is CoreStatus.OTHER):
        return ()
    told = "was removed" if standing.core is CoreStatus.GONE else "was replaced"
    if other is not None:
        told = f"was replaced with {_name_package(other)}"
    by = f" by conda {command.replace('_', ' ')}" if command else ""
    return (f"{standing.name} in {standing.prefix} {told}{by}", standing.repair)


def _describe_loosened_guard(change: CondaChange, standing: StackStatus) -> tuple[str, ...]:
    """The guard package goes, or the Python does that the stack was built for."""
    coming, going = ({each.name: each for each in side} for side in (change.linked, change.unlinked))
    if GUARD in going and GUARD not in coming:
        told = f"{GUARD} will be removed from {standing.prefix}: from then on conda may replace {standing.name} unasked"
        return (told, f"a pin does the same: conda fastinstall guard install --pin --prefix {quote(standing.prefix)}")
    pythons = _find_python_change(change)
    if pythons:
        told = f"will be left behind: it was built for {pythons[0]}, which becomes {pythons[1]}"
        return (f"{standing.name} in {standing.prefix} {told}", f"afterwards: {standing.repair}")
    return ()


def _explain_cause(coming: CondaPackage, change: CondaChange, requested: tuple[str, ...]) -> str:
    asked = [spec for spec in requested if name_of(spec) == coming.name]
    if asked:
        return f"because {asked[0]!r} was asked for"
    if pythons := _find_python_change(change):
        return f"because {pythons[0]} becomes {pythons[1]}"
    names = {name_of(spec) for spec in requested}
    found = [(each, spec) for each in change.linked for spec in each.depends if name_of(spec) == coming.name]
    found.sort(key=lambda pair: (not bounds_of(pair[1]), pair[0].name not in names))
    if not found:
        return f"although {_describe_nobody(requested)} requires it: the solver took it along"
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"because of {listing(_describe_dependant(*pair) for pair in found[:_SHOWN])}{more}"


def _describe_nobody(requested: tuple[str, ...]) -> str:
    return f"nothing in {' '.join(requested)!r}" if requested else "nothing"


def _describe_dependant(package: CondaPackage, spec: str) -> str:
    return f"{package.name} {package.version}, which requires {' '.join((name_of(spec), bounds_of(spec))).strip()}"


def _explain_removal(going: CondaPackage, requested: tuple[str, ...]) -> str:
    asked = [spec for spec in requested if name_of(spec) == going.name]
    if asked:
        return f"because the removal of {asked[0]!r} was asked for"
    return f"because of {' '.join(requested)!r}" if requested else "although nobody asked for it"


def _explain_prevention(coming: CondaPackage, requested: tuple[str, ...], standing: StackStatus) -> str:
    if any(name_of(spec) == coming.name for spec in requested):
        return "to keep it, answer no"
    prefix = quote(standing.prefix)
    if standing.packaged:
        return f"to keep it, answer no, and pin it: conda fastinstall guard install --pin --prefix {prefix}"
    return f"to keep it, answer no, and make a conda package of it: conda fastinstall setup --prefix {prefix}"


def _find_python_change(change: CondaChange) -> tuple[str, str] | None:
    """What Python is and what it becomes, where that is another minor version: ("Python 3.11", "Python 3.12")."""
    coming, going = (
        next((each.version for each in side if each.name == "python"), "") for side in (change.linked, change.unlinked)
    )
    if not coming or not going or _shorten_to_minor(coming) == _shorten_to_minor(going):
        return None
    return f"Python {_shorten_to_minor(going)}", f"Python {_shorten_to_minor(coming)}"


def _shorten_to_minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _name_package(package: CondaPackage) -> str:
    origin = f" of {package.channel}" if package.channel else ""
    return f"{package.name} {package.version} ({package.build}{origin})"
