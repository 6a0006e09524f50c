"""Subdirectories that the loader looks into before each directory of its search, for the CPU that it runs on.

Sources: glibc's elf/dl-hwcaps.c, sysdeps/x86/cpu-features.c; ld.so(8), "Hardware capabilities".
"""

from collections.abc import Iterator
from itertools import compress, product

from fastinstall.binary.loader_build import LoaderBuild

_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2")


def usable_hwcaps(level: str | None) -> tuple[str, ...]:
    """The glibc-hwcaps subdirectories that a CPU of a level uses, best first: for "x86-64-v3" v3, then v2."""
    return _LEVELS[_LEVELS.index(level) :] if level in _LEVELS else ()


def subdirectories(build: LoaderBuild, hwcaps: tuple[str, ...], older: tuple[str, ...]) -> tuple[str, ...]:
    """What is put behind a directory, in order, each with a slash at its end; the last is "".

    Args:
        build: the loader.
        hwcaps: the subdirectories of glibc-hwcaps that the CPU can use, best first.
        older: what loaders before glibc 2.37 search for: what $PLATFORM stands for, then the capabilities.
    """
    levels = (f"glibc-hwcaps/{level}/" for level in hwcaps if build.knows_levels)
    selections = _selections(("tls", *older)) if build.knows_platforms else ()
    return (*dict.fromkeys((*levels, *selections)), "")


def _selections(parts: tuple[str, ...]) -> Iterator[str]:
    """Every selection of the parts but the empty one, as a path."""
    for selection in product((True, False), repeat=len(parts)):
        if any(selection):
            yield "".join(f"{part}/" for part in compress(parts, selection))
