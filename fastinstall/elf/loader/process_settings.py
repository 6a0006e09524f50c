"""What the files of a process depend on: its program, the variables of its loader, the CPU."""

from pathlib import Path

from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.values import immutable


def usable_hwcaps(level: str | None) -> tuple[str, ...]:
    """Return the glibc-hwcaps subdirectories that a CPU of a level uses, best first.

    >>> usable_hwcaps("x86-64-v3"), usable_hwcaps(None)
    (('x86-64-v3', 'x86-64-v2'), ())
    """
    listed = next((each.hwcaps for each in ARCHITECTURES if level in each.hwcaps), ())
    return listed[listed.index(level) :] if level is not None and listed else ()


@immutable
class ProcessSettings:
    """What the files of a process depend on.

    Attributes:
        program: the executable, as the process sees it; its links are followed. None if it is not known.
        library_path: the variable LD_LIBRARY_PATH, as written.
        preload: the variable LD_PRELOAD, as written.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first (`usable_hwcaps`).
        root: the directory that stands for "/".
        working_directory: from which relative paths go.
        level: the CPU's feature level, above which glibc refuses files; None: the best of `hwcaps`, and
            without those nothing is refused.
        platform: what $PLATFORM stands for, "haswell" on Intel's CPUs from AVX2 on; empty: the machine.
        capabilities: for what else loaders before glibc 2.37 search, in their order ("avx512_1", "x86_64";
            "atomics"); None: for what they do on every CPU of the machine.
        page_size: of the kernel, in bytes; files that are made for smaller pages are refused. 0: not known.
    """

    program: Path | None
    library_path: str = ""
    preload: str = ""
    hwcaps: tuple[str, ...] = ()
    root: Path = Path("/")
    working_directory: str = "/"
    level: str | None = None
    platform: str = ""
    capabilities: tuple[str, ...] | None = None
    page_size: int = 0
