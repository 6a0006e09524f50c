"""Where glibc's loader looks for a name, list by list and directory by directory, and what it takes there.

The order: DT_RPATH of the requester and of those that asked for it, only if the requester has no DT_RUNPATH; the
program's DT_RPATH; LD_LIBRARY_PATH; the requester's own DT_RUNPATH; the loader's cache; the default directories.
Sources: ld.so(8); glibc's elf/dl-load.c.

Before each directory it looks into the subdirectories for the CPU that it runs on. Sources: glibc's elf/dl-hwcaps.c,
sysdeps/x86/cpu-features.c; ld.so(8), "Hardware capabilities".

The link map: which files are mapped, in which order, and how one that is asked for gets there.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress, product
from pathlib import Path, PurePosixPath

from fastinstall.core import foreign
from fastinstall.elf.description import MissingLibrary
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError, ForeignElfError
from fastinstall.elf.loader.ld_so_cache import LoaderBuild, LoaderCache, read_build, read_loader_cache, standard_loader
from fastinstall.elf.loader.opened_files import (
    INTERPRETER,
    PRELOADED,
    LibrarySearchResult,
    MappedFile,
    ResolvedDependency,
    RootedFiles,
    UnloadableFileError,
)

_TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_]))")

Directories = tuple[str, ...]


@dataclass(slots=True, eq=False, kw_only=True)
class GlibcSearch:
    """The search of one process.

    Attributes:
        files: reads what is looked at.
        interpreter: the loader's path; empty: the usual one of the machine.
        library_path: the variable LD_LIBRARY_PATH.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first.
        platform: what $PLATFORM stands for; empty: the machine.
        capabilities: see `ProcessSettings`.
        main: the program.
    """

    files: RootedFiles
    interpreter: str = ""
    library_path: str = ""
    hwcaps: tuple[str, ...] = ()
    platform: str = ""
    capabilities: tuple[str, ...] | None = None
    main: MappedFile | None = None
    cache: LoaderCache | None = None
    _build: LoaderBuild | None = None
    _subdirectories: Directories = ()
    _lists: dict[tuple[MappedFile | None, str], Directories] = field(default_factory=dict)

    @property
    def refuses_levels(self) -> bool:
        """Whether files above the CPU's level are refused."""
        return self.build.knows_levels

    @property
    def build(self) -> LoaderBuild:
        """What the loader was compiled to do."""
        if self._build is None:
            machine = self.files.machine
            self._build = read_build(self.files.root, self.interpreter or standard_loader(machine), machine)
        return self._build

    def known(self, name: str, files: Iterable[MappedFile]) -> MappedFile | None:
        """The first file that was asked for by the name, or calls itself so: there is no search then."""
        found = next((file for file in files if file.answers_to(name)), None)
        if found is not None:
            found.names.add(name)
        return found

    def same(self, found: LibrarySearchResult, name: str, files: Iterable[MappedFile]) -> MappedFile | None:
        """The file that was found, if it is mapped already; it answers to the name from now on.

        What the kernel has mapped, the program and the loader, is not known again by its inode.

        Raises:
            DamagedError: it is the program, which cannot be mapped once more.
        """
        if self.main is not None and found.read.identity == self.main.identity:
            raise UnloadableFileError(found.path, "a program cannot be opened as a library")
        others = (file for file in files if file.reason != INTERPRETER)
        same = next((file for file in others if file.identity == found.read.identity), None)
        if same is not None:
            same.names.add(name)
        return same

    def names(self, name: str, found: LibrarySearchResult) -> set[str]:
        """What a file answers to when it is mapped."""
        return {name, found.path}

    def origin(self, path: str) -> str:
        """What $ORIGIN stands for: the directory of the path that was used, from "/" on."""
        return self.files.root.absolute(path).rpartition("/")[0] or "/"

    def preloads(self, variable: str) -> Iterator[tuple[list[str], str]]:
        """The names in LD_PRELOAD and in the system's file, by where they are from."""
        yield _split_names(variable, " :"), PRELOADED
        try:
            content = foreign.read_text(Path(self.files.root.place(self.build.preload)), errors="surrogateescape")
        except OSError:
            return
        yield _split_names(re.sub("#.*", "", content), " \t\n:"), self.build.preload

    def settle(self, roots: tuple[MappedFile, ...], files: list[MappedFile]) -> list[MappedFile]:
        """The global scope; the loader takes the place in the list that it has there."""
        scope = list(breadth_first(roots))
        interpreter = next((file for file in scope if file.reason == INTERPRETER), None)
        if interpreter is not None:
            files.remove(interpreter)
            files.insert(files.index(scope[scope.index(interpreter) - 1]) + 1, interpreter)
        return scope

    def expand(self, text: str, user: MappedFile | None) -> str:
        """Replace $ORIGIN, $LIB and $PLATFORM, with or without braces."""
        if "$" not in text or user is None:
            return text
        values = {"ORIGIN": user.origin, "LIB": self.build.library, "PLATFORM": self.platform or user.file.machine}
        return _TOKEN.sub(lambda match: values[match[1] or match[2]], text)

    def search(self, name: str, requester: MappedFile | None) -> LibrarySearchResult | None:
        """Look up a name or a path, or return None if nothing fits.

        Raises:
            DamagedError: the search ends at a file that cannot be loaded.
        """
        if "/" in name:
            return self._take(self.expand(name, requester), "path in DT_NEEDED", requester)
        for reason, source, directories in self._list_paths_before_cache(requester):
            if found := self._search_directories(directories, name, reason, source):
                return found
        return self._search_system(name, requester)

    def _take(self, path: str, reason: str, source: MappedFile | None = None) -> LibrarySearchResult | None:
        try:
            read = self.files.read(path)
        except OSError:
            return None
        return LibrarySearchResult(path=path, read=read, reason=reason, source=source) if read is not None else None

    def _search_directories(
        self, directories: Directories, name: str, reason: str, source: MappedFile | None = None
    ) -> LibrarySearchResult | None:
        """A path that cannot be followed ends a list, unless it is only a subdirectory's."""
        for directory in directories:
            for place in self._list_places(directory):
                try:
                    read = self.files.read(place + name)
                except OSError:
                    if place == directory:
                        return None
                    continue
                if read is not None:
                    return LibrarySearchResult(path=place + name, read=read, reason=reason, source=source)
        return None

    def _list_places(self, directory: str) -> Iterator[str]:
        if not self._subdirectories:
            machine = self.files.machine
            capabilities = self.capabilities if self.capabilities is not None else (machine,)
            older = (self.platform or machine, *capabilities)
            self._subdirectories = subdirectories(self.build, self.hwcaps, older)
        if directory.startswith("/") and not self.files.has_directory(directory):
            return
        for subdirectory in self._subdirectories:
            if not subdirectory or self.files.has_directory(directory + subdirectory):
                yield directory + subdirectory

    def _list_paths_before_cache(
        self, requester: MappedFile | None
    ) -> Iterator[tuple[str, MappedFile | None, Directories]]:
        if requester is None or requester.file.runpath is None:
            for asking in self._list_requesters(requester):
                if asking.file.runpath is None:
                    yield "DT_RPATH", asking, self._split_search_path(asking, asking.file.rpath)
        yield "LD_LIBRARY_PATH", None, self._split_search_path(self.main, self.library_path.replace(";", ":"))
        if requester is not None:
            yield "DT_RUNPATH", requester, self._split_search_path(requester, requester.file.runpath)

    def _list_requesters(self, requester: MappedFile | None) -> Iterator[MappedFile]:
        """The requester, who asked for it, and so on; then the program, if it was not among them."""
        asking = requester
        while asking is not None:
            yield asking
            if asking is self.main:
                return
            asking = asking.requester
        if self.main is not None:
            yield self.main

    def _split_search_path(self, user: MappedFile | None, search: str | None) -> Directories:
        """The directories of a search path, each with a slash at its end; an empty one is the working directory."""
        if not search:
            return ()
        key = user, search
        if key not in self._lists:
            parts = ((part, self.expand(part, user)) for part in search.split(":"))
            found = (text.rstrip("/") + "/" if text else "" for part, text in parts if text or not part)
            self._lists[key] = tuple(dict.fromkeys(found))
        return self._lists[key]

    def _search_system(self, name: str, requester: MappedFile | None) -> LibrarySearchResult | None:
        defaults = self.build.directories
        allowed = requester is None or requester.file.default_directories
        cached = self._find_cached(name)
        if cached is not None and (allowed or not cached.startswith(defaults)):
            found = self._take(cached, "ld.so.cache")
            if found is not None:
                return found
        return self._search_directories(defaults, name, "default directory") if allowed else None

    def _find_cached(self, name: str) -> str | None:
        if self.cache is None:
            self.cache = read_loader_cache(Path(self.files.root.place(self.build.cache)))
        return self.cache.find(name, self.files.machine, self.hwcaps if self.build.knows_levels else ())


