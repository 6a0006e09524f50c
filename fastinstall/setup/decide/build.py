"""Decide what to build and from what: version, CPU levels and libraries, in this order. Pure.

Candidates are the releases that suit this machine and request: sources that the recipe can build, and ready-made
wheels. The result is the plan's step that makes the wheel.
"""

from dataclasses import replace
from operator import itemgetter

from fastinstall.compilers import get_wheel_compiler, list_wheel_compilers
from fastinstall.compilers.flags import compile_flags, list_probed_flags
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version
from fastinstall.elf.cpu import Cpu
from fastinstall.model.artefact import Artefact, LevelTarget, Releases
from fastinstall.model.machine import Toolchain
from fastinstall.model.recipe import Recipe, make_labelled_version, parse_labelled_levels
from fastinstall.model.request import LinkMode, Request
from fastinstall.setup.decide.levels import (
    AUTO,
    LevelChoice,
    choose_levels,
    choose_restored_levels,
    explain_single_level,
    is_best_served,
    list_candidates,
    list_requested_levels,
    refuse_unsuited,
    sort_recipe_levels,
)
from fastinstall.setup.decide.libraries import NativeChoice, choose_libraries, list_wanted_libraries
from fastinstall.setup.decide.versions import VersionChoice, choose_version
from fastinstall.setup.plan import Situation
from fastinstall.setup.steps.build import Build


@immutable
class BuildDecision:
    """The decision on what to build, and from what.

    Attributes:
        situation: inputs of the decision; in a repair, its request asks for the build that the receipt records.
        choice: the chosen version, with its files.
        levels: the CPU levels that the core is compiled for, and why they were chosen.
        statics: sdists of libraries that are linked into the core; keys are the recipe's names of the libraries.
        static_reasons: explanations for the user, one per library that the recipe links statically.
        native: the libraries that the build enables, and the steps that get the compiler and headers.
        compiler_wheel: the wheel that contains the compiler; None if the compiler does not come from a wheel.
        cached: SHA-256 of a cached wheel that matches the planned build; empty if the cache has none.
    """

    situation: Situation
    choice: VersionChoice
    levels: LevelChoice
    statics: dict[str, Artefact]
    static_reasons: tuple[str, ...]
    native: NativeChoice
    compiler_wheel: Artefact | None
    cached: str = ""


def decide_build(situation: Situation) -> BuildDecision:
    """Decide what to build, and from what; `complete_build` adds how to get the compiler and headers.

    Raises:
        RefusedError: no version or level fits.
        UsageError: an unknown level, version or library.
    """
    situation, releases, choice = _choose_release(situation)
    facts, recipe, request = situation.facts, situation.recipe, situation.request
    levels, has_base = _choose_levels(situation, choice), choice.base_wheel is not None
    statics, static_reasons, enabled, wheel = dict[str, Artefact](), tuple[str, ...](), tuple[str, ...](), None
    if choice.prebuilt is None:
        alone, compilers = has_base and request.link is LinkMode.BUNDLE, list_wheel_compilers().values()
        wheels = (each.choose_wheel(facts, request, releases, core_alone=alone) for each in compilers)
        wheel = next(filter(None, wheels), None)
        situation = _use_compiler(situation, wheel) if wheel is not None else situation
        statics, static_reasons = choose_statics(recipe, releases, request.link)
        enabled = list_wanted_libraries(recipe, request, base_wheel=has_base)
    return BuildDecision(
        situation=situation,
        choice=choice,
        levels=levels,
        statics=statics,
        static_reasons=static_reasons,
        native=NativeChoice(enabled=enabled),
        compiler_wheel=wheel,
    )


def complete_build(decision: BuildDecision, cached: str) -> BuildDecision:
    """Add to a decision how to get the compiler and headers, if a wheel has to be compiled.

    Args:
        decision: the result of `decide_build`.
        cached: SHA-256 of a cached wheel that matches the planned build; empty if the cache has none.

    Raises:
        RefusedError: a compiler, header or library is missing, and the request does not allow fetching it.
        UsageError: an unknown library.
    """
    situation, choice = decision.situation, decision.choice
    if cached or choice.prebuilt is not None:
        return replace(decision, cached=cached)
    facts, recipe, request, headers = situation.facts, situation.recipe, situation.request, situation.releases.headers
    if facts.toolchain is None:
        raise RefusedError("the toolchain of this machine was not observed, so nothing can be built")
    alone = choice.base_wheel is not None and request.link is LinkMode.BUNDLE
    native = choose_libraries(recipe, facts, request, decision.statics, headers, base_wheel=alone)
    return replace(decision, native=native)


