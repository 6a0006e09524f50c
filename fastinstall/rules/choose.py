"""Which CPU level to build for. Pure."""

from dataclasses import dataclass

from fastinstall.errors import RefusedError
from fastinstall.model.machine import Cpu
from fastinstall.model.plan import Hazard
from fastinstall.model.recipe import Level, Recipe
from fastinstall.model.wish import Risk
from fastinstall.rules.levels import LEVELS
from fastinstall.rules.messages import listing
from fastinstall.rules.wishes import AUTO, refuse_unknown_level


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChoice:
    """A level, and why.

    Attributes:
        level: of the recipe.
        reason: for people.
        hazard: the named risk of a level that this CPU does not show to have.
    """

    level: Level
    reason: str
    hazard: Hazard | None = None


def choose_level(recipe: Recipe, cpu: Cpu, wish_level: str) -> LevelChoice:
    """The level that is wished for; for "auto" the best one that the recipe lets us choose and the CPU has.

    Raises:
        RefusedError: no level suits this CPU.
        UsageError: the recipe has no level of that name.
    """
    refuse_unknown_level(recipe, wish_level)
    if cpu.architecture != "x86_64":
        raise RefusedError(
            f"{recipe.name} is built for x86-64 only, and this machine is {cpu.architecture}",
            hint="keep stock Pillow, whose libjpeg-turbo has SIMD code for this machine too (NEON on Arm): "
            "python -m pip install pillow",
        )
    return _automatic(recipe, cpu) if wish_level == AUTO else _named(recipe, cpu, wish_level)


def lacking(level: Level, cpu: Cpu) -> tuple[str, ...]:
    """What a CPU lacks for a level: its features, or the level itself where the loader denies it.

    The loader's word counts because an emulator shows the flags of its host. Where the flags are not
    known, it is all there is.
    """
    denied = (level.name,) if _denied(level.name, cpu.level) else ()
    if not cpu.flags and cpu.level is not None:
        return denied
    return tuple(flag for flag in level.requires if flag not in cpu.flags) or denied


def _denied(name: str, reached: str | None) -> bool:
    order = list(LEVELS)
    return name in order and reached in order and order.index(reached) < order.index(name)


def _automatic(recipe: Recipe, cpu: Cpu) -> LevelChoice:
    candidates = [level for level in recipe.levels if level.automatic]
    for level in candidates:
        if not lacking(level, cpu):
            passed = "".join(f", which {_without(better, cpu)}" for better in candidates[: candidates.index(level)])
            return LevelChoice(level=level, reason=f"{level.name} suits {_name(cpu)}{passed}")
    floor = candidates[-1]
    raise RefusedError(
        f"{_name(cpu)} {_without(floor, cpu)}, the least that {recipe.name} is built for",
        hint="keep stock Pillow: python -m pip install pillow",
    )


def _named(recipe: Recipe, cpu: Cpu, name: str) -> LevelChoice:
    level = next(level for level in recipe.levels if level.name == name)
    missing = lacking(level, cpu)
    if not missing:
        return LevelChoice(level=level, reason=f"{name} as asked")
    hazard = Hazard(
        risk=Risk.UNVERIFIED_CPU,
        summary=f"{_name(cpu)} {_without(level, cpu)}: the result would not run here, and cannot be proven here",
        items=missing,
    )
    return LevelChoice(level=level, reason=f"{name} as asked, although this CPU {_without(level, cpu)}", hazard=hazard)


def _without(level: Level, cpu: Cpu) -> str:
    missing = lacking(level, cpu)
    hidden = [flag for flag in missing if flag in cpu.masked]
    why = " (hidden by the virtual machine or the kernel)" if hidden else ""
    if missing == (level.name,):
        return f"does not reach {level.name}"
    return f"lacks {listing(missing)} for {level.name}{why}"


def _name(cpu: Cpu) -> str:
    return cpu.name or "this CPU"
