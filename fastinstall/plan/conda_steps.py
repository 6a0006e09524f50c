"""The part of a plan that concerns a conda environment. Pure.

- What the solver is asked before there can be a plan.
- Which packages are installed, what else changes with them, and what is not needed.
- What the installed packages require of Pillow's version, and which libraries are conda's own.
- Who installs: an engine for conda packages, or fastinstall's own installation of a wheel ("pip").
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath

from fastinstall.conda.changes import apply_conda_change, explain_change, find_change_risks
from fastinstall.conda.reinstall import list_packages_to_reinstall
from fastinstall.core.errors import FastinstallError, RefusedError, UsageError
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.model.conda import Conda, CondaChange, CondaInstaller, CondaPackage, CondaRequest
from fastinstall.model.conda_packages import (
    CHANNEL,
    GUARD,
    PINS,
    TURBO,
    all_dependants,
    conda_dependants,
    find_replaced_packages,
    is_ours,
    is_pinned,
    name_of,
    pin_line,
    plan_guard_package,
    plan_stack_package,
    providers,
    refuse_contrary_pins,
)
from fastinstall.model.facts import Facts
from fastinstall.model.request import EnvironmentKind, LinkMode, PlanRisk, Request
from fastinstall.observe.installed_pins import HOLDS_BACK, NAME, is_of_pixi
from fastinstall.plan.conda_advice import (
    advise_on_conda,
    choose_library_channels,
    explain_untouched_libraries,
    list_missing_packages,
    refuse_foreign_jpeg,
    use_environment_libraries,
    warn_about_wheel,
)
from fastinstall.plan.decision import decide_build, make_build_step
from fastinstall.plan.native_libraries import make_extra_command
from fastinstall.plan.plan import Plan, Situation, Skipped
from fastinstall.plan.risks import refuse_if_protected
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.kinds import Step
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.steps.pin import Pin

_NO_GUARD = "--no-guard: without the guard package a solver may replace the stack at the next change"
_WITH_GUARD = "to notice when pip, uv or another tool replaces it; conda itself is held off by the guard package"


@immutable
class CondaPart:
    """What a plan has more in a conda environment; all of it empty otherwise.

    Attributes:
        first: steps before the build, which needs what they bring.
        before_swap: steps between the proof and the swap.
        after_swap: steps between the guard and the verification.
        records: conda packages that make room.
        entries: top-level names in site-packages that are theirs.
        skipped: what is not needed.
        hazards: what a solver would change.
        warnings: what is advised against.
        note: what is put behind the plan's summary.
        guard: why the start-up guard is installed; empty if the usual reason does.
    """

    first: tuple[Step, ...] = ()
    before_swap: tuple[Step, ...] = ()
    after_swap: tuple[Step, ...] = ()
    records: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    hazards: tuple[PlanRisk, ...] = ()
    warnings: tuple[str, ...] = ()
    note: str = ""
    guard: str = ""


def plan_conda_part(situation: Situation, build: Build) -> CondaPart:
    """What a plan has more, for what is built.

    Raises:
        RefusedError: no engine, a pin that keeps another build, or no word from a solver that had to be asked.
    """
    facts = situation.facts
    conda = facts.conda
    if not is_conda(facts) or conda is None:
        return CondaPart()
    engine = choose_engine_for_plan(situation)
    if engine is CondaInstaller.PIP:
        return _plan_wheel_part(situation)
    replaced = find_replaced_packages(conda, situation.recipe)
    change = _plan_other_changes(situation, engine)
    make = _plan_packages(situation, build, engine)
    linked = build.link is LinkMode.ENV
    return CondaPart(
        first=change if linked else (),
        before_swap=(make,) if linked else (*change, make),
        after_swap=_plan_pin(situation, make),
        records=tuple(package.dist for package in replaced),
        entries=_list_leaving_entries(situation, conda, replaced),
        skipped=_explain_skipped_steps(situation, make, changing=bool(change)),
        hazards=find_change_risks(_find_other_changes(situation)),
        warnings=advise_on_conda(facts, situation.recipe, build.link),
        note=f" as the conda package {_name_package(make.package)}",
        guard=_WITH_GUARD,
    )


def explain_missing_guard(situation: Situation) -> str:
    """Why no guard is installed, where that is wished."""
    return _NO_GUARD if is_conda(situation.facts) else "--no-guard"


def _plan_wheel_part(situation: Situation) -> CondaPart:
    facts, recipe, link = situation.facts, situation.recipe, situation.wish.link
    why = Skipped(step="make-conda-packages", reason="--engine pip: the wheel goes straight into site-packages")
    told = (warn_about_wheel(facts, recipe), *advise_on_conda(facts, recipe, link))
    return CondaPart(skipped=(why,), warnings=told, note=" as a wheel, which conda does not know of")


def _find_other_changes(situation: Situation) -> CondaChange:
    """What a solver would change, less what is ours or makes room for it."""
    change = situation.preview or CondaChange()
    return change.without(frozenset({*providers(situation.recipe), GUARD}))


def _plan_other_changes(situation: Situation, engine: CondaInstaller) -> tuple[ChangeCondaPackages, ...]:
    missing = list_missing_packages(situation.facts, situation.recipe, situation.wish)
    if missing and situation.preview is None:
        raise RefusedError(
            f"{listing(missing)} would have to be installed, and no solver was asked what else would change",
            hint="make the plan again: fastinstall plan",
        )
    others = _find_other_changes(situation)
    if not others.linked and not others.unlinked:
        return ()
    why = f"--link env needs {listing(missing)}" if missing else "the solver has it so, for the stack to fit in"
    return (ChangeCondaPackages(engine=engine, change=others, reason=explain_change(others, why)),)


def _plan_packages(situation: Situation, build: Build, engine: CondaInstaller) -> MakeCondaPackages:
    package, guard = plan_stack_packages(_predict_situation(situation), build)
    kept = f"{guard.name} has its solver keep it" if guard else "its solver may replace it, as no guard is wished"
    where = "inside it" if build.link is LinkMode.BUNDLE else "the environment's, and it depends on them"
    return MakeCondaPackages(
        engine=engine,
        package=package,
        guard=guard,
        channel=PurePath(situation.facts.environment.prefix) / CHANNEL,
        reason=f"conda then knows of it, as {_name_package(package)}, and {kept}; the libraries are {where}",
    )


def _predict_situation(situation: Situation) -> Situation:
    """The situation once the other packages are changed: the stack depends on what is there then."""
    facts = situation.facts
    if facts.conda is None:
        return situation
    packages = apply_conda_change(facts.conda, _find_other_changes(situation))
    return replace(situation, facts=replace(facts, conda=replace(facts.conda, packages=packages)))


def _list_leaving_entries(situation: Situation, conda: Conda, replaced: tuple[CondaPackage, ...]) -> tuple[str, ...]:
    """Top-level names in site-packages of the packages that make room."""
    prefix, site = situation.facts.environment.prefix, situation.facts.interpreter.site_packages
    leaving = {package.dist for package in replaced}
    files = (prefix / path for claim in conda.claims if claim.dist in leaving for path in claim.files)
    names = {path.relative_to(site).parts[0] for path in files if path.is_relative_to(site)}
    return tuple(sorted(names - {"__pycache__"}))


def _plan_pin(situation: Situation, make: MakeCondaPackages) -> tuple[Pin, ...]:
    if not situation.wish.pin or _explain_missing_pin(situation, make):
        return ()
    why = f"--pin: solvers that read pins keep the stack, with or without its guard package; {HOLDS_BACK}"
    return (Pin(file=PINS, line=pin_line(make.package), reason=why),)


def _explain_missing_pin(situation: Situation, make: MakeCondaPackages) -> str:
    """Explain why a requested pin is not made, or return "" if it is."""
    conda, prefix = situation.facts.conda, situation.facts.environment.prefix
    if is_of_pixi(prefix):
        return f"pixi made the environment, and reads no {PINS}: the pin belongs into pixi.toml"
    return f"{PINS} keeps it already" if conda is not None and is_pinned(conda, make.package) else ""


def _explain_skipped_steps(situation: Situation, make: MakeCondaPackages, *, changing: bool) -> tuple[Skipped, ...]:
    libraries = explain_untouched_libraries(situation.facts, situation.wish.link)
    unpinned = _explain_missing_pin(situation, make)
    return (
        *(() if changing else (Skipped(step="change-conda-packages", reason=libraries),)),
        *((Skipped(step="pin", reason=unpinned),) if situation.wish.pin and unpinned else ()),
    )


def _name_package(package: CondaPackage) -> str:
    return f"{package.name} {package.version} {package.build}"


def make_conda_request(situation: Situation) -> CondaRequest | None:
    """What to ask: whether our packages fit in, and what else would change with them.

    Channels are named only where something else is needed; without any the answer comes from what is installed, at
    once and without a network.

    Returns:
        None if no conda package is made, or if what is put back was there before.

    Raises:
        FastinstallError: as the planner says, which decides what is built from the same situation.
    """
    facts, recipe, request = situation.facts, situation.recipe, situation.wish
    refuse_if_protected(facts)
    refuse_unsuited_engine(facts, request)
    if not is_conda(facts) or choose_engine_for_plan(situation) is CondaInstaller.PIP:
        return None
    specs = list_missing_packages(facts, recipe, request)
    if situation.restoring and not specs:
        return None
    ours = plan_stack_packages(situation, make_build_step(decide_build(merge_conda_dependants(situation))))
    return CondaRequest(
        prefix=facts.environment.prefix,
        ours=tuple(package for package in ours if package is not None),
        specs=specs,
        channels=choose_library_channels(facts, request) if specs else (),
        offline=request.offline,
    )


def plan_stack_packages(situation: Situation, build: Build) -> tuple[CondaPackage, CondaPackage | None]:
    """The packages that are made of a build: the stack, and its guard where that is wished.

    Raises:
        RefusedError: a pin of the environment keeps another build.
    """
    facts = situation.facts
    stack = plan_stack_package(
        build,
        facts,
        situation.microarchitectures,
        number=_choose_build_number(situation, build),
        libraries=situation.recipe.libraries,
    )
    refuse_contrary_pins(facts, stack, situation.wish)
    guard = (
        plan_guard_package(stack, facts.environment.prefix, _list_kept_packages(situation))
        if situation.wish.guard
        else None
    )
    return stack, guard


def _list_kept_packages(situation: Situation) -> tuple[str, ...]:
    """Installed packages that the Pillow which makes room depends on, or that an earlier guard kept."""
    conda, receipt = situation.facts.conda, situation.receipt
    if conda is None:
        return ()
    earlier = list(find_replaced_packages(conda, situation.recipe))
    if receipt is not None and receipt.conda is not None and receipt.conda.guard is not None:
        earlier.append(receipt.conda.guard)
    wanted = {name_of(spec) for package in earlier for spec in package.depends}
    installed = {package.name for package in conda.packages}
    return tuple(sorted((wanted & installed) - {"python", "python_abi", *providers(situation.recipe)}))


def _choose_build_number(situation: Situation, build: Build) -> int:
    """What is put back keeps its number; what comes in place of ours of the same version has the next one."""
    receipt, conda = situation.receipt, situation.facts.conda
    if situation.restoring and receipt is not None and receipt.conda is not None:
        return _parse_build_number(receipt.conda.package)
    version = build.version.partition("+")[0]
    earlier = find_replaced_packages(conda, situation.recipe) if conda is not None else ()
    same = (each for each in earlier if is_ours(each) and (each.name, each.version) == (build.distribution, version))
    return max((_parse_build_number(each) + 1 for each in same), default=0)


def _parse_build_number(package: CondaPackage) -> int:
    """The number at the end of a build string of ours; 0 where there is none."""
    number = package.build.rpartition("_")[2]
    return int(number) if number.isdigit() else 0


def merge_conda_dependants(situation: Situation) -> Situation:
    """The situation with conda's dependants among the others, and the libraries of the environment where they count.

    Raises:
        RefusedError: no engine is there, or the environment's libjpeg is not libjpeg-turbo's and would be linked.
    """
    facts, recipe, request = situation.facts, situation.recipe, situation.wish
    if not is_conda(facts) or facts.conda is None:
        return situation
    engine = choose_engine_for_plan(situation)
    asking = all_dependants(facts.stack.dependants, conda_dependants(facts.conda, providers(recipe)))
    seen = replace(facts, stack=replace(facts.stack, dependants=asking))
    if request.link is LinkMode.ENV:
        refuse_foreign_jpeg(seen)
        seen = use_environment_libraries(seen, recipe, _list_coming_packages(situation, engine))
    return replace(situation, facts=seen)


def _list_coming_packages(situation: Situation, engine: CondaInstaller) -> tuple[str, ...]:
    """What an engine brings; our own way with a wheel brings nothing."""
    if engine is CondaInstaller.PIP:
        return ()
    return list_missing_packages(situation.facts, situation.recipe, situation.wish)


_CONDA = "put conda on the PATH, or name it: CONDA_EXE=/path/to/conda"
_WHEEL = "--engine pip puts the wheel straight into site-packages, where conda does not know of it"


def choose_conda_engine(request: Request, facts: Facts) -> CondaInstaller:
    """Who installs there: never "auto", and "pip" for what is no conda environment.

    Args:
        request: may name one.
        facts: say whether a conda executable was found, and whether py-rattler is installed beside fastinstall.

    Raises:
        RefusedError: the one that is named is not there, or none is.
    """
    if not is_conda(facts) or request.engine is CondaInstaller.PIP:
        return CondaInstaller.PIP
    there = list_available_engines(facts)
    if request.engine is CondaInstaller.AUTO and there:
        return there[0]
    if request.engine not in there:
        raise _make_lacking_engine_error(request.engine, facts)
    return request.engine


def choose_engine_for_plan(situation: Situation) -> CondaInstaller:
    """Who carries a plan out; what is put back comes by the engine of the receipt, or by any that is left.

    Raises:
        RefusedError: the one that is named is not there, or none is.
    """
    receipt, facts, request = situation.receipt, situation.facts, situation.wish
    if not situation.restoring or receipt is None or not is_conda(facts):
        return choose_conda_engine(request, facts)
    if receipt.engine is CondaInstaller.PIP:
        return CondaInstaller.PIP
    there = list_available_engines(facts)
    if not there:
        raise _make_lacking_engine_error(CondaInstaller.AUTO, facts)
    return receipt.engine if receipt.engine in there else there[0]


def refuse_unsuited_engine(facts: Facts, request: Request) -> None:
    """Raise if a wish speaks of conda and the environment, or the way that is wished for, has no use for it.

    Raises:
        UsageError: an engine for conda packages, and no conda environment.
        RefusedError: a pin where there is no conda package, and no wheel named pillow, that it could hold; a wheel
            where conda is marked as the only one that installs.
    """
    prefix = facts.environment.prefix
    if is_conda(facts):
        marker = facts.interpreter.externally_managed
        if marker is not None and request.engine is CondaInstaller.PIP:
            raise RefusedError(
                f"--engine pip: {prefix} is marked as managed by conda alone ({marker}, PEP 668)",
                hint="make conda packages, which conda knows of: --engine auto",
            )
        if request.pin and request.engine is CondaInstaller.PIP:
            raise RefusedError(
                f"--pin: with --engine pip there is no conda package in {prefix} that a pin could hold",
                hint="leave one of them out: --engine auto makes conda packages, which can be pinned",
            )
        return
    if request.engine in {CondaInstaller.CONDA, CondaInstaller.RATTLER}:
        raise UsageError(
            f"--engine {request.engine}: {prefix} is no conda environment",
            hint=f"leave it out, or name a conda environment: --prefix DIR --engine {request.engine}",
        )
    if request.pin and request.dist_name != NAME:
        raise RefusedError(
            f"--pin: others require {NAME}, so a constraint on {request.dist_name} holds nothing in {prefix}",
            hint=f"leave one of them out, or name it {NAME}: --dist-name {NAME} --pin",
        )


def is_conda(facts: Facts) -> bool:
    """Whether the environment is one of conda's."""
    return facts.environment.kind is EnvironmentKind.CONDA


