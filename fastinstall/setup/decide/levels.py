"""Choose the CPU levels to build for, and decide whether one wheel can carry several. Pure.

Levels and libraries that the recipe does not define are refused before the machine is observed or the index is asked.
At run time, the loader chooses among the levels of a wheel: "glibc-hwcaps subdirectories", ld.so(8), since glibc 2.33.
"""

from collections.abc import Collection

from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import LEVELS, Cpu, knows_levels, rank
from fastinstall.index.upgrades import OTHER_RECIPE
from fastinstall.model.facts import Interpreter
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Level, Recipe
from fastinstall.model.request import LinkMode, PlanRisk, Request, Risk


@immutable
class LevelChoice:
    """The CPU levels of a wheel, and why they were chosen.

    Attributes:
        levels: levels of the recipe, the lowest first.
        reason: why these levels were chosen, for the user.
        plan_risk: the risk of levels that cannot be proven here, because this CPU lacks them; None if it lacks none.
    """

    levels: tuple[Level, ...]
    reason: str
    plan_risk: PlanRisk | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels, the lowest first."""
        return tuple(level.name for level in self.levels)


def choose_levels(recipe: Recipe, cpu: Cpu, request: Request, *, hindrance: str = "") -> LevelChoice:
    """Return the requested levels or, if none are requested, the recipe's automatic levels that the CPU has.

    If the wheel cannot contain several levels, the automatic choice is the best level alone.

    Args:
        recipe: defines the levels.
        cpu: CPU of this machine, on which the build is proven.
        request: names levels; if it names none, the choice is automatic.
        hindrance: why the wheel cannot contain several levels, as returned by `explain_single_level`; empty if it can.

    Raises:
        RefusedError: no level suits this CPU, or several are requested and the wheel cannot contain them.
        UsageError: the recipe has no level of that name.
    """
    refuse_unsuited(recipe, cpu, request)
    names = list_requested_levels(request)
    if not names:
        return _choose_levels_automatically(recipe, cpu, hindrance)
    if len(names) > 1 and hindrance:
        raise RefusedError(
            f"--levels {','.join(names)}: one level only: {hindrance}",
            hint=f"pass one level: --level {names[-1]}, or the best for this CPU: --level auto",
        )
    levels = sort_recipe_levels(recipe, names)
    together = f"{listing(level.name for level in levels)}{' in one wheel,' if len(levels) > 1 else ''} as requested"
    beyond = [level for level in levels if find_lacking_features(level, cpu)]
    if not beyond:
        return LevelChoice(levels=levels, reason=together)
    name, lacks = cpu.name or "this CPU", listing(_describe_lacking_features(level, cpu) for level in beyond)
    summary = f"{listing(level.name for level in beyond)} cannot be proven on this machine: {name} {lacks}"
    if levels[0] in beyond:
        lowest = _describe_lacking_features(levels[0], cpu)
        summary = f"{name} {lowest}: the result does not run here, so it cannot be proven"
    items = tuple(dict.fromkeys(flag for level in beyond for flag in find_lacking_features(level, cpu)))
    plan_risk = PlanRisk(risk=Risk.UNVERIFIED_CPU, summary=summary, items=items)
    return LevelChoice(levels=levels, reason=f"{together}, although this CPU {lacks}", plan_risk=plan_risk)


def refuse_unsuited(recipe: Recipe, cpu: Cpu, request: Request) -> None:
    """Raise if a build for this machine is impossible, regardless of the releases on the index.

    Raises:
        RefusedError: the recipe does not support this architecture, a requested level is for another architecture, or
            the CPU is below the lowest level.
        UsageError: the recipe lacks a requested level.
    """
    refuse_unknown_levels(recipe, request, cpu.architecture)
    here, asked = architecture_of(cpu.architecture), list_requested_levels(request)
    if not recipe.serves(cpu.architecture):
        raise RefusedError(
            f"{recipe.name} supports {recipe.served} only, and this machine is {cpu.architecture}",
            hint=OTHER_RECIPE
            if here.supported
            else "keep stock Pillow, whose libjpeg-turbo has SIMD code for other machines too: "
            "python -m pip install pillow",
        )
    strange = next((each for each in recipe.levels if each.name in asked and each.architecture != here.machine), None)
    if strange is not None:
        there = architecture_of(strange.architecture).title
        own = ", ".join(level.name for level in recipe.list_levels(here.machine))
        raise RefusedError(
            f"--level {strange.name} is for {there} only, and this machine is {here.title}",
            hint=f"pass --level auto, or a level of {here.title}: {own}",
        )
    if not asked:
        choose_best_level(recipe, cpu)


def choose_restored_levels(recipe: Recipe, cpu: Cpu, receipt: Receipt) -> tuple[str, ...]:
    """Return the levels of a receipt; empty if they were chosen automatically and this CPU lacks the lowest of them."""
    known = {level.name: level for level in recipe.levels}
    lowest = known.get(receipt.levels[0]) if receipt.levels else None
    if not list_requested_levels(receipt.request) and lowest is not None and find_lacking_features(lowest, cpu):
        return ()
    return receipt.levels


def explain_single_level(interpreter: Interpreter, link: LinkMode, *, base_wheel: bool) -> str:
    """Return why a wheel for a target cannot contain several levels, or "" if it can.

    Args:
        interpreter: the target's Python; the dynamic loader that it uses must be able to choose a level.
        link: the link mode; several copies of the core can share only libraries inside the wheel ("bundle").
        base_wheel: whether the core is placed in an official wheel.
    """
    if link is not LinkMode.BUNDLE:
        return f"linked to the libraries of the {'environment' if link is LinkMode.ENV else 'system'}"
    if not base_wheel:
        return "no official wheel to carry several"
    if interpreter.libc != "glibc":
        return f"{interpreter.libc or 'a C library that is not glibc'} cannot choose a level"
    version = interpreter.libc_version
    return (
        ""
        if version and knows_levels("glibc", version)
        else f"glibc {version or 'of unknown version'} cannot choose a level"
    )


def choose_best_level(recipe: Recipe, cpu: Cpu) -> Level:
    """Return the highest automatic level of the recipe that the CPU has.

    Raises:
        RefusedError: the CPU is below the lowest automatic level.
    """
    candidates = list_candidates(recipe, cpu)
    found = next((level for level in candidates if not find_lacking_features(level, cpu)), None)
    if found is None:
        raise RefusedError(
            f"{cpu.name or 'this CPU'} {_describe_lacking_features(candidates[-1], cpu)}, "
            f"the lowest level of {recipe.name}",
            hint="keep stock Pillow: python -m pip install pillow",
        )
    return found


def list_candidates(recipe: Recipe, cpu: Cpu) -> list[Level]:
    """Return the automatic levels of the recipe for the CPU's architecture, the highest first.

    Raises:
        RefusedError: the recipe has no automatic level for that architecture.
    """
    candidates = [level for level in recipe.list_levels(cpu.architecture) if level.automatic]
    if not candidates:
        raise RefusedError(
            f"{recipe.name} has no level for {cpu.architecture or 'an unknown architecture'}", hint=OTHER_RECIPE
        )
    return candidates


def is_best_served(recipe: Recipe, cpu: Cpu, names: Collection[str]) -> bool:
    """Return whether a wheel with these levels runs on a CPU and contains the best level for that CPU.

    Raises:
        RefusedError: the CPU is below the lowest level of the recipe.
    """
    best, levels = choose_best_level(recipe, cpu), sort_recipe_levels(recipe, names)
    return best in levels and not find_lacking_features(levels[0], cpu)


def sort_recipe_levels(recipe: Recipe, names: Collection[str]) -> tuple[Level, ...]:
    """Return the recipe's levels with these names, the lowest first."""
    return tuple(level for level in reversed(recipe.levels) if level.name in names)


