"""Turn facts, a recipe, a request and the offered releases into a plan. Pure: a dry run is this plan, not executed.

Also plans the pin for pip, and warns if the project that manages the environment would undo the setup.
"""

from dataclasses import replace

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, pin_command, quote
from fastinstall.core.version_numbers import public_version
from fastinstall.doctor.checks.pillow_importable import warn_about_shadows
from fastinstall.doctor.registry import verifying_checks
from fastinstall.guard.pinning import find_pip_pin, wants_pip_pin
from fastinstall.model.facts import Facts
from fastinstall.model.guards import Project
from fastinstall.model.request import PlanRisk, Risk
from fastinstall.observe.installed_pins import HOLDS_BACK, NAME
from fastinstall.observe.pip_pins import CONFIGURATION, DIRECTORY, insertion, requirement_of
from fastinstall.observe.toolchain import DRIVEN_MANAGERS
from fastinstall.setup.decide import risks
from fastinstall.setup.decide.build import BuildDecision, decide_build, make_build_step
from fastinstall.setup.decide.conda import (
    add_conda_steps,
    is_conda,
    list_replaced,
    merge_conda_dependants,
    refuse_unsuited_engine,
)
from fastinstall.setup.decide.nothing_to_do import plan_nothing
from fastinstall.setup.decide.protection import refuse_if_protected
from fastinstall.setup.plan import Plan, Situation, Skipped, WheelPlan, compute_facts_digest
from fastinstall.setup.steps import SetupStep
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.pin import PinForPip
from fastinstall.setup.steps.prepare import CondaToolchain, SystemPackages
from fastinstall.setup.steps.prove import Prove, Verify
from fastinstall.setup.steps.swap import InstallGuard, Swap


def decide(situation: Situation) -> BuildDecision:
    """Decide what to build, and from what, for an environment that a setup may change.

    Raises:
        RefusedError: the target is protected, or no version or level fits.
        UsageError: an unknown level, version or library, or an engine for conda packages outside conda environments.
    """
    refuse_if_protected(situation.facts)
    refuse_unsuited_engine(situation.facts, situation.request)
    return decide_build(merge_conda_dependants(situation))


def plan_wheel(situation: Situation, decision: BuildDecision) -> WheelPlan:
    """Plan a build that makes a wheel and installs nothing.

    Raises:
        RefusedError: the compiler is too old for a level.
    """
    build = make_build_step(decision)
    return WheelPlan(
        request=situation.request,
        interpreter=situation.facts.interpreter,
        prepare=decision.native.steps,
        build=build,
        risks=_collect_risks(decision),
        warnings=_list_build_warnings(decision, build),
    )


def make_plan(situation: Situation, decision: BuildDecision) -> Plan:
    """Plan every step of a setup, with its reason.

    Args:
        situation: all inputs of the plan.
        decision: the result of `decide` and `complete_build` for this situation.

    Raises:
        RefusedError: the compiler is too old for a level, or a pin or a package of the environment forbids the build.
    """
    build = make_build_step(decision)
    facts, recipe, request, receipt = situation.facts, situation.recipe, situation.request, situation.receipt
    if request.upgrade and receipt is not None and public_version(receipt.version) == public_version(build.version):
        kept = replace(request, upgrade=False)  # the installed version is the newest, so there is nothing to upgrade
        latest = plan_nothing(facts, recipe, kept, receipt)
        if latest is not None:
            return latest
    skipped = list[Skipped]()
    if situation.create is None:
        skipped.append(Skipped(step="create-environment", reason=f"{facts.environment.prefix} exists"))
    if not decision.native.steps:
        unneeded = "compiler and headers are present or not needed"
        skipped.append(Skipped(step="system-packages", reason=unneeded))
    guard = InstallGuard(reason="to notice when pip, uv or another tool replaces it")
    if not request.guard:
        risk = ": without the guard package a solver may replace the stack at the next change"
        skipped.append(Skipped(step="install-guard", reason=f"--no-guard{risk if is_conda(facts) else ''}"))
    pin = _plan_pip_pin(situation, build)
    if isinstance(pin, Skipped):
        skipped.append(pin)
    in_place = facts.stack.core is not None and facts.stack.has_init
    prove = Prove(
        reference=decision.choice.base_wheel,
        baseline=None if in_place else next(iter(situation.releases.wheels), None),
        timed=not situation.restoring and not facts.cpu.is_emulated,
        reason="run real operations in a subprocess and check their results before the environment changes",
    )
    checkouts = (
        f"{owner.distribution.name} {owner.distribution.version} is an editable installation of {owner.checkout}: "
        "programs will no longer import that directory; nothing in it is changed"
        for owner in facts.stack.owners
        if owner.checkout is not None
    )
    plan = Plan(
        environment=facts.environment,
        facts_digest=compute_facts_digest(facts),
        request=request,
        create=situation.create,
        prepare=decision.native.steps,
        build=build,
        prove=prove,
        swap=_plan_swap(situation, build),
        guard=guard if request.guard else None,
        pin=None if isinstance(pin, Skipped) else pin,
        verify=Verify(checks=verifying_checks(), reason="run doctor's checks on the result; an error undoes the setup"),
        skipped=tuple(skipped),
        risks=_collect_risks(decision),
        warnings=(*warn_about_shadows(facts), *checkouts, *_list_build_warnings(decision, build, prove)),
        summary=_summarise(decision, build),
    )
    plan = add_conda_steps(plan, situation, build)
    return replace(plan, warnings=(*plan.warnings, *warn_about_project(situation.project, facts)))


