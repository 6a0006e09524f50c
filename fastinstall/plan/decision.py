"""Decide what is built and from what: version, CPU levels and libraries, in this order. Pure.

Candidates are the releases that the recipe can build from, or take as they are, for this machine and request. The
outcome is the step of a plan that makes the wheel.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version
from fastinstall.elf.description import Cpu
from fastinstall.model.artefact import Artefact, LevelTarget, Releases, make_labelled_version, parse_labelled_levels
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.recipe import Level, Recipe
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.toolchain import compile_flags, list_probed_flags
from fastinstall.plan.level_choice import (
    AUTO,
    LevelChoice,
    choose_levels,
    explain_single_level,
    is_best_served,
    list_requested_levels,
    refuse_unsuited,
    sort_recipe_levels,
)
from fastinstall.plan.native_libraries import (
    NativeChoice,
    StaticChoice,
    choose_libraries,
    choose_statics,
    list_wanted_libraries,
)
from fastinstall.plan.plan import Situation
from fastinstall.plan.versions import VersionChoice, choose_version
from fastinstall.steps.build import Build


@immutable
class BuildDecision:
    """What is built, and of what.

    Attributes:
        situation: what it was decided from; of a repair, with the wish for what the receipt says.
        choice: the version, with the files that belong to it.
        levels: CPU levels.
        statics: libraries that are linked into the core.
        native: all libraries, and how what they need comes here.
    """

    situation: Situation
    choice: VersionChoice
    levels: LevelChoice
    statics: StaticChoice
    native: NativeChoice


def decide_build(situation: Situation) -> BuildDecision:
    """Decide what is built, and of what.

    Raises:
        RefusedError: no version or level fits, or something is missing that this wish does not allow to install.
        UsageError: an unknown level, version or library.
    """
    situation = _apply_pin(situation)
    recipe, request = situation.recipe, situation.wish
    releases, choice = _choose_version(situation)
    levels = _choose_levels(situation, choice)
    if choice.prebuilt is not None:
        statics, native = StaticChoice(artefacts={}, reasons=()), NativeChoice(enabled=(), steps=(), missing=())
    elif situation.cached is not None:
        statics = choose_statics(recipe, releases, request.link)
        native = NativeChoice(enabled=list_wanted_libraries(recipe, request, chassis=choice.chassis is not None))
    else:
        statics = choose_statics(recipe, releases, request.link)
        native = _choose_native_libraries(situation, choice, statics)
    return BuildDecision(situation=situation, choice=choice, levels=levels, statics=statics, native=native)


def needs_compiling(situation: Situation) -> bool:
    """Whether something is built, and no wheel taken that is ready; the toolchain is not looked at.

    Raises:
        RefusedError: no version or level fits.
        UsageError: an unknown level or version.
    """
    _releases, choice = _choose_version(_apply_pin(situation))
    return choice.prebuilt is None


def _choose_version(situation: Situation) -> tuple[Releases, VersionChoice]:
    """What there is for the machine and the wish, and what is taken of it."""
    facts, recipe, request = situation.facts, situation.recipe, situation.wish
    refuse_unsuited(recipe, facts.cpu, request)
    releases = select_buildable(situation.releases, recipe, facts.cpu, request)
    return releases, choose_version(releases, recipe, facts.interpreter, facts.stack.dependants, request)


def _apply_pin(situation: Situation) -> Situation:
    """What is put back is the version and the levels of the receipt, whatever there is by now."""
    receipt, request = situation.receipt, situation.wish
    if not situation.restoring or receipt is None:
        return situation
    pinned = replace(request, version=receipt.source_version, level=AUTO, levels=receipt.levels, avoid=())
    return replace(situation, wish=pinned)


def _choose_levels(situation: Situation, choice: VersionChoice) -> LevelChoice:
    facts, recipe, request = situation.facts, situation.recipe, situation.wish
    if choice.prebuilt is None:
        hindrance = explain_single_level(facts.interpreter, request.link, chassis=choice.chassis is not None)
        return choose_levels(recipe, facts.cpu, request, hindrance=hindrance)
    if list_requested_levels(request):
        return choose_levels(recipe, facts.cpu, request)
    levels = sort_recipe_levels(recipe, parse_labelled_levels(recipe, choice.prebuilt.version))
    return LevelChoice(levels=levels, reason=_explain_levels_of_wheel(levels, facts.interpreter))


def _explain_levels_of_wheel(levels: tuple[Level, ...], interpreter: Interpreter) -> str:
    told = f"{listing(level.name for level in levels)} in it"
    hindrance = explain_single_level(interpreter, LinkMode.BUNDLE, chassis=True)
    if len(levels) == 1 or not hindrance:
        return told
    return f"{told}, of which {levels[0].name} is loaded here: {hindrance}"


def _choose_native_libraries(situation: Situation, choice: VersionChoice, statics: StaticChoice) -> NativeChoice:
    if situation.facts.toolchain is None:
        raise RefusedError("the toolchain of this machine was not observed, so nothing can be built")
    chassis = choice.chassis is not None and situation.wish.link is LinkMode.BUNDLE
    return choose_libraries(
        situation.recipe, situation.facts, situation.wish, chassis=chassis, statics=tuple(statics.artefacts)
    )


def select_buildable(releases: Releases, recipe: Recipe, cpu: Cpu, request: Request) -> Releases:
    """What is left of the releases: sources that the recipe can build, and wheels of ours with the levels wished for.

    Where no level is named, a wheel will do that runs on this CPU at its best. Of several wheels of one version the
    one with the recipe's own choice of levels is left, else the one with the fewest.

    Raises:
        RefusedError: the CPU is below the lowest level of the recipe.
    """
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (slow to import; only where versions are compared)

    known = SpecifierSet(recipe.source.versions)
    return replace(
        releases,
        sources=tuple(source for source in releases.sources if known.contains(source.version, prereleases=True)),
        prebuilt=_sort_by_preference(
            recipe, [wheel for wheel in releases.prebuilt if _is_suitable(recipe, cpu, request, wheel)]
        ),
    )


def _is_suitable(recipe: Recipe, cpu: Cpu, request: Request, wheel: Artefact) -> bool:
    levels, asked = parse_labelled_levels(recipe, wheel.version), list_requested_levels(request)
    if asked:
        return levels == tuple(level.name for level in sort_recipe_levels(recipe, asked))
    return is_best_served(recipe, cpu, levels)


def _sort_by_preference(recipe: Recipe, wheels: Iterable[Artefact]) -> tuple[Artefact, ...]:
    usual = tuple(level.name for level in reversed(recipe.levels) if level.automatic)

    def rank(wheel: Artefact) -> tuple[bool, int]:
        levels = parse_labelled_levels(recipe, wheel.version)
        return levels != usual, len(levels)

    best: dict[tuple[str, str], Artefact] = {}
    for wheel in wheels:
        key = (wheel.name, base_version(wheel.version))
        best[key] = min(best.get(key, wheel), wheel, key=rank)
    return tuple(best.values())


def make_build_step(decision: BuildDecision) -> Build:
    """The step that makes the wheel, or takes it as it is.

    Raises:
        RefusedError: the compiler is too old for a level.
    """
    recipe, request, choice = decision.situation.recipe, decision.situation.wish, decision.choice
    prebuilt = choice.prebuilt
    made = make_labelled_version(recipe, choice.version, decision.levels.names, request.dist_name)
    return Build(
        recipe=recipe.name,
        source=choice.source,
        kernels=choice.kernels,
        base=choice.base,
        statics=decision.statics.select_enabled(decision.native.enabled),
        chassis=choice.chassis if request.link is LinkMode.BUNDLE else None,
        prebuilt=prebuilt,
        cached=decision.situation.cached or "",
        distribution=prebuilt.name if prebuilt else request.dist_name,
        version=prebuilt.version if prebuilt else made,
        targets=_list_level_targets(decision),
        link=request.link,
        libraries=decision.native.enabled,
        jobs=request.jobs or _count_jobs(decision.situation.facts),
        reason="; ".join(_list_reasons(decision)),
    )


def _list_level_targets(decision: BuildDecision) -> tuple[LevelTarget, ...]:
    recipe, toolchain = decision.situation.recipe, decision.situation.facts.toolchain
    if decision.choice.prebuilt is not None:
        return tuple(LevelTarget(level=name, cflags=(), ldflags=()) for name in decision.levels.names)
    compiler = toolchain.compiler if toolchain else None
    # Where system packages will bring the compiler, the preferred flags are planned: today's compilers know them.
    accepts: Collection[str] = compiler.accepts if compiler else list_probed_flags(recipe)
    found = []
    for level in decision.levels.levels:
        cflags, ldflags = compile_flags(recipe, level, accepts, compiler=compiler.version if compiler else "")
        found.append(LevelTarget(level=level.name, cflags=cflags, ldflags=ldflags))
    return tuple(found)


def _list_reasons(decision: BuildDecision) -> Iterator[str]:
    choice = decision.choice
    yield choice.reason
    if choice.caution:
        yield choice.caution
    yield decision.levels.reason
    yield from decision.statics.reasons
    if decision.situation.cached:
        yield "it was built before, so it comes from the cache, and neither compiler nor headers are needed"
    yield _explain_link_mode(decision.situation.wish, choice)


def _count_jobs(facts: Facts) -> int:
    granted = facts.cpu.cores if facts.cpu.quota is None else min(facts.cpu.cores, round(facts.cpu.quota))
    return max(1, granted)


def _explain_link_mode(request: Request, choice: VersionChoice) -> str:
    if choice.prebuilt is not None:
        return "already built, so nothing is compiled"
    if request.link is not LinkMode.BUNDLE:
        return f"linked to the libraries of the {'environment' if request.link is LinkMode.ENV else 'system'}, as asked"
    if choice.chassis is not None:
        return f"put into the official wheel {choice.chassis.filename}, with all its codecs"
    return "no official wheel fits this Python, so the libraries are bundled by auditwheel"
