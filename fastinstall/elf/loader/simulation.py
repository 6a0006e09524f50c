"""Simulate what the dynamic loader would map for a program and the libraries that it opens; nothing is loaded or run.

It models glibc's loader for a fresh process, from files alone: the filesystem may be a container's, with a loader, a
cache and links of its own. `start_process` begins with the program, its loader, what is preloaded, and all that they
need; the process then opens libraries one after the other and tells what is mapped, why, and to what symbols are bound.
What other packages have loaded before is not known here, and of a program that musl's loader begins nothing but that.

Sources: ld.so(8), "LD_PRELOAD"; glibc's elf/rtld.c.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.loader.ld_so_cache import read_loader_cache
from fastinstall.elf.loader.opened_files import (
    INTERPRETER,
    PROGRAM,
    LibrarySearchResult,
    MappedFile,
    ResolvedDependency,
    Root,
    RootedFiles,
    UnloadableFileError,
)
from fastinstall.elf.loader.search import GlibcSearch, LinkMap
from fastinstall.elf.loader.simulated_process import Checks, SimulatedProcess

_MUSL = "ld-musl-"


@immutable
class ResolvedLibrary:
    """What one DT_NEEDED entry resolves to.

    Attributes:
        soname: the name asked for.
        path: the file, or None if the loader would fail.
        needed_by: the file that asked first.
        problem: why there is no path; empty if there is one.
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

    Returns:
        Nothing where the program is begun by musl's loader, whose rules are not known here.

    Raises:
        ElfError: `path` cannot be read as an ELF file.
        OSError: `path` cannot be opened.
    """
    machine = read_dynamic(path).machine
    process = begin(
        ProcessSettings(program=main, library_path=":".join(map(str, library_path)), hwcaps=hwcaps),
        machine=machine,
    )
    if not process.is_simulated:
        return ()
    if cache is not None:
        process.link_map.search.cache = read_loader_cache(cache)
    opened = process.link_map.load(str(path.absolute()), process.main).file
    if opened is None:
        return ()
    opened.requester = None
    seen = {opened}
    answers: dict[str, ResolvedLibrary] = {}
    for requester, request in process.link_map.bring_in([opened]):
        if request.file not in seen:
            answers.setdefault(request.name, _make_resolved_library(process, requester, request))
        if request.file is not None:
            seen.add(request.file)
    return tuple(answers.values())


def _make_resolved_library(
    process: SimulatedProcess, requester: MappedFile, request: ResolvedDependency
) -> ResolvedLibrary:
    tidy = process.link_map.tidy
    path = Path(tidy(request.file.path)) if request.file is not None else None
    return ResolvedLibrary(
        soname=request.name, path=path, needed_by=Path(tidy(requester.path)), problem=request.problem
    )


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
        capabilities: for what else loaders before glibc 2.37 search, in their order ("avx512_1", "x86_64");
            None: the machine.
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


def start_process(settings: ProcessSettings) -> SimulatedProcess:
    """Begin a process.

    Where there is no program that could be begun, the process says so in its `problem`, and opens
    libraries all the same, by the rules of glibc; but for one that musl's loader begins, which
    these rules say nothing of (`is_simulated`).
    """
    process = begin(settings)
    process.missing += process.checks.failures(process.files, process.link_map)
    return process


def begin(settings: ProcessSettings, *, machine: str = "") -> SimulatedProcess:
    """The same without the checks that follow when all files are mapped.

    Args:
        settings: what the files depend on.
        machine: which it has to be for; empty: the program's.
    """
    files = RootedFiles(root=Root(settings.root, settings.working_directory), machine=machine)
    program, problem = _find_program(files, settings.program)
    interpreter = (program.read.file.interpreter if program is not None else None) or ""
    is_simulated = not PurePosixPath(interpreter).name.startswith(_MUSL)
    if not is_simulated:
        program, problem = None, f"{settings.program} is begun by musl's loader, and only glibc's is simulated"
    process = _make_process(_search(files, settings, interpreter), settings, problem)
    process.is_simulated = is_simulated
    if program is not None:
        main = _map_program(process, program)
        _bring_in(process, (main, *_map_preloaded_files(process, settings)))
    return process


def _find_program(files: RootedFiles, program: Path | None) -> tuple[LibrarySearchResult | None, str]:
    """The program by its real path, as the kernel knows it; and why it cannot run."""
    if program is None:
        return None, "no program is known"
    try:
        path = files.root.real(str(program))
        read = files.read(path)
    except OSError as error:
        return None, f"{program}: {error.strerror or error}"
    except UnloadableFileError as error:
        return None, str(error)
    if read is None:
        there = Path(files.root.place(path)).exists()
        return None, f"{program}: {'a program for another machine' if there else 'not found'}"
    problem = "" if read.file.interpreter else f"{program}: a static program, which has no loader"
    return LibrarySearchResult(path=path, read=read, reason=PROGRAM), problem


def _search(files: RootedFiles, settings: ProcessSettings, interpreter: str) -> GlibcSearch:
    return GlibcSearch(
        files=files,
        interpreter=interpreter,
        library_path=settings.library_path,
        hwcaps=settings.hwcaps,
        platform=settings.platform,
        capabilities=settings.capabilities,
    )


def _make_process(search: GlibcSearch, settings: ProcessSettings, problem: str) -> SimulatedProcess:
    level = settings.level or next(iter(settings.hwcaps), None)
    checks = Checks(level=level if search.refuses_levels else None)
    return SimulatedProcess(link_map=LinkMap(search=search), checks=checks, problem=problem)


def _map_program(process: SimulatedProcess, program: LibrarySearchResult) -> MappedFile:
    """The program and its loader, which is there from the start."""
    link_map = process.link_map
    search, interpreter = link_map.search, program.read.file.interpreter
    search.main = link_map.add(program, program.path, None, set())
    if interpreter is None:
        return search.main
    try:
        read = search.files.read(interpreter)
    except (OSError, UnloadableFileError):
        read = None
    if read is None:
        process.problem = f"{program.path}: its loader {interpreter} cannot be read"
    else:
        link_map.add(
            LibrarySearchResult(path=interpreter, read=read, reason=INTERPRETER), interpreter, None, {interpreter}
        )
    return search.main


def _map_preloaded_files(process: SimulatedProcess, settings: ProcessSettings) -> Iterator[MappedFile]:
    """What is preloaded; the loader ignores what it cannot preload."""
    link_map = process.link_map
    for names, reason in link_map.search.preloads(settings.preload):
        for name in names:
            count = len(link_map.files)
            file = link_map.load(name, link_map.search.main).file
            if file is not None and len(link_map.files) > count:
                file.needed_by, file.reason = None, reason
                yield file


def _bring_in(process: SimulatedProcess, roots: tuple[MappedFile, ...]) -> None:
    link_map = process.link_map
    for requester, request in link_map.bring_in(roots):
        if request.file is None:
            process.missing.append(link_map.missing(requester, request))
    process.scope = link_map.search.settle(roots, link_map.files)