def _list_build_warnings(decision: BuildDecision, build: Build, *others: SetupStep) -> tuple[str, ...]:
    recipe, version = decision.situation.recipe, decision.choice.version
    steps = (*decision.native.steps, build, *others)
    # Warn about files for which the index gives no hash.
    files = (each for step in steps for each in step.list_artefacts() if not each.url.startswith("file:"))
    names = listing(dict.fromkeys(each.filename for each in files if not each.sha256))
    unknown = f"the index gives no SHA-256 for {names}, so a changed file would go unnoticed"
    return (
        *risks.explain_installed_vulnerability(recipe, decision.situation.facts.stack, version),
        *risks.describe_version_advisories(recipe, version),
        *risks.describe_pixel_changes(recipe, decision.situation.facts.stack, version),
        *((unknown,) if names else ()),
        *_warn_about_kernels(decision, build),
        *_warn_about_system_packages(decision),
    )


def _warn_about_kernels(decision: BuildDecision, build: Build) -> tuple[str, ...]:
    """Return a warning that names the kernels left out because the compiler is not clang; empty if none are."""
    toolchain = decision.situation.facts.toolchain
    is_fetched = any(isinstance(step, SystemPackages | CondaToolchain) for step in decision.native.steps)
    compiler = toolchain.compiler if toolchain is not None and not is_fetched else None
    if build.prebuilt is not None or build.clang is not None or (compiler is not None and "clang" in compiler.version):
        return ()
    kernels = decision.situation.recipe.kernels
    names = listing(each.name for each in kernels if each.clang_only and each.name not in build.left_out)
    program = compiler.command[0] if compiler is not None else "gcc"
    remedy = "; --toolchain clang builds them" if build.base_wheel is not None else ""
    warning = f"built without the kernels {names}: {program} makes them no faster than Pillow's own code{remedy}"
    return (warning,) if names else ()


def _warn_about_system_packages(decision: BuildDecision) -> tuple[str, ...]:
    """Return a warning if --with-system-deps has no effect although compiler or headers are missing; else empty."""
    steps, request = decision.native.steps, decision.situation.request
    toolchain = decision.situation.facts.toolchain
    if not request.with_system_deps or toolchain is None or not steps or isinstance(steps[0], SystemPackages):
        return ()
    manager = toolchain.package_manager
    reason = "the compiler of conda packages brings its own headers"
    if not toolchain.may_install:
        reason = (
            "only root may install system packages" if manager in DRIVEN_MANAGERS else "this system has no apt or dnf"
        )
    return (f"--with-system-deps has no effect: {reason}",)


def _summarise(decision: BuildDecision, build: Build) -> str:
    recipe, choice = decision.situation.recipe, decision.choice
    made = f"from {recipe.source.pypi} {choice.version}"
    if choice.prebuilt or build.cached:
        made = "already built" if choice.prebuilt else "from the cache"
    where = decision.situation.facts.environment.prefix
    if decision.situation.restoring:
        return f"Put {build.distribution} {build.version} back in {where}, {made} for {listing(build.levels)}"
    return f"{build.distribution} {build.version} {made} for {listing(build.levels)} into {where}"


