"""What a solver is asked before there can be a plan. Pure."""

from fastinstall.model.conda import CondaPackage, CondaRequest, Engine
from fastinstall.model.steps import Build
from fastinstall.rules.build_step import build_step
from fastinstall.rules.conda_engine import is_conda, planned_engine, refuse_unsuited_engine
from fastinstall.rules.conda_libraries import channels_for, missing_packages
from fastinstall.rules.conda_names import providers, replaced_packages
from fastinstall.rules.conda_pins import refuse_contrary_pins
from fastinstall.rules.conda_specs import name_of
from fastinstall.rules.conda_stack import is_ours, planned_guard, planned_stack
from fastinstall.rules.conda_view import as_conda_has_it
from fastinstall.rules.decision import decide
from fastinstall.rules.protection import refuse_if_protected
from fastinstall.rules.situation import Situation


def conda_request(situation: Situation) -> CondaRequest | None:
    """What to ask: whether our packages fit in, and what else would change with them.

    Channels are named only where something else is needed; without any the answer comes from what is installed, at
    once and without a network.

    Returns:
        None where no conda package is made, or where what is put back was there before.

    Raises:
        FastinstallError: as the planner says, which decides what is built from the same situation.
    """
    facts, recipe, wish = situation.facts, situation.recipe, situation.wish
    refuse_if_protected(facts)
    refuse_unsuited_engine(facts, wish)
    if not is_conda(facts) or planned_engine(situation) is Engine.PIP:
        return None
    specs = missing_packages(facts, recipe, wish)
    if situation.restoring and not specs:
        return None
    ours = stack_packages(situation, build_step(decide(as_conda_has_it(situation))))
    return CondaRequest(
        prefix=facts.environment.prefix,
        ours=tuple(package for package in ours if package is not None),
        specs=specs,
        channels=channels_for(facts, wish) if specs else (),
        offline=wish.offline,
    )


def stack_packages(situation: Situation, build: Build) -> tuple[CondaPackage, CondaPackage | None]:
    """The packages that are made of a build: the stack, and its guard where that is wished.

    Raises:
        RefusedError: a pin of the environment keeps another build.
    """
    facts = situation.facts
    stack = planned_stack(
        build,
        facts,
        situation.microarchitectures,
        number=_number(situation, build),
        libraries=situation.recipe.libraries,
    )
    refuse_contrary_pins(facts, stack, situation.wish)
    guard = planned_guard(stack, facts.environment.prefix, _kept(situation)) if situation.wish.guard else None
    return stack, guard


def _kept(situation: Situation) -> tuple[str, ...]:
    """Installed packages that the Pillow which makes room depends on, or that an earlier guard kept."""
    conda, receipt = situation.facts.conda, situation.receipt
    if conda is None:
        return ()
    earlier = list(replaced_packages(conda, situation.recipe))
    if receipt is not None and receipt.conda is not None and receipt.conda.guard is not None:
        earlier.append(receipt.conda.guard)
    wanted = {name_of(spec) for package in earlier for spec in package.depends}
    installed = {package.name for package in conda.packages}
    return tuple(sorted((wanted & installed) - {"python", "python_abi", *providers(situation.recipe)}))


def _number(situation: Situation, build: Build) -> int:
    """What is put back keeps its number; what comes in place of ours of the same version has the next one."""
    receipt, conda = situation.receipt, situation.facts.conda
    if situation.restoring and receipt is not None and receipt.conda is not None:
        return _number_in(receipt.conda.package)
    version = build.version.partition("+")[0]
    earlier = replaced_packages(conda, situation.recipe) if conda is not None else ()
    same = (each for each in earlier if is_ours(each) and (each.name, each.version) == (build.distribution, version))
    return max((_number_in(each) + 1 for each in same), default=0)


def _number_in(package: CondaPackage) -> int:
    """The number at the end of a build string of ours; 0 where there is none."""
    number = package.build.rpartition("_")[2]
    return int(number) if number.isdigit() else 0
