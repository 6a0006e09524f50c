"""Facts, recipe, wish and what the index offers, to a plan. Pure: a dry run is this plan, not executed."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from fastinstall.errors import RefusedError
from fastinstall.model.artefact import Releases
from fastinstall.model.facts import Facts
from fastinstall.model.plan import (
    Build,
    CreateEnvironment,
    Hazard,
    InstallGuard,
    Plan,
    Prove,
    Skipped,
    Step,
    Swap,
    Verify,
)
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Advisory, Recipe
from fastinstall.model.wish import LinkMode, Risk, Wish
from fastinstall.rules.advisories import applicable, coming_back, count_by_severity
from fastinstall.rules.choose import LevelChoice, choose_level
from fastinstall.rules.digest import facts_digest
from fastinstall.rules.flags import compile_flags, probed_flags
from fastinstall.rules.native import NativeChoice, choose_libraries
from fastinstall.rules.protection import refuse_if_protected
from fastinstall.rules.satisfied import unsatisfied
from fastinstall.rules.versions import Choice, base_version, buildable, newest_fitting

VERIFIED = (
    "pillow-importable",
    "pillow-owner",
    "pillow-files",
    "simd-active",
    "build-flags",
    "jpeg-library",
    "features",
    "operations",
    "swapped",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything that a plan is made from.

    Attributes:
        facts: the target, with its toolchain.
        recipe: what to build.
        wish: what was asked for.
        releases: what the index or the wheelhouse offers.
        receipt: of an earlier setup.
        create: the environment to make first; then `facts` speak of it as it will be.
        restoring: the plan puts back what the receipt says, so its version is consented to already.
    """

    facts: Facts
    recipe: Recipe
    wish: Wish
    releases: Releases
    receipt: Receipt | None = None
    create: CreateEnvironment | None = None
    restoring: bool = False