def _plan_swap(situation: Situation, build: Build) -> Swap:
    stack, (records, of_packages) = situation.facts.stack, list_replaced(situation)
    entries = {entry for owner in stack.owners for entry in owner.entries} | {*stack.debris, *of_packages}
    if stack.directory is not None:
        entries.add(situation.recipe.package)
    what = [
        f"{each.name} {each.version}"
        for each in (owner.distribution for owner in stack.owners)
        # if conda installed the distribution, the list below names its conda record instead
        if each.installer != "conda" or not any(dist.startswith(f"{each.name}-") for dist in records)
    ]
    what += [f"conda's {dist}" for dist in records]
    return Swap(
        removes=tuple(owner.distribution.metadata for owner in stack.owners),
        entries=tuple(sorted(entries)),
        installs=f"{build.distribution.replace('-', '_')}-{build.version}.dist-info",
        records=records,
        reason=f"replaces {' and '.join(what)}; moved aside, not deleted" if what else "PIL is not installed yet",
    )


def _collect_risks(decision: BuildDecision) -> tuple[PlanRisk, ...]:
    """Return all risks of a build. In a repair, the risks of the restored version and its levels count as allowed."""
    situation = decision.situation
    facts = situation.facts
    again = list(risks.find_version_risks(situation.recipe, facts.stack, decision.choice.version, facts.interpreter))
    again += [decision.levels.plan_risk] if decision.levels.plan_risk else []
    known = [plan_risk.risk for plan_risk in again] if situation.restoring else []
    losing = None if situation.restoring else _find_feature_loss(decision)
    found = (*again, *filter(None, (decision.native.plan_risk, losing)))
    return risks.mark_allowed_risks(found, (*situation.request.allow, *known))


def _find_feature_loss(decision: BuildDecision) -> PlanRisk | None:
    """Return the risk of losing libraries that no official wheel has, like libimagequant; None if none is lost."""
    facts, recipe = decision.situation.facts, decision.situation.recipe
    if facts.runtime is None or decision.choice.base_wheel is None:
        return None
    coming = {recipe.libraries[name].feature for name in decision.native.enabled}
    features = (each.feature for each in recipe.libraries.values() if not each.in_wheels and each.feature not in coming)
    lost = tuple(feature.lower() for feature in features if feature.lower() in facts.runtime.features)
    if not lost:
        return None
    summary = f"the build lacks {listing(lost)}, which the installed Pillow has"
    return PlanRisk(risk=Risk.FEATURE_LOSS, summary=summary, items=lost)


def warn_about_project(project: Project | None, facts: Facts) -> tuple[str, ...]:
    """Return a warning if the project that manages the environment would undo the setup; empty if it would not."""
    if project is None or any(pin.kind == project.manager for pin in facts.pins):
        return ()
    warning = (
        f"{project.directory} is a {project.manager} project: `{project.sync}` reinstalls the Pillow of its lock file; "
        f"once this is set up, pin it there: {pin_command(project.directory, facts.environment.prefix)}"
    )
    return (warning,)


def _plan_pip_pin(situation: Situation, build: Build) -> PinForPip | Skipped | None:
    """Return the step that pins the build for pip; `Skipped` if an existing pin remains; None if no pin is wanted.

    Raises:
        RefusedError: the environment has a pin on pillow, and the build has another distribution name.
    """
    if not wants_pip_pin(situation.facts, situation.request):
        return None
    prefix, links = situation.facts.environment.prefix, situation.links
    if build.distribution != NAME:
        raise RefusedError(
            f"{prefix} has a pin on {NAME}, and a pin on {build.distribution} has no effect",
            hint=f"remove the pin first: fastinstall guard remove --prefix {quote(prefix)}",
        )
    there = find_pip_pin(situation.facts)
    if keeps_pip_pin(situation) and there is not None:
        return Skipped(step="pin", reason=f"{there.file} already pins {there.requirement}")
    why = "--pin" if situation.request.pin else f"replaces the pin on {there.requirement if there else 'another'}"
    repeated = f"; it repeats pip's own find-links ({' '.join(links)})" if links else ""
    return PinForPip(
        file=CONFIGURATION,
        directory=DIRECTORY,
        requirement=requirement_of(build.distribution, build.version),
        text=insertion(b"", prefix, links)[0],
        links=links,
        reason=f"{why}: pip in this environment, and uv in a shell that has read environment.sh, keep this build; "
        f"{HOLDS_BACK}{repeated}",
    )


def keeps_pip_pin(situation: Situation) -> bool:
    """Return whether an existing pin remains: it is intact, and the build that it pins is the one being restored."""
    there = find_pip_pin(situation.facts)
    return situation.restoring and there is not None and not there.problems
