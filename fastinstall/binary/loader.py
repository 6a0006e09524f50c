"""What the dynamic loader would map for a program and for the libraries that it opens; nothing is loaded or run.

A model of the loaders of glibc and musl for a fresh process, from files alone: the filesystem may be
a container's, with a loader, a cache and links of its own. `start_process` begins a process, which
opens libraries one after the other and tells what is mapped, why, and to what symbols are bound.
What other packages have loaded before is not known here.
"""

from pathlib import Path

from fastinstall.binary.dynamic import read_dynamic
from fastinstall.binary.loader_cache import read_loader_cache
from fastinstall.binary.loader_files import MappedFile, Request
from fastinstall.binary.loader_levels import usable_hwcaps
from fastinstall.binary.loader_process import Opened, SimulatedProcess
from fastinstall.binary.loader_search import GlibcSearch
from fastinstall.binary.loader_start import ProcessSettings, begin, start_process
from fastinstall.model.immutable import immutable

__all__ = [
    "MappedFile",
    "Opened",
    "ProcessSettings",
    "ResolvedLibrary",
    "SimulatedProcess",
    "resolve_libraries",
    "start_process",
    "usable_hwcaps",
]


@immutable
class ResolvedLibrary:
    """What one DT_NEEDED entry resolves to.

    Attributes:
        soname: the name asked for.
        path: the file, or None if the loader would fail.
        needed_by: the file that asked first.
        problem: why there is no path; empty where there is one.
    """

    soname: str
    path: Path | None
    needed_by: Path
    problem: str = ""


def resolve_libraries(
    path: Path,
    *,
    main: Path | None = None,
    library_path: tuple[Path, ...] = (),
    hwcaps: tuple[str, ...] = (),
    cache: Path | None = None,
) -> tuple[ResolvedLibrary, ...]:
    """Resolve everything that a library needs, directly or through others, in the loader's order.

    Args:
        path: the library that is opened at run time, an extension module.
        main: the program that opens it; one that is no ELF file (a script) is left out.
        library_path: the directories of LD_LIBRARY_PATH.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first (`usable_hwcaps`).
        cache: a loader's cache to go by; None: the one that is there.

    Raises:
        ElfError: `path` cannot be read as an ELF file.
        OSError: `path` cannot be opened.
    """
    machine = read_dynamic(path).machine
    process = begin(
        ProcessSettings(program=main, library_path=":".join(map(str, library_path)), hwcaps=hwcaps),
        machine=machine,
    )
    search = process.link_map.search
    if cache is not None and isinstance(search, GlibcSearch):
        search.cache = read_loader_cache(cache)
    opened = process.link_map.load(str(path.absolute()), search.opener(process.main)).file
    if opened is None:
        return ()
    opened.requester = search.heir(process.main)
    seen = {opened}
    answers: dict[str, ResolvedLibrary] = {}
    for requester, request in process.link_map.bring_in([opened]):
        if request.file not in seen:
            answers.setdefault(request.name, _answer(process, requester, request))
        if request.file is not None:
            seen.add(request.file)
    return tuple(answers.values())


def _answer(process: SimulatedProcess, requester: MappedFile, request: Request) -> ResolvedLibrary:
    tidy = process.link_map.tidy
    path = Path(tidy(request.file.path)) if request.file is not None else None
    return ResolvedLibrary(
        soname=request.name, path=path, needed_by=Path(tidy(requester.path)), problem=request.problem
    )
