"""Facts, recipe, wish and what the index offers, to a plan. Pure: a dry run is this plan, not executed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall.model.facts import Facts, Owner
from fastinstall.model.plan import Hazard, Plan, Skipped
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.steps import Build, InstallGuard, Prove, Step, Swap, Verify
from fastinstall.model.wish import Wish
from fastinstall.rules.build_step import build_step
from fastinstall.rules.checks import verifying_checks
from fastinstall.rules.conda_engine import refuse_unsuited_engine
from fastinstall.rules.conda_steps import CondaPart, conda_part, without_guard
from fastinstall.rules.conda_view import as_conda_has_it
from fastinstall.rules.decision import Decision, decide
from fastinstall.rules.digest import facts_digest
from fastinstall.rules.guard_plan import guard_plan
from fastinstall.rules.hazards import installed_already, known_against, version_hazards, weighed
from fastinstall.rules.messages import listing
from fastinstall.rules.pip_steps import PipPart, pip_part
from fastinstall.rules.project_step import project_part
from fastinstall.rules.protection import refuse_if_protected
from fastinstall.rules.satisfied import unsatisfied
from fastinstall.rules.saved_plan import artefacts_of
from fastinstall.rules.situation import Situation
from fastinstall.rules.versions import Choice

_GUARD = "to notice when pip, uv or another tool replaces it"


def planned_build(situation: Situation) -> Build:
    """What a plan for a situation would build, and nothing else of it.

    Raises:
        FastinstallError: as `make_plan` says.
    """
    refuse_if_protected(situation.facts)
    refuse_unsuited_engine(situation.facts, situation.wish)
    return build_step(decide(as_conda_has_it(situation)))


def nothing_to_do(facts: Facts, recipe: Recipe, wish: Wish, receipt: Receipt | None) -> Plan | None:
    """The empty plan, where the environment is as wished; needs no index and no compiler."""
    refuse_if_protected(facts)
    refuse_unsuited_engine(facts, wish)
    if receipt is None or unsatisfied(facts, recipe, wish, receipt) is not None:
        return None
    what = f"{receipt.distribution} {receipt.version}"
    return Plan(
        environment=facts.environment,
        facts_digest=facts_digest(facts),
        wish=wish,
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
    decision = decide(as_conda_has_it(situation))
    build = build_step(decision)
    latest = _latest_in_place(situation, build)
    if latest is not None:
        return latest
    conda, pip, project = conda_part(situation, build), pip_part(situation, build), project_part(situation, build)
    steps = (*_steps(decision, build, conda, pip), *project.steps)
    return Plan(
        environment=situation.facts.environment,
        facts_digest=facts_digest(situation.facts),
        wish=situation.wish,
        steps=steps,
        skipped=(*_skipped(decision), *conda.skipped, *pip.skipped),
        hazards=(*_hazards(decision), *weighed(conda.hazards, situation.wish.allow)),
        warnings=(*_warnings(decision), *_unhashed(steps), *conda.warnings, *project.warnings),
        summary=_summary(decision, build) + conda.note,
    )


def _latest_in_place(situation: Situation, build: Build) -> Plan | None:
    """The plan that leaves the stack alone, where an upgrade was asked for and there is nothing later than it."""
    receipt, wish = situation.receipt, situation.wish
    if not wish.upgrade or receipt is None or _public(receipt.version) != _public(build.version):
        return None
    facts, recipe, kept = situation.facts, situation.recipe, replace(wish, upgrade=False)
    return nothing_to_do(facts, recipe, kept, receipt) or guard_plan(facts, recipe, kept, receipt)


def _public(version: str) -> str:
    return version.partition("+")[0]


def _summary(decision: Decision, build: Build) -> str:
    situation, choice = decision.situation, decision.choice
    kernels = f" with the kernels of {choice.kernels.name} {choice.kernels.version}" if choice.kernels else ""
    made = f"from {situation.recipe.source.pypi} {choice.version}{kernels}"
    if choice.prebuilt or build.cached:
        made = "already built" if choice.prebuilt else "from the cache"
    where = situation.facts.environment.prefix
    return f"{build.distribution} {build.version} {made} for {listing(build.levels)} into {where}"


def _steps(decision: Decision, build: Build, conda: CondaPart, pip: PipPart) -> tuple[Step, ...]:
    situation = decision.situation
    first = (situation.create,) if situation.create else ()
    guard = (InstallGuard(reason=conda.guard or _GUARD),) if situation.wish.guard else ()
    made = (*first, *conda.first, *decision.native.steps, build, _prove(situation, decision.choice))
    pins = (*conda.after_swap, *pip.steps)
    return (*made, *conda.before_swap, _swap(situation, build, conda), *guard, *pins, _verify(situation))


def _prove(situation: Situation, choice: Choice) -> Prove:
    in_place = situation.facts.stack.core is not None and situation.facts.stack.has_init
    wheels = situation.releases.wheels
    baseline = None if in_place or not wheels else wheels[0]
    return Prove(
        reference=choice.chassis,
        baseline=baseline,
        timed=not situation.restoring,
        reason="real operations in a subprocess, their pixels and their speed, before the environment is touched",
    )


def _swap(situation: Situation, build: Build, conda: CondaPart) -> Swap:
    owners = situation.facts.stack.owners
    incoming = f"{build.distribution.replace('-', '_')}-{build.version}.dist-info"
    entries = {entry for owner in owners for entry in owner.entries} | {*situation.facts.stack.debris, *conda.entries}
    if situation.facts.stack.directory is not None:
        entries.add(situation.recipe.package)
    what = " and ".join((*_distributions(owners, conda.records), *(f"conda's {dist}" for dist in conda.records)))
    reason = f"replaces {what}; moved aside, not deleted" if what else "there is no PIL yet"
    return Swap(
        removes=tuple(owner.distribution.metadata for owner in owners),
        entries=tuple(sorted(entries)),
        installs=incoming,
        records=conda.records,
        reason=reason,
    )


def _distributions(owners: Sequence[Owner], records: Sequence[str]) -> Iterator[str]:
    """What makes room, in words; of a conda package the record alone is named."""
    for owner in owners:
        installed = owner.distribution
        if installed.installer != "conda" or not any(dist.startswith(f"{installed.name}-") for dist in records):
            yield f"{installed.name} {installed.version}"


def _verify(situation: Situation) -> Verify:
    return Verify(
        checks=(*verifying_checks(), *situation.foreign_checks),
        reason="the checks of doctor, on the environment as it then is; an error undoes the swap",
    )


def _skipped(decision: Decision) -> tuple[Skipped, ...]:
    situation = decision.situation
    found = []
    if situation.create is None:
        found.append(Skipped(step="create-environment", reason=f"{situation.facts.environment.prefix} exists"))
    if not decision.native.steps:
        found.append(Skipped(step="system-packages", reason="compiler and headers are there or not needed"))
    if not situation.wish.guard:
        found.append(Skipped(step="install-guard", reason=without_guard(situation)))
    return tuple(found)


def _hazards(decision: Decision) -> tuple[Hazard, ...]:
    """All of them; what is put back was consented to when it was set up, whatever it goes without now."""
    situation = decision.situation
    facts = situation.facts
    of_version = version_hazards(situation.recipe, facts.stack, decision.choice.version, facts.interpreter)
    again = (*of_version, *((decision.levels.hazard,) if decision.levels.hazard else ()))
    known = tuple(hazard.risk for hazard in again) if situation.restoring else ()
    found = (*again, *((decision.native.hazard,) if decision.native.hazard else ()))
    return weighed(found, (*situation.wish.allow, *known))


def _unhashed(steps: Sequence[Step]) -> tuple[str, ...]:
    """Files that nothing is known of but their names, because the index says no more."""
    files = (each for step in steps for each in artefacts_of(step) if not each.url.startswith("file:"))
    names = tuple(dict.fromkeys(each.filename for each in files if not each.sha256))
    if not names:
        return ()
    return (f"the index gives no SHA-256 of {listing(names)}: taken as it comes, whoever may have changed it there",)


def _warnings(decision: Decision) -> tuple[str, ...]:
    recipe, stack, choice = decision.situation.recipe, decision.situation.facts.stack, decision.choice
    caution = (choice.caution,) if choice.caution else ()
    vulnerable = installed_already(recipe, stack, choice.version)
    return (*vulnerable, *known_against(recipe, choice.version), *caution)