def find_lacking_features(level: Level, cpu: Cpu) -> tuple[str, ...]:
    """Return the CPU features that a level requires and a CPU lacks; empty if the CPU has the level.

    In two cases, the result is the level's own name:

    - The level is for another architecture.
    - The CPU shows all features, but the loader reports a lower level: an emulator shows the flags of its host.

    If the CPU's flags are unknown, the loader's report alone decides.
    """
    if level.architecture != cpu.architecture:
        return (level.name,)
    denied = (level.name,) if 0 < rank(cpu.level) < rank(level.name) else ()
    if not cpu.flags and cpu.level is not None:
        return denied
    return tuple(flag for flag in level.requires if flag not in cpu.flags) or denied


def _choose_levels_automatically(recipe: Recipe, cpu: Cpu, hindrance: str) -> LevelChoice:
    best, name = choose_best_level(recipe, cpu), cpu.name or "this CPU"
    candidates = list_candidates(recipe, cpu)
    better = candidates[: candidates.index(best)]
    passed = "".join(f", which {_describe_lacking_features(level, cpu)}" for level in better)
    running = [level for level in candidates if level.name in LEVELS and not find_lacking_features(level, cpu)]
    several = best in running and len(running) > 1
    if several and not hindrance:
        levels = tuple(reversed(running))
        together = listing(level.name for level in levels)
        return LevelChoice(
            levels=levels, reason=f"{together} in one wheel: the loader takes {best.name} on {name}{passed}"
        )
    only = f"; one level only: {hindrance}" if several else ""
    return LevelChoice(levels=(best,), reason=f"{best.name} suits {name}{passed}{only}")