def list_available_engines(facts: Facts) -> tuple[CondaInstaller, ...]:
    """The engines that are there, the preferred one first."""
    conda = facts.conda is not None and facts.conda.tool is not None
    rattler = facts.toolchain is not None and facts.toolchain.rattler
    return (*((CondaInstaller.CONDA,) if conda else ()), *((CondaInstaller.RATTLER,) if rattler else ()))


def _make_lacking_engine_error(engine: CondaInstaller, facts: Facts) -> FastinstallError:
    extra = make_extra_command(facts)
    if engine is CondaInstaller.CONDA:
        return RefusedError("--engine conda: no conda executable was found", hint=f"{_CONDA}; or --engine auto")
    if engine is CondaInstaller.RATTLER:
        return RefusedError("--engine rattler: py-rattler is not installed beside fastinstall", hint=extra)
    return RefusedError(
        f"{facts.environment.prefix} is a conda environment, and there is neither conda nor py-rattler to work on it",
        hint=f"install py-rattler: {extra}; or {_CONDA}; or {_WHEEL}",
    )


def add_reinstallations(plan: Plan, conda: Conda) -> Plan:
    """The plan of a repair, with what has to be installed again for libraries and headers to be whole.

    Left as it is where there is nothing to do, or no engine at work that could: then `doctor` goes on telling it.
    """
    packages = list_packages_to_reinstall(conda)
    making = next((step for step in plan.steps if isinstance(step, MakeCondaPackages)), None)
    if not packages or making is None:
        return plan
    planned = [
        package
        for step in plan.steps
        if isinstance(step, ChangeCondaPackages)
        for package in _list_touched_packages(step)
    ]
    again = [package for package in packages if package.name not in {each.name for each in planned}]
    first = [package for package in again if package.name != TURBO]
    last = [package for package in again if package.name == TURBO]
    changes = [_make_reinstallation(making, tuple(each)) for each in (first, last) if each]
    skipped = tuple(each for each in plan.skipped if each.step != "change-conda-packages" or not changes)
    return replace(plan, steps=tuple(_insert_changes(plan.steps, changes)), skipped=skipped)


def _list_touched_packages(step: ChangeCondaPackages) -> tuple[CondaPackage, ...]:
    return (*step.change.linked, *step.change.unlinked)


def _make_reinstallation(making: MakeCondaPackages, packages: tuple[CondaPackage, ...]) -> ChangeCondaPackages:
    """A step of its own, because within one transaction the order is the engine's, and the last one has the files."""
    names = listing(package.name for package in packages)
    last = ", last of all, so that its headers win" if packages[-1].name == TURBO else ""
    return ChangeCondaPackages(
        engine=making.engine,
        change=CondaChange(linked=packages, unlinked=packages),
        reason=f"files of {names} were taken or lost: installed again{last}",
    )


def _insert_changes(steps: Iterable[Step], changes: Iterable[ChangeCondaPackages]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, MakeCondaPackages):
            yield from changes
        yield step
