"""Simulate what the dynamic loader would map for a program and the libraries that it opens; nothing is loaded or run.

It models glibc's loader for a fresh process, from files alone. `start_process` begins with the program, its loader,
what is preloaded, and all that they need; the process then opens libraries one after the other and tells what is
mapped, why, and to what symbols are bound.

Not known here: what other packages have loaded before; of a program that musl's loader begins anything but that; and
the subdirectories of platforms ("tls", "haswell") that loaders before glibc 2.37 search beside those of levels.

Sources: ld.so(8), "LD_PRELOAD"; glibc's elf/rtld.c.
"""

from pathlib import Path, PurePosixPath

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.loader.ld_so_cache import read_loader_cache
from fastinstall.elf.loader.opened_files import (
    INTERPRETER,
    PROGRAM,
    MappedFile,
    ReadFile,
    Root,
    RootedFiles,
    UnloadableFileError,
)
from fastinstall.elf.loader.search import GlibcSearch
from fastinstall.elf.loader.simulated_process import SimulatedProcess, breadth_first

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
    settings = ProcessSettings(program=main, library_path=":".join(map(str, library_path)), hwcaps=hwcaps)
    process = begin(settings, machine=read_dynamic(path).machine)
    if not process.is_simulated:
        return ()
    if cache is not None:
        process.search.cache = read_loader_cache(cache)
    opened = process.load(str(path.absolute()), process.main).file
    if opened is None:
        return ()
    opened.requester = None
    seen = {opened}
    answers: dict[str, ResolvedLibrary] = {}
    for requester, request in process.bring_in([opened]):
        if request.file in seen:
            continue
        found = Path(process.tidy(request.file)) if request.file is not None else None
        answer = ResolvedLibrary(
            soname=request.name, path=found, needed_by=Path(process.tidy(requester)), problem=request.problem
        )
        answers.setdefault(request.name, answer)
        seen |= {request.file} if request.file is not None else set()
    return tuple(answers.values())


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
    """

    program: Path | None
    library_path: str = ""
    preload: str = ""
    hwcaps: tuple[str, ...] = ()
    root: Path = Path("/")
    working_directory: str = "/"
    level: str | None = None


def start_process(settings: ProcessSettings) -> SimulatedProcess:
    """Begin a process.

    Where there is no program that could be begun, the process says so in its `problem`, and opens
    libraries all the same, by the rules of glibc; but for one that musl's loader begins, which
    these rules say nothing of (`is_simulated`).
    """
    process = begin(settings)
    process.missing += process.find_failures(process.files)
    return process


def begin(settings: ProcessSettings, *, machine: str = "") -> SimulatedProcess:
    """The same without the checks that follow when all files are mapped.

    Args:
        settings: what the files depend on.
        machine: which it has to be for; empty: the program's.
    """
    files = RootedFiles(root=Root(settings.root, settings.working_directory), machine=machine)
    path, read, problem = _find_program(files, settings.program)
    interpreter = (read.file.interpreter if read is not None else None) or ""
    is_simulated = not PurePosixPath(interpreter).name.startswith(_MUSL)
    if not is_simulated:
        read, problem = None, f"{settings.program} is begun by musl's loader, and only glibc's is simulated"
    search = GlibcSearch(
        files=files,
        interpreter=interpreter,
        library_path=settings.library_path,
        hwcaps=settings.hwcaps,
    )
    level = settings.level or next(iter(settings.hwcaps), None)
    process = SimulatedProcess(search=search, problem=problem, is_simulated=is_simulated)
    process.level = level if search.build.knows_levels else None
    if read is not None:
        _map_program(process, path, read)
        _bring_in(process, (*process.files[:1], *_map_preloaded_files(process, settings.preload)))
    return process


def _find_program(files: RootedFiles, program: Path | None) -> tuple[str, ReadFile | None, str]:
    """The program by its real path, as the kernel knows it; and why it cannot run."""
    if program is None:
        return "", None, "no program is known"
    try:
        path = files.root.real(str(program))
        read = files.read(path)
    except OSError as error:
        return "", None, f"{program}: {error.strerror or error}"
    except UnloadableFileError as error:
        return "", None, str(error)
    if read is None:
        there = Path(files.root.place(path)).exists()
        return path, None, f"{program}: {'a program for another machine' if there else 'not found'}"
    return path, read, "" if read.file.interpreter else f"{program}: a static program, which has no loader"


def _map_program(process: SimulatedProcess, path: str, program: ReadFile) -> None:
    """The program and its loader, which is there from the start."""
    search, interpreter = process.search, program.file.interpreter
    search.main = search.map(path, program, PROGRAM, name=path, names=set())
    process.files.append(search.main)
    if interpreter is None:
        return
    try:
        read = search.files.read(interpreter)
    except (OSError, UnloadableFileError):
        read = None
    if read is None:
        process.problem = f"{path}: its loader {interpreter} cannot be read"
    else:
        process.files.append(search.map(interpreter, read, INTERPRETER, name=interpreter, names={interpreter}))


def _map_preloaded_files(process: SimulatedProcess, preload: str) -> list[MappedFile]:
    """What is preloaded; the loader ignores what it cannot preload."""
    preloaded = []
    for name, reason in process.search.preloads(preload):
        count = len(process.files)
        file = process.load(name, process.main).file
        if file is not None and len(process.files) > count:
            file.needed_by, file.reason = None, reason
            preloaded.append(file)
    return preloaded


def _bring_in(process: SimulatedProcess, roots: tuple[MappedFile, ...]) -> None:
    """Map what the roots need; the loader takes the place in the list that it has in the global scope."""
    for requester, request in process.bring_in(roots):
        if request.file is None:
            process.missing.append(process.describe_missing(requester, request))
    process.scope = list(breadth_first(roots))
    place = next((number for number, file in enumerate(process.scope) if file.reason == INTERPRETER), None)
    if place is not None:
        interpreter = process.scope[place]
        process.files.remove(interpreter)
        process.files.insert(process.files.index(process.scope[place - 1]) + 1, interpreter)