def _split_names(text: str, separators: str) -> list[str]:
    return [name for name in re.split(f"[{separators}]", text) if name]


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
    selections = _list_selections(("tls", *older)) if build.knows_platforms else ()
    return (*dict.fromkeys((*levels, *selections)), "")


def _list_selections(parts: tuple[str, ...]) -> Iterator[str]:
    """Every selection of the parts but the empty one, as a path."""
    for selection in product((True, False), repeat=len(parts)):
        if any(selection):
            yield "".join(f"{part}/" for part in compress(parts, selection))


_ABSENT = "not found"


@dataclass(slots=True, eq=False, kw_only=True)
class LinkMap:
    """The files of a process in the order they came in.

    Attributes:
        search: how a name is recognised and looked for.
        files: in load order.
    """

    search: "GlibcSearch"
    files: list[MappedFile] = field(default_factory=list)

    def add(self, found: LibrarySearchResult, name: str, requester: MappedFile | None, names: set[str]) -> MappedFile:
        """Map a file, behind the others."""
        added = MappedFile(
            path=found.path,
            place=found.read.place,
            origin=self.search.origin(found.path),
            file=found.read.file,
            requester=requester,
            needed_by=requester,
            identity=found.read.identity,
            name=name,
            names=names,
            reason=found.reason if found.source is None else f"{found.reason} of {self.tidy(found.source.path)}",
        )
        self.files.append(added)
        return added

    def load(self, name: str, requester: MappedFile | None) -> ResolvedDependency:
        """A file that answers to the name, else one found by a search."""
        known = self.search.known(name, self.files)
        if known is not None:
            return ResolvedDependency(name=name, file=known)
        try:
            found = self.search.search(name, requester)
            if found is None:
                return ResolvedDependency(name=name, file=None, problem=self._explain_absence(name))
            same = self.search.same(found, name, self.files)
        except UnloadableFileError as error:
            return ResolvedDependency(name=name, file=None, problem=str(error))
        if same is not None:
            return ResolvedDependency(name=name, file=same)
        return ResolvedDependency(name=name, file=self.add(found, name, requester, self.search.names(name, found)))

    def bring_in(self, roots: Iterable[MappedFile]) -> Iterator[tuple[MappedFile, ResolvedDependency]]:
        """Bring in what the roots need, breadth-first: each file that asks, and what it is answered."""
        queue = list(roots)
        seen = set(queue)
        for requester in queue:
            for request in self._load_dependencies(requester):
                yield requester, request
                if request.file is not None and request.file not in seen:
                    seen.add(request.file)
                    queue.append(request.file)

    def missing(self, requester: MappedFile, request: ResolvedDependency) -> MissingLibrary:
        """A request that is not met, as a value."""
        needed_by = self.tidy(requester.path)
        return MissingLibrary(name=request.name, needed_by=needed_by, problem=request.problem)

    def tidy(self, path: str) -> PurePosixPath:
        """A path from "/" on and without `..`, where that names the same file."""
        root = self.search.files.root
        absolute = root.absolute(path)
        if "/." not in absolute:
            return PurePosixPath(absolute)
        shorter = os.path.normpath(absolute)
        try:
            same = Path(root.place(absolute)).samefile(root.place(shorter))
        except OSError:
            same = False
        return PurePosixPath(shorter if same else absolute)

    def _explain_absence(self, name: str) -> str:
        """Why there is no file: what is asked for by path may be there, and for another machine."""
        if "/" not in name:
            return _ABSENT
        try:
            machine = read_dynamic(Path(self.search.files.root.place(name))).machine
        except ForeignElfError as error:
            return error.problem
        except (OSError, ElfError):
            return _ABSENT
        return f"built for {machine}, not for {self.search.files.machine}"

    def _load_dependencies(self, requester: MappedFile) -> Iterator[ResolvedDependency]:
        if requester.requests is not None:
            yield from requester.requests
            return
        requests = []
        for name in requester.file.needed:
            requests.append(self.load(self.search.expand(name, requester), requester))
            yield requests[-1]
        requester.requests = tuple(requests)


