"""Decide the part of a plan that concerns a conda environment. Pure.

This part consists of:

- The request to conda's solver, which is asked before a plan can be made.
- The packages to install, the other changes that they cause, and the steps to skip.
- The Pillow versions that installed packages require, and the libraries that conda provides.
- The engine: one that installs conda packages, or fastinstall's own installation of a wheel ("pip").
"""

from dataclasses import replace

from fastinstall.compilers.conda import make_extra_command
from fastinstall.conda.changes import apply_conda_change, explain_change, find_change_risks
from fastinstall.conda.reinstall import list_packages_to_reinstall
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import listing
from fastinstall.core.version_numbers import public_version
from fastinstall.model import conda_packages, dependants
from fastinstall.model.conda import Conda, CondaChange, CondaInstaller, CondaPackage, CondaRequest
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.installed_pins import HOLDS_BACK, NAME, is_of_pixi
from fastinstall.setup.decide import conda_advice
from fastinstall.setup.decide.risks import mark_allowed_risks
from fastinstall.setup.plan import Plan, Situation, Skipped
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.conda_packages import ChangeCondaPackages, MakeCondaPackages
from fastinstall.setup.steps.pin import Pin


def add_conda_steps(plan: Plan, situation: Situation, build: Build) -> Plan:
    """Add the steps, risks and warnings of a conda environment to a plan; elsewhere, return the plan unchanged.

    Raises:
        RefusedError: no engine is available, a pin requires another build, or the plan needs an answer from the solver,
            which was not asked.
    """
    facts, recipe, request, conda = situation.facts, situation.recipe, situation.request, situation.facts.conda
    if conda is None:
        return plan
    engine = choose_conda_engine(situation)
    advice = tuple(conda_advice.advise_on_conda(facts, conda, request.link))
    if engine is CondaInstaller.PIP:
        why = Skipped(step="make-conda-packages", reason="--engine pip: the wheel goes straight into site-packages")
        return replace(
            plan,
            skipped=(*plan.skipped, why),
            warnings=(*plan.warnings, conda_advice.warn_about_wheel(conda, recipe), *advice),
            summary=f"{plan.summary} as a wheel, which conda does not know of",
        )
    others = (situation.preview or CondaChange()).without(frozenset({*recipe.replaces, conda_packages.GUARD}))
    change = _plan_other_changes(situation, conda, engine, others)
    # The dependencies of the stack are computed from the packages as they are after the other changes.
    after = replace(conda, packages=apply_conda_change(conda, others))
    package, guard = plan_stack_packages(replace(situation, facts=replace(facts, conda=after)), after, build)
    name = f"{package.name} {package.version} {package.build}"
    kept = (
        f"{guard.name} makes its solver keep it" if guard else "its solver may replace it, as there is no guard package"
    )
    where = "inside it" if build.link is LinkMode.BUNDLE else "the environment's, as dependencies"
    make = MakeCondaPackages(
        engine=engine,
        package=package,
        guard=guard,
        channel=facts.environment.prefix / conda_packages.CHANNEL,
        reason=f"conda then knows of it as {name}, and {kept}; the libraries are {where}",
    )
    untouched = Skipped(step="change-conda-packages", reason=conda_advice.explain_untouched_libraries(request.link))
    pin = _plan_conda_pin(facts, conda, package) if request.pin else None
    skipped = (None if change else untouched, pin if isinstance(pin, Skipped) else None)
    noticed = "to notice when pip, uv or another tool replaces it; the guard package holds off conda itself"
    return replace(
        plan,
        change=change,
        package=make,
        guard=replace(plan.guard, reason=noticed) if plan.guard is not None else None,
        pin=pin if isinstance(pin, Pin) else None,
        skipped=(*plan.skipped, *filter(None, skipped)),
        risks=(*plan.risks, *mark_allowed_risks(find_change_risks(others), request.allow)),
        warnings=(*plan.warnings, *advice),
        summary=f"{plan.summary} as the conda package {name}",
    )