def nothing_to_do(facts: Facts, recipe: Recipe, wish: Wish, receipt: Receipt | None) -> Plan | None:
    """The empty plan, where the environment is as wished; needs no index and no compiler."""
    refuse_if_protected(facts)
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
        UsageError: an unknown level, version or library.
    """
    facts, wish, recipe = situation.facts, situation.wish, situation.recipe
    refuse_if_protected(facts)
    level = choose_level(recipe, facts.cpu, wish.level)
    releases = buildable(situation.releases, recipe, level.level)
    choice = newest_fitting(releases, facts.interpreter, facts.stack.dependants, wish)
    native = _native(situation, choice)
    build = _build(situation, level, choice, native)
    latest = _latest_in_place(situation, build)
    if latest is not None:
        return latest
    return Plan(
        environment=facts.environment,
        facts_digest=facts_digest(facts),
        wish=wish,
        steps=_steps(situation, choice, native, build),
        skipped=_skipped(situation, native),
        hazards=_hazards(situation, level, choice, native),
        warnings=_warnings(recipe, choice),
        summary=f"{build.distribution} {build.version} from {recipe.source.pypi} {choice.version} "
        f"for {level.level.name} into {facts.environment.prefix}",
    )


def _latest_in_place(situation: Situation, build: Build) -> Plan | None:
    """The empty plan, where an upgrade was asked for and there is nothing later than what is in place."""
    receipt, wish = situation.receipt, situation.wish
    if not wish.upgrade or receipt is None or receipt.version != build.version:
        return None
    return nothing_to_do(situation.facts, situation.recipe, replace(wish, upgrade=False), receipt)


def _native(situation: Situation, choice: Choice) -> NativeChoice:
    if choice.prebuilt is not None:
        return NativeChoice(enabled=(), steps=(), missing=())
    toolchain = situation.facts.toolchain
    if toolchain is None:
        raise RefusedError("the toolchain of this machine was not observed, so nothing can be built")
    chassis = choice.chassis is not None and situation.wish.link is LinkMode.BUNDLE
    return choose_libraries(situation.recipe, situation.facts, situation.wish, chassis=chassis)


def _build(situation: Situation, level: LevelChoice, choice: Choice, native: NativeChoice) -> Build:
    recipe, wish, facts = situation.recipe, situation.wish, situation.facts
    compiler = facts.toolchain.compiler if facts.toolchain else None
    # Where system packages will bring the compiler, the preferred flags are planned: today's compilers know them.
    accepts: Collection[str] = compiler.accepts if compiler else probed_flags(recipe)
    cflags, ldflags = ((), ()) if choice.prebuilt else compile_flags(recipe, level.level, accepts)
    return Build(
        recipe=recipe.name,
        source=choice.source,
        chassis=choice.chassis if wish.link is LinkMode.BUNDLE else None,
        prebuilt=choice.prebuilt,
        distribution=choice.prebuilt.name if choice.prebuilt else wish.dist_name,
        version=choice.prebuilt.version
        if choice.prebuilt
        else labelled_version(recipe, choice.version, level.level.name, wish.dist_name),
        level=level.level.name,
        cflags=cflags,
        ldflags=ldflags,
        link=wish.link,
        libraries=native.enabled,
        jobs=wish.jobs or _jobs(facts),
        reason=f"{choice.reason}; {level.reason}; {_link_reason(wish, choice)}",
    )


def labelled_version(recipe: Recipe, version: str, level: str, dist_name: str) -> str:
    """The version of the wheel that is made, with its local label (PEP 440): "12.1.1+simd.v3"."""
    public = (
        version if dist_name == recipe.source.pypi and dist_name != recipe.source.chassis else base_version(version)
    )
    return f"{public}+{recipe.source.label}.{level.removeprefix('x86-64-')}"


def _jobs(facts: Facts) -> int:
    granted = facts.cpu.cores if facts.cpu.quota is None else min(facts.cpu.cores, round(facts.cpu.quota))
    return max(1, granted)


def _link_reason(wish: Wish, choice: Choice) -> str:
    if choice.prebuilt is not None:
        return "already built, so nothing is compiled"
    if wish.link is not LinkMode.BUNDLE:
        return f"linked to the libraries of the {'environment' if wish.link is LinkMode.ENV else 'system'}, as asked"
    if choice.chassis is not None:
        return f"put into the official wheel {choice.chassis.filename}, with all its codecs"
    return "no official wheel fits this Python, so the libraries are bundled by auditwheel"


def _steps(situation: Situation, choice: Choice, native: NativeChoice, build: Build) -> tuple[Step, ...]:
    first = (situation.create,) if situation.create else ()
    guard = (InstallGuard(reason="to notice when pip, uv or another tool replaces it"),) if situation.wish.guard else ()
    return (*first, *native.steps, build, _prove(situation, choice), _swap(situation, build), *guard, _verify())


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


def _swap(situation: Situation, build: Build) -> Swap:
    owners = situation.facts.stack.owners
    incoming = f"{build.distribution.replace('-', '_')}-{build.version}.dist-info"
    entries = {entry for owner in owners for entry in owner.entries} | set(situation.facts.stack.debris)
    if situation.facts.stack.directory is not None:
        entries.add(situation.recipe.package)
    what = " and ".join(f"{owner.distribution.name} {owner.distribution.version}" for owner in owners)
    reason = f"replaces {what}; moved aside, not deleted" if what else "there is no PIL yet"
    return Swap(
        removes=tuple(owner.distribution.metadata for owner in owners),
        entries=tuple(sorted(entries)),
        installs=incoming,
        reason=reason,
    )


def _verify() -> Verify:
    return Verify(
        checks=VERIFIED, reason="the checks of doctor, on the environment as it then is; an error undoes the swap"
    )


def _skipped(situation: Situation, native: NativeChoice) -> tuple[Skipped, ...]:
    found = []
    if situation.create is None:
        found.append(Skipped(step="create-environment", reason=f"{situation.facts.environment.prefix} exists"))
    if not native.steps:
        found.append(Skipped(step="system-packages", reason="compiler and headers are there or not needed"))
    if not situation.wish.guard:
        found.append(Skipped(step="install-guard", reason="--no-guard"))
    return tuple(found)


def _hazards(situation: Situation, level: LevelChoice, choice: Choice, native: NativeChoice) -> tuple[Hazard, ...]:
    allowed = situation.wish.allow
    candidates = (_downgrade(situation, choice), level.hazard, native.hazard)
    found = [hazard for hazard in candidates if hazard is not None]
    return tuple(
        Hazard(
            risk=hazard.risk,
            summary=hazard.summary,
            items=hazard.items,
            allowed=hazard.allowed or hazard.risk in allowed,
        )
        for hazard in found
    )


def _downgrade(situation: Situation, choice: Choice) -> Hazard | None:
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 (not needed where there is nothing to do)

    installed = situation.facts.stack.version
    try:
        if installed is None or Version(base_version(installed)) <= Version(base_version(choice.version)):
            return None
    except InvalidVersion:
        return None
    core = situation.facts.stack.core
    kernels = core is not None and bool(core.simd_symbols)
    returning = coming_back(situation.recipe.advisories, installed, choice.version, installed_kernels=kernels)
    return Hazard(
        risk=Risk.DOWNGRADE,
        summary=f"Pillow {installed} is in place; {choice.version} is older, "
        f"and {len(returning)} known advisories come back ({_counted(returning)})",
        items=tuple(f"{advisory.id} ({advisory.severity}): {advisory.summary}" for advisory in returning),
        allowed=situation.restoring,
    )


def _warnings(recipe: Recipe, choice: Choice) -> tuple[str, ...]:
    known = applicable(recipe.advisories, choice.version)
    if not known:
        return ()
    what = f"{recipe.source.pypi} {choice.version} has {len(known)} known advisories ({_counted(known)})"
    return (f"{what}: fastinstall recipes show {recipe.name}",)


def _counted(advisories: Iterable[Advisory]) -> str:
    return ", ".join(f"{number} {severity}" for severity, number in count_by_severity(advisories).items())