def needs_compiling(situation: Situation) -> bool:
    """Return whether a wheel must be compiled because no ready-made one suits. The toolchain need not be observed."""
    return _choose_release(situation)[2].prebuilt is None


def select_buildable(releases: Releases, recipe: Recipe, cpu: Cpu, request: Request) -> Releases:
    """Return the usable releases: sources that the recipe can build, and our ready-made wheels with suitable levels.

    A wheel suits if it has exactly the requested levels. If none are requested, it must run on this CPU and have the
    best level for it. If several wheels of a version suit, the one with all automatic levels of the recipe is kept,
    else the one with the fewest levels.

    Raises:
        RefusedError: the CPU is below the lowest level of the recipe.
    """
    from packaging.specifiers import SpecifierSet  # slow to import; needed only to compare versions

    known = SpecifierSet(recipe.source.versions)
    asked = tuple(level.name for level in sort_recipe_levels(recipe, list_requested_levels(request)))
    usual = tuple(level.name for level in reversed(list_candidates(recipe, cpu)))
    best: dict[tuple[str, str], tuple[tuple[bool, int], Artefact]] = {}
    for wheel in releases.prebuilt:
        levels = parse_labelled_levels(recipe, wheel.version)
        if levels == asked if asked else is_best_served(recipe, cpu, levels):
            key, ranked = (wheel.name, base_version(wheel.version)), ((levels != usual, len(levels)), wheel)
            best[key] = min(best.get(key, ranked), ranked, key=itemgetter(0))
    return replace(
        releases,
        sources=tuple(source for source in releases.sources if known.contains(source.version, prereleases=True)),
        prebuilt=tuple(wheel for _, wheel in best.values()),
    )


def make_build_step(decision: BuildDecision) -> Build:
    """Return the step that builds the wheel or uses a ready-made one.

    Raises:
        RefusedError: the compiler is too old for a level.
    """
    situation, choice, names = decision.situation, decision.choice, decision.levels.names
    recipe, request, cpu = situation.recipe, situation.request, situation.facts.cpu
    prebuilt, enabled, clang = choice.prebuilt, decision.native.enabled, decision.compiler_wheel
    granted = cpu.cores if cpu.quota is None else min(cpu.cores, round(cpu.quota))
    cached = "built before and taken from the cache: no compiler or headers needed"
    reasons = (
        choice.reason,
        decision.levels.reason,
        *decision.static_reasons,
        cached if decision.cached else "",
        get_wheel_compiler(clang.name).explain(clang, request) if clang is not None and not decision.cached else "",
        _explain_libraries(request, choice),
    )
    return Build(
        recipe=recipe.name,
        source=choice.source,
        statics={name: sdist for name, sdist in decision.statics.items() if name in enabled},
        clang=clang,
        base_wheel=choice.base_wheel if request.link is LinkMode.BUNDLE else None,
        prebuilt=prebuilt,
        cached=decision.cached,
        distribution=prebuilt.name if prebuilt else request.dist_name,
        version=prebuilt.version
        if prebuilt
        else make_labelled_version(recipe, choice.version, names, request.dist_name),
        targets=_choose_flags(decision),
        link=request.link,
        libraries=enabled,
        jobs=request.jobs or max(1, granted),
        reason="; ".join(filter(None, reasons)),
    )


def choose_statics(recipe: Recipe, releases: Releases, link: LinkMode) -> tuple[dict[str, Artefact], tuple[str, ...]]:
    """Choose the newest sdist of each library that the recipe links statically, and explain each choice.

    A library without an sdist is taken from the system. Link modes other than "bundle" link no library statically.
    """
    artefacts: dict[str, Artefact] = {}
    reasons: list[str] = []
    for name, library in recipe.libraries.items():
        if library.static is None or link is not LinkMode.BUNDLE:
            continue
        sdists = releases.statics.get(name, ())
        if sdists:
            artefacts[name] = sdists[0]
            reasons.append(f"{name} from {sdists[0].name} {sdists[0].version}, linked in: {library.static.reason}")
        else:
            reasons.append(f"the system's {name}: {releases.origin} has no sdist of {library.static.pypi}")
    return artefacts, tuple(reasons)


