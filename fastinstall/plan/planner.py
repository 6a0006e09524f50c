"""Turn facts, a recipe, a request and the offered releases into a plan. Pure: a dry run is this plan, not executed.

Also plans the pin of the project that makes the environment, or warns about it.
"""

from collections.abc import Sequence
from dataclasses import replace

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, pin_command, quote
from fastinstall.doctor.registry import verifying_checks
from fastinstall.guard.pinning import find_pip_pin, wants_pip_pin
from fastinstall.model.facts import Facts, Project
from fastinstall.model.request import PlanRisk
from fastinstall.observe.installed_pins import HOLDS_BACK, NAME
from fastinstall.observe.pip_pins import CONFIGURATION, DIRECTORY, insertion, requirement_of
from fastinstall.plan import conda_steps, risks
from fastinstall.plan.decision import BuildDecision, decide_build, make_build_step
from fastinstall.plan.plan import Plan, Skipped, compute_facts_digest
from fastinstall.plan.protection import refuse_if_protected
from fastinstall.plan.satisfied import plan_nothing
from fastinstall.plan.situation import Situation
from fastinstall.steps.build import Build
from fastinstall.steps.install_guard import InstallGuard
from fastinstall.steps.kinds import Step
from fastinstall.steps.pin_for_pip import PinForPip
from fastinstall.steps.prove import Prove
from fastinstall.steps.swap import Swap
from fastinstall.steps.verify import Verify


def plan_build_step(situation: Situation) -> Build:
    """Return only the build step of a plan for a situation.

    Raises:
        FastinstallError: as `make_plan` says.
    """
    refuse_if_protected(situation.facts)
    conda_steps.refuse_unsuited_engine(situation.facts, situation.request)
    return make_build_step(decide_build(conda_steps.merge_conda_dependants(situation)))


def make_plan(situation: Situation) -> Plan:
    """Decide every step, with its reason.

    Raises:
        RefusedError: the target is protected, no version or level fits, or something is missing that
            this request does not allow to install.
        UsageError: an unknown level, version or library, or an engine for conda packages without conda.
    """
    refuse_if_protected(situation.facts)
    conda_steps.refuse_unsuited_engine(situation.facts, situation.request)
    decision = decide_build(conda_steps.merge_conda_dependants(situation))
    build = make_build_step(decision)
    facts, recipe, request, receipt = situation.facts, situation.recipe, situation.request, situation.receipt
    if request.upgrade and receipt is not None and _public(receipt.version) == _public(build.version):
        kept = replace(request, upgrade=False)  # nothing later than the installed version
        latest = plan_nothing(facts, recipe, kept, receipt)
        if latest is not None:
            return latest
    conda = conda_steps.plan_conda_part(situation, build)
    there, unguarded = Skipped(step="create-environment", reason=f"{facts.environment.prefix} exists"), "--no-guard"
    if conda_steps.is_conda(facts):
        unguarded = "--no-guard: without the guard package a solver may replace the stack at the next change"
    noticing = conda.guard or "to notice when pip, uv or another tool replaces it"
    unneeded = Skipped(step="system-packages", reason="compiler and headers are present or not needed")
    parts: tuple[Step | Skipped, ...] = (
        situation.create or there,
        *conda.first,
        *(decision.native.steps or (unneeded,)),
        build,
        _plan_proof(decision),
        *conda.before_swap,
        _plan_swap(situation, build, conda),
        InstallGuard(reason=noticing) if request.guard else Skipped(step="install-guard", reason=unguarded),
        *conda.after_swap,
        *_plan_pip_pin(situation, build),
        Verify(
            checks=verifying_checks(),
            reason="run doctor's checks on the result; an error undoes the setup",
        ),
    )
    steps = tuple(part for part in parts if not isinstance(part, Skipped))
    return Plan(
        environment=facts.environment,
        facts_digest=compute_facts_digest(facts),
        request=request,
        steps=steps,
        skipped=tuple(part for part in parts if isinstance(part, Skipped)),
        risks=(*_collect_risks(decision), *risks.mark_allowed_risks(conda.risks, request.allow)),
        warnings=(
            *_list_warnings(decision, steps),
            *conda.warnings,
            *warn_about_project(situation.project, situation.facts),
        ),
        summary=_summarise(decision, build) + conda.note,
    )


def _list_warnings(decision: BuildDecision, steps: Sequence[Step]) -> tuple[str, ...]:
    recipe, version = decision.situation.recipe, decision.choice.version
    # Files of which the index gives only the names.
    files = (each for step in steps for each in step.list_artefacts() if not each.url.startswith("file:"))
    names = listing(dict.fromkeys(each.filename for each in files if not each.sha256))
    unknown = f"the index gives no SHA-256 for {names}, so a changed file would go unnoticed"
    return (
        *risks.explain_installed_vulnerability(recipe, decision.situation.facts.stack, version),
        *risks.describe_version_advisories(recipe, version),
        *((unknown,) if names else ()),
    )


