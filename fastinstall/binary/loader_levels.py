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


def subdirectories(build: LoaderBuild, machine: str, hwcaps: tuple[str, ...], platform: str) -> tuple[str, ...]:
    """What is put behind a directory, in order, each with a slash at its end; the last is "".

    Args:
        build: the loader.
        machine: "x86_64".
        hwcaps: the subdirectories of glibc-hwcaps that the CPU can use, best first.
        platform: what $PLATFORM stands for.
    """
    levels = (f"glibc-hwcaps/{level}/" for level in hwcaps if build.knows_levels)
    older = _platforms(machine, hwcaps, platform) if build.knows_platforms else ()
    return (*dict.fromkeys((*levels, *older)), "")


def _platforms(machine: str, hwcaps: tuple[str, ...], platform: str) -> Iterator[str]:
    """What loaders before glibc 2.37 search: every selection of "tls", platform and capabilities but the empty one."""
    parts = ["tls", platform]
    if machine == "x86_64":
        parts += ["avx512_1", machine] if platform == "haswell" and _LEVELS[0] in hwcaps else [machine]
    for selection in product((True, False), repeat=len(parts)):
        if any(selection):
            yield "".join(f"{part}/" for part in compress(parts, selection))
