"""Choose which flags to try on a compiler and which of the accepted flags to build with, without I/O."""

from collections.abc import Collection

from fastinstall.core.errors import RefusedError
from fastinstall.model.recipe import Level, Recipe

RECORD_SWITCHES = "-frecord-gcc-switches"  # records the command line in the binary, for provenance


def list_probed_flags(recipe: Recipe, architecture: str) -> tuple[str, ...]:
    """Return all flags to try on a compiler before it is used to build a recipe for an architecture ("x86_64")."""
    flags = [RECORD_SWITCHES]
    for level in recipe.list_levels(architecture):
        flags += [*level.cflags, *level.fallback, *level.ldflags]
    return tuple(dict.fromkeys(flags))


def compile_flags(
    recipe: Recipe, level: Level, accepted: Collection[str], *, compiler: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the complete CFLAGS and the LDFLAGS for a level.

    CFLAGS must be complete, because setuptools (since 75.7) uses this variable instead of the interpreter's own flags.

    Args:
        recipe: the recipe, whose base flags apply to all levels.
        level: the level, which has its own flags and, for older compilers, fallback flags.
        accepted: the probed flags that the compiler accepts.
        compiler: the compiler's version, for the error message.

    Raises:
        RefusedError: the compiler accepts neither the level's flags nor their fallback.
    """
    record = (RECORD_SWITCHES,) if RECORD_SWITCHES in accepted else ()
    ldflags = tuple(flag for flag in level.ldflags if flag in accepted)
    for flags in (level.cflags, level.fallback):
        if flags and all(flag in accepted for flag in flags):
            return (*recipe.base_cflags, *flags, *record), ldflags
    tried = " nor ".join(" ".join(flags) for flags in (level.cflags, level.fallback) if flags)
    who = f"the C compiler ({compiler})" if compiler else "the C compiler"
    raise RefusedError(
        f"{who} accepts neither {tried}" if level.fallback else f"{who} does not accept {tried}",
        hint=f"to build {level.name}, install gcc 11 or clang 12 or later; or choose a lower --level",
    )
