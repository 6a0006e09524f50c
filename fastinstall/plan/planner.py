"""Facts, recipe, wish and what the index offers, to a plan. Pure: a dry run is this plan, not executed.

The part of a plan that is about the project which makes the environment: its pin, or a word of warning.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.doctor.registry import verifying_checks
from fastinstall.guard.pip_trap import find_pip_pin, wants_pip_pin
from fastinstall.model.facts import Facts, Owner, PinState, Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import PlanRisk, Request
from fastinstall.observe.installed_pins import HOLDS_BACK, NAME
from fastinstall.observe.pip_pins import CONFIGURATION, DIRECTORY, insertion, requirement_of
from fastinstall.plan.conda_steps import (
    CondaPart,
    explain_missing_guard,
    merge_conda_dependants,
    plan_conda_part,
    refuse_unsuited_engine,
)
from fastinstall.plan.decision import BuildDecision, decide_build, make_build_step
from fastinstall.plan.plan import Plan, Situation, Skipped, compute_facts_digest
from fastinstall.plan.risks import (
    describe_version_advisories,
    explain_installed_vulnerability,
    find_version_risks,
    mark_allowed_risks,
    refuse_if_protected,
)
from fastinstall.plan.satisfied import explain_needed_setup, plan_guard_alone
from fastinstall.plan.versions import VersionChoice
from fastinstall.steps.build import Build
from fastinstall.steps.install_guard import InstallGuard
from fastinstall.steps.kinds import Step
from fastinstall.steps.pin_for_pip import PinForPip
from fastinstall.steps.pin_project import PinProject
from fastinstall.steps.prove import Prove
from fastinstall.steps.swap import Swap
from fastinstall.steps.verify import Verify

_GUARD = "to notice when pip, uv or another tool replaces it"


@immutable
class PipPart:
    """What a plan has more where pip is held; all of it empty otherwise.

    Attributes:
        steps: that put the pin there.
        skipped: why it is not needed.
    """

    steps: tuple[PinForPip, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def plan_build_step(situation: Situation) -> Build:
    """What a plan for a situation would build, and nothing else of it.

    Raises:
        FastinstallError: as `make_plan` says.
    """
    refuse_if_protected(situation.facts)
    refuse_unsuited_engine(situation.facts, situation.wish)
    return make_build_step(decide_build(merge_conda_dependants(situation)))


def plan_nothing(facts: Facts, recipe: Recipe, request: Request, receipt: Receipt | None) -> Plan | None:
    """The empty plan, where the environment is as wished; needs no index and no compiler."""
    refuse_if_protected(facts)
    refuse_unsuited_engine(facts, request)
    if receipt is None or explain_needed_setup(facts, recipe, request, receipt) is not None:
        return None
    what = f"{receipt.distribution} {receipt.version}"
    return Plan(
        environment=facts.environment,
        facts_digest=compute_facts_digest(facts),
        wish=request,
        steps=(),
        skipped=(Skipped(step="everything", reason=f"{what} is in place, unchanged since {receipt.created_at}"),),
        summary=f"nothing to do: {what} is in place and intact",
    )


def make_plan(situation: Situation) -> Plan:
    """Decide every step, with its reason.

    Raises:
        RefusedError: the target is protected, no version or level fits, or something is missing that
            this wish does not allow to install.
        UsageError: an unknown level, version or library, or an engine for conda packages where there is no conda.
    """
    refuse_if_protected(situation.facts)
    refuse_unsuited_engine(situation.facts, situation.wish)
    decision = decide_build(merge_conda_dependants(situation))
    build = make_build_step(decision)
    latest = _plan_keeping_latest(situation, build)
    if latest is not None:
        return latest
    conda, pip, project = (
        plan_conda_part(situation, build),
        plan_pip_part(situation, build),
        plan_project_part(situation, build),
    )
    steps = (*_list_steps(decision, build, conda, pip), *project.steps)
    return Plan(
        environment=situation.facts.environment,
        facts_digest=compute_facts_digest(situation.facts),
        wish=situation.wish,
        steps=steps,
        skipped=(*_list_skipped_steps(decision), *conda.skipped, *pip.skipped),
        hazards=(*_collect_risks(decision), *mark_allowed_risks(conda.hazards, situation.wish.allow)),
        warnings=(*_list_warnings(decision), *_warn_about_missing_hashes(steps), *conda.warnings, *project.warnings),
        summary=_summarise_plan(decision, build) + conda.note,
    )


def _plan_keeping_latest(situation: Situation, build: Build) -> Plan | None:
    """The plan that leaves the stack alone, where an upgrade was asked for and there is nothing later than it."""
    receipt, request = situation.receipt, situation.wish
    if (
        not request.upgrade
        or receipt is None
        or _strip_local_label(receipt.version) != _strip_local_label(build.version)
    ):
        return None
    facts, recipe, kept = situation.facts, situation.recipe, replace(request, upgrade=False)
    return plan_nothing(facts, recipe, kept, receipt) or plan_guard_alone(facts, recipe, kept, receipt)


def _strip_local_label(version: str) -> str:
    return version.partition("+")[0]


def _summarise_plan(decision: BuildDecision, build: Build) -> str:
    situation, choice = decision.situation, decision.choice
    kernels = f" with the kernels of {choice.kernels.name} {choice.kernels.version}" if choice.kernels else ""
    made = f"from {situation.recipe.source.pypi} {choice.version}{kernels}"
    if choice.prebuilt or build.cached:
        made = "already built" if choice.prebuilt else "from the cache"
    where = situation.facts.environment.prefix
    return f"{build.distribution} {build.version} {made} for {listing(build.levels)} into {where}"


def _list_steps(decision: BuildDecision, build: Build, conda: CondaPart, pip: PipPart) -> tuple[Step, ...]:
    situation = decision.situation
    first = (situation.create,) if situation.create else ()
    guard = (InstallGuard(reason=conda.guard or _GUARD),) if situation.wish.guard else ()
    made = (*first, *conda.first, *decision.native.steps, build, _plan_proof(situation, decision.choice))
    pins = (*conda.after_swap, *pip.steps)
    return (
        *made,
        *conda.before_swap,
        _plan_swap(situation, build, conda),
        *guard,
        *pins,
        _plan_verification(situation),
    )


def _plan_proof(situation: Situation, choice: VersionChoice) -> Prove:
    in_place = situation.facts.stack.core is not None and situation.facts.stack.has_init
    wheels = situation.releases.wheels
    baseline = None if in_place or not wheels else wheels[0]
    return Prove(
        reference=choice.chassis,
        baseline=baseline,
        timed=not situation.restoring,
        reason="real operations in a subprocess, their pixels and their speed, before the environment is touched",
    )


def _plan_swap(situation: Situation, build: Build, conda: CondaPart) -> Swap:
    owners = situation.facts.stack.owners
    incoming = f"{build.distribution.replace('-', '_')}-{build.version}.dist-info"
    entries = {entry for owner in owners for entry in owner.entries} | {*situation.facts.stack.debris, *conda.entries}
    if situation.facts.stack.directory is not None:
        entries.add(situation.recipe.package)
    what = " and ".join(
        (*_list_leaving_distributions(owners, conda.records), *(f"conda's {dist}" for dist in conda.records))
    )
    reason = f"replaces {what}; moved aside, not deleted" if what else "there is no PIL yet"
    return Swap(
        removes=tuple(owner.distribution.metadata for owner in owners),
        entries=tuple(sorted(entries)),
        installs=incoming,
        records=conda.records,
        reason=reason,
    )


def _list_leaving_distributions(owners: Sequence[Owner], records: Sequence[str]) -> Iterator[str]:
    """What makes room, in words; of a conda package the record alone is named."""
    for owner in owners:
        installed = owner.distribution
        if installed.installer != "conda" or not any(dist.startswith(f"{installed.name}-") for dist in records):
            yield f"{installed.name} {installed.version}"


def _plan_verification(situation: Situation) -> Verify:
    return Verify(
        checks=(*verifying_checks(), *situation.foreign_checks),
        reason="the checks of doctor, on the environment as it then is; an error undoes the swap",
    )


def _list_skipped_steps(decision: BuildDecision) -> tuple[Skipped, ...]:
    situation = decision.situation
    found = []
    if situation.create is None:
        found.append(Skipped(step="create-environment", reason=f"{situation.facts.environment.prefix} exists"))
    if not decision.native.steps:
        found.append(Skipped(step="system-packages", reason="compiler and headers are there or not needed"))
    if not situation.wish.guard:
        found.append(Skipped(step="install-guard", reason=explain_missing_guard(situation)))
    return tuple(found)


def _collect_risks(decision: BuildDecision) -> tuple[PlanRisk, ...]:
    """All of them; what is put back was consented to when it was set up, whatever it goes without now."""
    situation = decision.situation
    facts = situation.facts
    of_version = find_version_risks(situation.recipe, facts.stack, decision.choice.version, facts.interpreter)
    again = (*of_version, *((decision.levels.hazard,) if decision.levels.hazard else ()))
    known = tuple(hazard.risk for hazard in again) if situation.restoring else ()
    found = (*again, *((decision.native.hazard,) if decision.native.hazard else ()))
    return mark_allowed_risks(found, (*situation.wish.allow, *known))


def _warn_about_missing_hashes(steps: Sequence[Step]) -> tuple[str, ...]:
    """Files that nothing is known of but their names, because the index says no more."""
    files = (each for step in steps for each in step.list_artefacts() if not each.url.startswith("file:"))
    names = tuple(dict.fromkeys(each.filename for each in files if not each.sha256))
    if not names:
        return ()
    return (f"the index gives no SHA-256 of {listing(names)}: taken as it comes, whoever may have changed it there",)


def _list_warnings(decision: BuildDecision) -> tuple[str, ...]:
    recipe, stack, choice = decision.situation.recipe, decision.situation.facts.stack, decision.choice
    caution = (choice.caution,) if choice.caution else ()
    vulnerable = explain_installed_vulnerability(recipe, stack, choice.version)
    return (*vulnerable, *describe_version_advisories(recipe, choice.version), *caution)


@immutable
class ProjectPart:
    """What a plan has more where a project makes the environment; all of it empty otherwise.

    Attributes:
        steps: that pin it there, after everything else.
        warnings: that the project's own installs undo the setup.
    """

    steps: tuple[PinProject, ...] = ()
    warnings: tuple[str, ...] = ()


def plan_project_part(situation: Situation, build: Build) -> ProjectPart:
    """What a plan has more, for what is built."""
    project = situation.project
    if project is None:
        return ProjectPart()
    if situation.wish.pin:
        return ProjectPart(steps=(_make_project_pin_step(project, build),))
    return (
        ProjectPart()
        if _is_pinned(situation, project)
        else ProjectPart(warnings=(_warn_about_project(situation, project),))
    )


def _make_project_pin_step(project: Project, build: Build) -> PinProject:
    return PinProject(
        directory=project.directory,
        manager=project.manager,
        files=tuple(file for file in (project.manifest, project.lock) if file is not None),
        requirement=f"{build.distribution}=={build.version}",
        reason=f"--pin: `{project.sync}` makes the environment of these files, and keeps what they name; "
        "tried on a copy first; no later Pillow comes, security updates neither",
    )


def _is_pinned(situation: Situation, project: Project) -> bool:
    return any(pin.kind == project.manager for pin in situation.facts.pins)


def _warn_about_project(situation: Situation, project: Project) -> str:
    prefix = quote(situation.facts.environment.prefix)
    return (
        f"{project.directory} is a project of {project.manager}: `{project.sync}` puts back the Pillow of "
        f"its lock; --pin has it keep this one, now or later: fastinstall guard install --pin --prefix {prefix}"
    )


_HOLDS = "pip in this environment, and uv in a shell that has read environment.sh, keep to this build"


def plan_pip_part(situation: Situation, build: Build) -> PipPart:
    """What a plan has more, for what is built.

    Raises:
        RefusedError: a pin is there, and what is built bears a name that it cannot hold.
    """
    if not wants_pip_pin(situation.facts, situation.wish):
        return PipPart()
    prefix = situation.facts.environment.prefix
    if build.distribution != NAME:
        raise RefusedError(
            f"{prefix} is pinned to a build named {NAME}, and a pin on {build.distribution} would hold nothing",
            hint=f"take the pin away first: fastinstall guard remove --prefix {quote(prefix)}",
        )
    requirement = requirement_of(build.distribution, build.version)
    there = find_pip_pin(situation.facts)
    if keeps_pip_pin(situation) and there is not None:
        return PipPart(skipped=(Skipped(step="pin", reason=f"{there.file} holds pip to {there.requirement} already"),))
    return PipPart(steps=(_make_pip_pin_step(situation, requirement, there),))


def keeps_pip_pin(situation: Situation) -> bool:
    """Whether the pin that is there stays as it is: the very build that it is for is put back."""
    there = find_pip_pin(situation.facts)
    return situation.restoring and there is not None and not there.problems


def _make_pip_pin_step(situation: Situation, requirement: str, there: PinState | None) -> PinForPip:
    prefix, links = situation.facts.environment.prefix, situation.links
    why = "--pin" if situation.wish.pin else f"a pin on {there.requirement if there else 'another'} is there"
    repeated = f"; other places of wheels that pip is told of ({' '.join(links)}) are repeated there" if links else ""
    return PinForPip(
        file=CONFIGURATION,
        directory=DIRECTORY,
        requirement=requirement,
        text=insertion(b"", prefix, links).text,
        links=links,
        reason=f"{why}: {_HOLDS}; {HOLDS_BACK}{repeated}",
    )