def list_replaced(situation: Situation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the conda packages that a setup replaces ("name-version-build"), and their entries in site-packages.

    Both are empty if the setup installs no conda packages.
    """
    facts, conda = situation.facts, situation.facts.conda
    if conda is None or choose_conda_engine(situation) is CondaInstaller.PIP:
        return (), ()
    records = tuple(each.dist for each in conda_packages.find_replaced_packages(conda, situation.recipe))
    prefix, site = facts.environment.prefix, facts.interpreter.site_packages
    files = (prefix / path for claim in conda.claims if claim.dist in records for path in claim.files)
    names = {path.relative_to(site).parts[0] for path in files if path.is_relative_to(site)}
    return records, tuple(names - {"__pycache__"})


def _plan_other_changes(
    situation: Situation, conda: Conda, engine: CondaInstaller, others: CondaChange
) -> tuple[ChangeCondaPackages, ...]:
    missing = conda_advice.list_missing_packages(conda, situation.recipe, situation.request)
    if missing and situation.preview is None:
        raise RefusedError(
            f"{listing(missing)} must be installed, and no solver was asked what else changes",
            hint="make the plan again: fastinstall plan",
        )
    if not others.linked and not others.unlinked:
        return ()
    why = f"--link env needs {listing(missing)}" if missing else "the solver requires it for the stack"
    return (ChangeCondaPackages(engine=engine, change=others, reason=explain_change(others, why)),)


def _plan_conda_pin(facts: Facts, conda: Conda, package: CondaPackage) -> Pin | Skipped:
    if is_of_pixi(facts.environment.prefix):
        why = f"pixi made the environment and does not read {dependants.PINS}: put the pin into pixi.toml"
        return Skipped(step="pin", reason=why)
    if dependants.is_pinned(conda, package):
        return Skipped(step="pin", reason=f"{dependants.PINS} already pins it")
    keeping = f"--pin: solvers that read pins keep the stack, with or without its guard package; {HOLDS_BACK}"
    return Pin(file=dependants.PINS, line=dependants.pin_line(package), reason=keeping)


def make_conda_request(situation: Situation, build: Build) -> CondaRequest | None:
    """Return a request that asks conda's solver whether our packages fit, and what else would change.

    Channels are named only if other packages must be installed. Without channels, the solver looks only at installed
    packages, and answers quickly and offline.

    Args:
        situation: the inputs of the plan, as known so far.
        build: the step that makes the wheel for the package.

    Returns:
        The request; None if no conda package is made, or if an earlier stack is restored and no package is missing.

    Raises:
        RefusedError: no engine is available, or a pin requires another build.
    """
    facts, recipe, request = situation.facts, situation.recipe, situation.request
    conda = facts.conda
    if conda is None or choose_conda_engine(situation) is CondaInstaller.PIP:
        return None
    specs = conda_advice.list_missing_packages(conda, recipe, request)
    if situation.restoring and not specs:
        return None
    ours = plan_stack_packages(situation, conda, build)
    return CondaRequest(
        prefix=facts.environment.prefix,
        ours=tuple(package for package in ours if package is not None),
        specs=specs,
        channels=conda_advice.choose_library_channels(facts, conda, request) if specs else (),
    )


def plan_stack_packages(situation: Situation, conda: Conda, build: Build) -> tuple[CondaPackage, CondaPackage | None]:
    """Return the packages made from a build: the stack package, and the guard package (None if not requested).

    Raises:
        RefusedError: a pin of the environment requires another build.
    """
    facts, recipe, request, receipt = situation.facts, situation.recipe, situation.request, situation.receipt
    replaced = conda_packages.find_replaced_packages(conda, recipe)
    before = receipt.conda if receipt is not None else None
    if situation.restoring and before is not None:  # a restored package keeps its build number
        number = _read_number(before.package)
    else:
        here = (build.distribution, public_version(build.version))
        same = (each for each in replaced if conda_packages.is_our_package(each) and (each.name, each.version) == here)
        number = max((_read_number(each) + 1 for each in same), default=0)
    stack = conda_packages.plan_stack_package(
        build, facts, situation.microarchitectures, number=number, libraries=recipe.libraries
    )
    dependants.refuse_contrary_pins(facts, stack, request)
    if not request.guard:
        return stack, None
    # The guard package takes over the dependencies of the replaced packages and of an earlier guard package.
    earlier = (*replaced, *((before.guard,) if before is not None and before.guard is not None else ()))
    wanted = {dependants.name_of_spec(spec) for package in earlier for spec in package.depends}
    keeps = sorted(
        wanted.intersection(each.name for each in conda.packages) - {"python", "python_abi", *recipe.replaces}
    )
    return stack, conda_packages.plan_guard_package(stack, facts.environment.prefix, tuple(keeps))


def _read_number(package: CondaPackage) -> int:
    """Return the build number at the end of our package's build string; 0 if it has none."""
    number = package.build.rpartition("_")[2]
    return int(number) if number.isdigit() else 0


def merge_conda_dependants(situation: Situation) -> Situation:
    """Add to a situation the conda packages that depend on Pillow and, for `--link env`, the libraries to link.

    Raises:
        RefusedError: no engine is available, or the build would link a libjpeg other than libjpeg-turbo.
    """
    facts, recipe, request = situation.facts, situation.recipe, situation.request
    conda = facts.conda
    if conda is None:
        return situation
    engine = choose_conda_engine(situation)
    asking = dependants.all_dependants(facts.stack.dependants, dependants.conda_dependants(conda, recipe.replaces))
    seen = replace(facts, stack=replace(facts.stack, dependants=asking))
    if request.link is LinkMode.ENV:
        conda_advice.refuse_foreign_jpeg(seen, conda)
        brings = engine is not CondaInstaller.PIP  # the installation of a wheel does not add missing conda packages
        coming = conda_advice.list_missing_packages(conda, recipe, request) if brings else ()
        seen = conda_advice.use_environment_libraries(seen, conda, recipe, coming)
    return replace(situation, facts=seen)


def choose_conda_engine(situation: Situation) -> CondaInstaller:
    """Return the engine that will install the stack; never "auto", and always "pip" outside conda environments.

    A restored build uses the engine that its receipt names. If that engine is no longer available, any available one is
    used.

    Raises:
        RefusedError: the requested engine is not available, or no engine is.
    """
    facts, receipt, requested = situation.facts, situation.receipt, situation.request.engine
    there = list_available_engines(facts)
    if situation.restoring and receipt is not None:
        left = (*there, CondaInstaller.PIP)
        requested = receipt.engine if receipt.engine in left else CondaInstaller.AUTO
    if not is_conda(facts) or requested is CondaInstaller.PIP:
        return CondaInstaller.PIP
    if requested in there or (requested is CondaInstaller.AUTO and there):
        return requested if requested in there else there[0]
    extra, conda = make_extra_command(facts), "put conda on PATH, or set CONDA_EXE=/path/to/conda"
    if requested is CondaInstaller.CONDA:
        raise RefusedError("--engine conda: no conda executable was found", hint=f"{conda}; or --engine auto")
    if requested is CondaInstaller.RATTLER:
        raise RefusedError("--engine rattler: py-rattler is not installed beside fastinstall", hint=extra)
    wheel = "--engine pip puts the wheel straight into site-packages, where conda does not know of it"
    raise RefusedError(
        f"{facts.environment.prefix} is a conda environment, and neither conda nor py-rattler was found",
        hint=f"install py-rattler: {extra}; or {conda}; or {wheel}",
    )


def refuse_unsuited_engine(facts: Facts, request: Request) -> None:
    """Raise if the requested engine or pin does not fit the environment.

    Raises:
        UsageError: an engine for conda packages is requested outside conda environments.
        RefusedError: a pin is requested, but neither a conda package nor a wheel named pillow would be installed; or a
            wheel is requested in an environment that only conda may change.
    """
    prefix, marker = facts.environment.prefix, facts.interpreter.externally_managed
    if is_conda(facts):
        if request.engine is CondaInstaller.PIP and marker is not None:
            raise RefusedError(
                f"--engine pip: {prefix} is marked as managed by conda alone ({marker}, PEP 668)",
                hint="make conda packages: --engine auto",
            )
        if request.engine is CondaInstaller.PIP and request.pin:
            raise RefusedError(
                f"--pin: with --engine pip there is no conda package in {prefix} to pin",
                hint="drop one of them: --engine auto makes conda packages, which can be pinned",
            )
    elif request.engine in {CondaInstaller.CONDA, CondaInstaller.RATTLER}:
        raise UsageError(
            f"--engine {request.engine}: {prefix} is not a conda environment",
            hint=f"drop it, or name a conda environment: --prefix DIR --engine {request.engine}",
        )
    elif request.pin and request.dist_name != NAME:
        raise RefusedError(
            f"--pin: packages require {NAME}, so a pin on {request.dist_name} has no effect in {prefix}",
            hint=f"drop one of them, or pass --dist-name {NAME} --pin",
        )


def is_conda(facts: Facts) -> bool:
    """Return whether the environment is a conda environment."""
    return facts.environment.kind is EnvironmentKind.CONDA


def list_available_engines(facts: Facts) -> tuple[CondaInstaller, ...]:
    """Return the available engines, the preferred one first."""
    found = []
    if facts.conda is not None and facts.conda.tool is not None:
        found.append(CondaInstaller.CONDA)
    if facts.toolchain is not None and facts.toolchain.rattler:
        found.append(CondaInstaller.RATTLER)
    return tuple(found)


def add_reinstallations(plan: Plan, conda: Conda) -> Plan:
    """Return a repair's plan with steps that reinstall conda packages whose libraries or headers are damaged.

    The plan is unchanged if no package is damaged, or if no conda engine is used; `doctor` then keeps reporting the
    damage. libjpeg-turbo gets a step of its own, after all others. The reason: if packages share a file, the package
    installed last provides it, and within a step the engine chooses the order.
    """
    if plan.package is None:
        return plan
    planned = {each.name for step in plan.change for each in (*step.change.linked, *step.change.unlinked)}
    again = [package for package in list_packages_to_reinstall(conda) if package.name not in planned]
    turbo = tuple(package for package in again if package.name == conda_packages.TURBO)
    others = tuple(package for package in again if package.name != conda_packages.TURBO)
    changes = list[ChangeCondaPackages]()
    for packages, order in ((others, ""), (turbo, " last, so that its headers remain")):
        if packages:
            names = listing(package.name for package in packages)
            reason = f"files of {names} were overwritten or lost: reinstalled{order}"
            change = CondaChange(linked=packages, unlinked=packages)
            changes.append(ChangeCondaPackages(engine=plan.package.engine, change=change, reason=reason))
    skipped = tuple(each for each in plan.skipped if each.step != "change-conda-packages" or not changes)
    return replace(plan, change=(*plan.change, *changes), skipped=skipped)