def breadth_first(roots: Iterable[MappedFile]) -> tuple[MappedFile, ...]:
    """The roots and what they need, as it was answered: the order in which symbols are looked up."""
    order = dict.fromkeys(roots)
    queue = list(order)
    for file in queue:
        for needed in file.needs:
            if needed not in order:
                order[needed] = None
                queue.append(needed)
    return tuple(queue)


class Rollback:
    """What a failed open leaves as it was: which files are mapped, and what they answered to when it failed.

    Names that a file got before the failure stay: the loader forgets no name of a file that stays.

    Args:
        files: the files of the process, before anything is opened.
    """

    __slots__ = ("_count", "_files", "_names")

    def __init__(self, files: list[MappedFile]) -> None:
        self._files = files
        self._count = len(files)
        self._names: list[tuple[MappedFile, set[str]]] = []

    @property
    def added(self) -> list[MappedFile]:
        """What was mapped since."""
        return self._files[self._count :]

    def failed(self) -> None:
        """Tell that the loader would stop here, while we go on to see what else is missing."""
        if not self._names:
            self._names = [(file, set(file.names)) for file in self._files[: self._count]]

    def undo(self) -> None:
        """Take out what was added, and the names that were given after the failure."""
        del self._files[self._count :]
        for file, names in self._names:
            file.names = names