def _public(version: str) -> str:
    return version.partition("+")[0]


def _summarise(decision: BuildDecision, build: Build) -> str:
    recipe, choice = decision.situation.recipe, decision.choice
    made = f"from {recipe.source.pypi} {choice.version}"
    if choice.prebuilt or build.cached:
        made = "already built" if choice.prebuilt else "from the cache"
    where = decision.situation.facts.environment.prefix
    if decision.situation.restoring:
        return f"Put {build.distribution} {build.version} back in {where}, {made} for {listing(build.levels)}"
    return f"{build.distribution} {build.version} {made} for {listing(build.levels)} into {where}"


def _plan_proof(decision: BuildDecision) -> Prove:
    situation = decision.situation
    in_place = situation.facts.stack.core is not None and situation.facts.stack.has_init
    return Prove(
        reference=decision.choice.base_wheel,
        baseline=None if in_place else next(iter(situation.releases.wheels), None),
        timed=not situation.restoring and not situation.facts.cpu.is_emulated,
        reason="run real operations in a subprocess and check their results before the environment changes",
    )


def _plan_swap(situation: Situation, build: Build, conda: conda_steps.CondaPart) -> Swap:
    stack = situation.facts.stack
    entries = {entry for owner in stack.owners for entry in owner.entries} | {*stack.debris, *conda.entries}
    if stack.directory is not None:
        entries.add(situation.recipe.package)
    what = [
        f"{each.name} {each.version}"
        for each in (owner.distribution for owner in stack.owners)
        # a conda package is named by its record only
        if each.installer != "conda" or not any(dist.startswith(f"{each.name}-") for dist in conda.records)
    ]
    what += [f"conda's {dist}" for dist in conda.records]
    return Swap(
        removes=tuple(owner.distribution.metadata for owner in stack.owners),
        entries=tuple(sorted(entries)),
        installs=f"{build.distribution.replace('-', '_')}-{build.version}.dist-info",
        records=conda.records,
        reason=f"replaces {' and '.join(what)}; moved aside, not deleted" if what else "PIL is not installed yet",
    )


def _collect_risks(decision: BuildDecision) -> tuple[PlanRisk, ...]:
    """Return all risks; what is restored was already accepted at its setup."""
    situation = decision.situation
    facts = situation.facts
    again = list(risks.find_version_risks(situation.recipe, facts.stack, decision.choice.version, facts.interpreter))
    again += [decision.levels.plan_risk] if decision.levels.plan_risk else []
    known = [plan_risk.risk for plan_risk in again] if situation.restoring else []
    found = (*again, *((decision.native.plan_risk,) if decision.native.plan_risk else ()))
    return risks.mark_allowed_risks(found, (*situation.request.allow, *known))


def warn_about_project(project: Project | None, facts: Facts) -> tuple[str, ...]:
    """Warn that the project that makes the environment undoes the setup when it installs."""
    if project is None or any(pin.kind == project.manager for pin in facts.pins):
        return ()
    warning = (
        f"{project.directory} is a {project.manager} project: `{project.sync}` reinstalls the Pillow of its lock file; "
        f"once this is set up, pin it there: {pin_command(project.directory, facts.environment.prefix)}"
    )
    return (warning,)


def _plan_pip_pin(situation: Situation, build: Build) -> tuple[PinForPip | Skipped, ...]:
    """Return the pin for pip, or why none is needed; nothing if none is requested.

    Raises:
        RefusedError: there is a pin, and it cannot hold a build of this name.
    """
    if not wants_pip_pin(situation.facts, situation.request):
        return ()
    prefix, links = situation.facts.environment.prefix, situation.links
    if build.distribution != NAME:
        raise RefusedError(
            f"{prefix} has a pin on {NAME}, and a pin on {build.distribution} has no effect",
            hint=f"remove the pin first: fastinstall guard remove --prefix {quote(prefix)}",
        )
    there = find_pip_pin(situation.facts)
    if keeps_pip_pin(situation) and there is not None:
        return (Skipped(step="pin", reason=f"{there.file} already pins {there.requirement}"),)
    why = "--pin" if situation.request.pin else f"replaces the pin on {there.requirement if there else 'another'}"
    repeated = f"; it repeats pip's own find-links ({' '.join(links)})" if links else ""
    pin = PinForPip(
        file=CONFIGURATION,
        directory=DIRECTORY,
        requirement=requirement_of(build.distribution, build.version),
        text=insertion(b"", prefix, links).text,
        links=links,
        reason=f"{why}: pip in this environment, and uv in a shell that has read environment.sh, keep this build; "
        f"{HOLDS_BACK}{repeated}",
    )
    return (pin,)


def keeps_pip_pin(situation: Situation) -> bool:
    """Tell whether the existing pin stays, because its own build is restored."""
    there = find_pip_pin(situation.facts)
    return situation.restoring and there is not None and not there.problems