def _describe_lacking_features(level: Level, cpu: Cpu) -> str:
    missing = find_lacking_features(level, cpu)
    if missing == (level.name,):
        return f"does not reach {level.name}"
    why = " (hidden by the virtual machine or the kernel)" if set(missing) & set(cpu.masked) else ""
    return f"lacks {listing(missing)} for {level.name}{why}"


AUTO = "auto"


def refuse_unknown(recipe: Recipe, request: Request, machine: str) -> None:
    """Raise if a request names a level or a library that the recipe does not define.

    Args:
        recipe: defines the levels and the libraries.
        request: may name levels and libraries.
        machine: the architecture whose levels the hint lists, as in `uname -m`; empty for all levels of the recipe.

    Raises:
        UsageError: the message names the flag; the hint lists the known names.
    """
    refuse_unknown_levels(recipe, request, machine)
    for name in request.require:
        if name not in recipe.libraries:
            known = ", ".join(recipe.libraries)
            raise UsageError(f"--require {name}: {recipe.name} has no such library", hint=f"known: {known}")


def refuse_unknown_levels(recipe: Recipe, request: Request, machine: str) -> None:
    """Raise if a recipe lacks a requested level, or if the requested levels cannot be combined.

    Raises:
        UsageError: the message names the flag; the hint lists levels that can be requested.
    """
    if request.levels and request.level != AUTO:
        raise UsageError(
            f"--level {request.level} and --levels {','.join(request.levels)} cannot be used together",
            hint="--levels puts several into one wheel, --level takes one",
        )
    known = [level.name for level in recipe.list_levels(machine) or recipe.levels]
    asked = [("--levels", name) for name in request.levels]
    if request.level != AUTO:
        asked = [("--level", request.level)]
    for flag, name in asked:
        if all(level.name != name for level in recipe.levels):
            choices = [AUTO, *known] if flag == "--level" else known
            raise UsageError(f"{flag} {name}: {recipe.name} has no such level", hint=f"known: {', '.join(choices)}")
    apart = [name for name in request.levels if name not in LEVELS]
    if apart and len(set(request.levels)) > 1:
        choosable = ",".join(name for name in reversed(known) if name in LEVELS)
        raise UsageError(
            f"--levels {','.join(request.levels)}: {apart[0]} cannot be combined: the loader cannot choose it",
            hint=f"pass --level {apart[0]} alone, or only levels of --levels {choosable}",
        )


def list_requested_levels(request: Request) -> tuple[str, ...]:
    """Return the levels that the request names, without repetitions; empty if the choice is automatic."""
    return tuple(dict.fromkeys(request.levels)) or (() if request.level == AUTO else (request.level,))
