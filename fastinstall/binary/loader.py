"""Which files the dynamic loader would bring in for a library that an interpreter opens; nothing is loaded.

A model of glibc's search for a fresh process: breadth-first; DT_RPATH of the requester and of those
that asked for it, only where the requester has no DT_RUNPATH; the program's DT_RPATH;
LD_LIBRARY_PATH; the requester's own DT_RUNPATH; the loader's cache; the default directories. In each
directory the subdirectories of glibc-hwcaps go first. A library opened at run time does not inherit
the DT_RPATH of whoever opened it. Sources: ld.so(8), glibc's elf/dl-load.c.

Not modelled: LD_PRELOAD, musl, the legacy hardware subdirectories of glibc before 2.37, directories
relative to the process's working directory, and what other packages have loaded before.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from fastinstall.binary.dynamic import DynamicFile, ElfError, ForeignElfError, read_dynamic
from fastinstall.binary.loader_cache import read_loader_cache
from fastinstall.binary.loader_search import MappedFile, Settings, candidates

_CACHE = Path("/etc/ld.so.cache")
_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLibrary:
    """What one DT_NEEDED entry resolves to.

    Attributes:
        soname: the name asked for.
        path: the file; None where the loader would fail.
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
    cache: Path = _CACHE,
) -> tuple[ResolvedLibrary, ...]:
    """Resolve everything that a library needs, directly or through others, in the loader's order.

    Args:
        path: the library that is opened at run time, an extension module.
        main: the program that opens it; one that is no ELF file (a script) is left out.
        library_path: the directories of LD_LIBRARY_PATH.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first (`usable_hwcaps`).
        cache: the loader's cache.

    Raises:
        ElfError: `path` cannot be read as an ELF file.
        OSError: `path` cannot be opened.
    """
    file = read_dynamic(path)
    directories = tuple(str(directory) for directory in library_path)
    settings = Settings(machine=file.machine, library_path=directories, hwcaps=hwcaps, cache=read_loader_cache(cache))
    process = _Process(settings=settings)
    if main is not None:
        process.start(main)
    return process.load_needed(process.open(str(path.absolute()), file))


def usable_hwcaps(level: str | None) -> tuple[str, ...]:
    """The glibc-hwcaps subdirectories that a CPU of a level uses, best first: for "x86-64-v3" v3, then v2."""
    return _LEVELS[_LEVELS.index(level) :] if level in _LEVELS else ()


class _DamagedError(Exception):
    """The search ends at a file that the loader would choke on."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Process:
    """The files of a process in the order they came in."""

    settings: Settings
    main: MappedFile | None = None
    files: list[MappedFile] = field(default_factory=list)

    def start(self, main: Path) -> None:
        """Bring in the program, its loader and its libraries; a program's origin is that of its real path."""
        try:
            real = main.resolve()
            self.main = self.open(str(real), read_dynamic(real))
            interpreter = self.main.file.interpreter
            if interpreter is not None:
                self.open(interpreter, read_dynamic(Path(interpreter)), self.main)
        except (OSError, ElfError):
            return
        self.load_needed(self.main)

    def open(self, path: str, file: DynamicFile, requester: MappedFile | None = None) -> MappedFile:
        """Add a file, whose origin is the directory of the path that was used."""
        opened = MappedFile(
            path=path,
            origin=path.rpartition("/")[0] or "/",
            file=file,
            requester=requester,
            identity=_identity(path),
            names={path},
        )
        self.files.append(opened)
        return opened

    def load_needed(self, root: MappedFile) -> tuple[ResolvedLibrary, ...]:
        """Bring in what `root` needs, breadth-first."""
        queue = [root]
        answers: dict[str, ResolvedLibrary] = {}
        for requester in queue:
            for name in map(requester.expand, requester.file.needed):
                found, problem = self._find(name, requester)
                if found is None or found not in queue:
                    answers.setdefault(name, _answer(name, requester, found, problem))
                if found is not None and found not in queue:
                    queue.append(found)
        return tuple(answers.values())

    def _find(self, name: str, requester: MappedFile) -> tuple[MappedFile | None, str]:
        """A file that answers to the name, else one found by a search; with the problem if there is none."""
        for known in self.files:
            if known.answers_to(name):
                known.names.add(name)
                return known, ""
        try:
            return self._search(name, requester), "not found"
        except _DamagedError as damaged:
            return None, str(damaged)

    def _search(self, name: str, requester: MappedFile) -> MappedFile | None:
        for candidate in candidates(name, requester, self.main, self.settings):
            file = self._read(candidate)
            if file is not None:
                found = self._of_identity(_identity(candidate)) or self.open(candidate, file, requester)
                found.names.add(name)
                return found
        return None

    def _of_identity(self, identity: tuple[int, int]) -> MappedFile | None:
        return next((known for known in self.files if known.identity == identity), None)

    def _read(self, candidate: str) -> DynamicFile | None:
        """A file of another machine is passed over like a missing one; a damaged one ends the search."""
        try:
            file = read_dynamic(Path(candidate))
        except (OSError, ForeignElfError):
            return None
        except ElfError as error:
            raise _DamagedError(str(error)) from error
        return file if file.machine == self.settings.machine else None


def _identity(path: str) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_dev, status.st_ino


def _answer(name: str, requester: MappedFile, found: MappedFile | None, problem: str) -> ResolvedLibrary:
    needed_by = _tidy(requester.path)
    if found is None:
        return ResolvedLibrary(soname=name, path=None, needed_by=needed_by, problem=problem)
    return ResolvedLibrary(soname=name, path=_tidy(found.path), needed_by=needed_by)


def _tidy(path: str) -> Path:
    """Without `..`, where that names the same file."""
    if "/.." not in path:
        return Path(path)
    shorter = Path(os.path.normpath(path))
    return shorter if shorter.exists() and shorter.samefile(path) else Path(path)
