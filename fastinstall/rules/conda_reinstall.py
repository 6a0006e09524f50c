"""A repair also gives other packages back the files that were taken from them, in the right order. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fastinstall.model.conda import Conda, CondaChange, CondaPackage
from fastinstall.model.plan import ChangeCondaPackages, MakeCondaPackages, Plan, Step
from fastinstall.rules.conda_repair import clobbered_to_reinstall
from fastinstall.rules.messages import listing


def with_reinstalls(plan: Plan, conda: Conda) -> Plan:
    """The plan of a repair, with what has to be installed again for libraries and headers to be whole.

    Left as it is where there is nothing to do, or no engine at work that could: then `doctor` goes on telling it.
    """
    packages = clobbered_to_reinstall(conda)
    making = next((step for step in plan.steps if isinstance(step, MakeCondaPackages)), None)
    if not packages or making is None:
        return plan
    planned = next((step for step in plan.steps if isinstance(step, ChangeCondaPackages)), None)
    step = _change(making, planned, packages)
    steps = (each for each in plan.steps if not isinstance(each, ChangeCondaPackages))
    skipped = tuple(each for each in plan.skipped if each.step != "change-conda-packages")
    return replace(plan, steps=tuple(_with(steps, step)), skipped=skipped)


def _change(
    making: MakeCondaPackages, planned: ChangeCondaPackages | None, packages: tuple[CondaPackage, ...]
) -> ChangeCondaPackages:
    change = planned.change if planned is not None else CondaChange()
    touched = {package.name for package in (*change.linked, *change.unlinked)}
    again = tuple(package for package in packages if package.name not in touched)
    names = listing(package.name for package in packages)
    reason = f"{names} lost files to others, and get them back; libjpeg-turbo last, so that its headers win"
    return ChangeCondaPackages(
        engine=making.engine,
        change=CondaChange(linked=(*change.linked, *again), unlinked=(*change.unlinked, *again)),
        reason=f"{planned.reason}; {reason}" if planned is not None else reason,
    )


def _with(steps: Iterable[Step], change: ChangeCondaPackages) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, MakeCondaPackages):
            yield change
        yield step