def _choose_release(situation: Situation) -> tuple[Situation, Releases, VersionChoice]:
    """Return the situation, the usable releases and the chosen version.

    In a repair, the returned situation requests the version and levels that the receipt records.
    """
    facts, recipe, request, receipt = situation.facts, situation.recipe, situation.request, situation.receipt
    if situation.restoring and receipt is not None:  # a repair restores version and levels, even if better ones exist
        request = replace(
            request,
            version=receipt.source_version,
            level=AUTO,
            levels=choose_restored_levels(recipe, facts.cpu, receipt),
            avoid=(),
        )
    refuse_unsuited(recipe, facts.cpu, request)
    releases = select_buildable(situation.releases, recipe, facts.cpu, request)
    choice = choose_version(releases, recipe, facts.interpreter, facts.stack.dependants, request)
    return replace(situation, request=request), releases, choice


def _use_compiler(situation: Situation, wheel: Artefact) -> Situation:
    """Return the situation with the compiler that a wheel contains, in place of the machine's compiler."""
    compiler = get_wheel_compiler(wheel.name).describe(
        wheel, list_probed_flags(situation.recipe, situation.facts.cpu.architecture)
    )
    observed = situation.facts.toolchain or Toolchain(compiler=None)
    toolchain = replace(observed, compiler=compiler, named_compiler="")
    return replace(situation, facts=replace(situation.facts, toolchain=toolchain))


def _choose_levels(situation: Situation, choice: VersionChoice) -> LevelChoice:
    facts, recipe, request = situation.facts, situation.recipe, situation.request
    if choice.prebuilt is None:
        hindrance = explain_single_level(facts.interpreter, request.link, base_wheel=choice.base_wheel is not None)
        receipt = situation.receipt if situation.restoring else None
        if hindrance and receipt is not None and not list_requested_levels(receipt.request):
            # The receipt's levels were chosen automatically, but a wheel for this Python cannot contain several levels.
            request = replace(request, levels=())
        return choose_levels(recipe, facts.cpu, request, hindrance=hindrance)
    if list_requested_levels(request):
        return choose_levels(recipe, facts.cpu, request)
    levels = sort_recipe_levels(recipe, parse_labelled_levels(recipe, choice.prebuilt.version))
    reason = f"the wheel has {listing(level.name for level in levels)}"
    hindrance = explain_single_level(facts.interpreter, LinkMode.BUNDLE, base_wheel=True)
    if len(levels) > 1 and hindrance:
        reason += f", and only {levels[0].name} is loaded here: {hindrance}"
    return LevelChoice(levels=levels, reason=reason)


def _choose_flags(decision: BuildDecision) -> tuple[LevelTarget, ...]:
    levels, recipe, facts = decision.levels.levels, decision.situation.recipe, decision.situation.facts
    if decision.choice.prebuilt is not None:
        return tuple(LevelTarget(level=level.name, cflags=(), ldflags=()) for level in levels)
    compiler = facts.toolchain.compiler if facts.toolchain else None
    # If the compiler is not installed yet, plan all flags that the recipe prefers: current compilers accept them.
    accepts = compiler.accepts if compiler else list_probed_flags(recipe, facts.cpu.architecture)
    version = compiler.version if compiler else ""
    flags = ((level.name, *compile_flags(recipe, level, accepts, compiler=version)) for level in levels)
    # Fetched headers belong to a Python with a GIL. A free-threaded Python needs only this macro in addition.
    without_gil = facts.interpreter.free_threaded and not facts.interpreter.has_headers
    defined = ("-DPy_GIL_DISABLED=1",) if without_gil else ()
    return tuple(
        LevelTarget(level=name, cflags=(*cflags, *defined), ldflags=ldflags) for name, cflags, ldflags in flags
    )


def _explain_libraries(request: Request, choice: VersionChoice) -> str:
    if choice.prebuilt is not None:
        return "already built, so nothing is compiled"
    if request.link is not LinkMode.BUNDLE:
        return f"linked to the {'environment' if request.link is LinkMode.ENV else 'system'}'s libraries, as requested"
    if choice.base_wheel is not None:
        return f"placed in the official wheel {choice.base_wheel.filename}, which has all codecs"
    return "no official wheel fits this Python, so auditwheel bundles the libraries"
