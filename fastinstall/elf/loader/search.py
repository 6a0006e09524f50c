"""Where glibc's loader looks for a name, list by list and directory by directory, and what it takes there.

The order: DT_RPATH of the requester and of those that asked for it, only if the requester has no DT_RUNPATH; the
program's DT_RPATH; LD_LIBRARY_PATH; the requester's own DT_RUNPATH; the loader's cache; the default directories.
Sources: ld.so(8); glibc's elf/dl-load.c.

Before each directory it looks into the subdirectories of glibc-hwcaps for the CPU's levels. Sources: glibc's
elf/dl-hwcaps.c; ld.so(8), "Hardware capabilities".
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, product
from pathlib import Path, PurePosixPath

from fastinstall.core import foreign
from fastinstall.core.architecture import architecture_of
from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import DynamicFile
from fastinstall.elf.image import ElfError, open_image
from fastinstall.elf.loader.ld_so_cache import LoaderCache, read_loader_cache
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.elf.loader.rooted_files import Identity, ReadFile, RootedFiles

_DIRECTORIES = re.compile(rb"\0((?:/(?:[\w.+-]+/)*lib[\w.+-]*/(?:[\w.+-]+/)*\0)+)")
_VERSION = re.compile(rb"release version (\d+)\.(\d+)")
_CACHE = re.compile(rb"\0(/[^\0]*/ld\.so\.cache)\0")
_PRELOAD = re.compile(rb"\0(/[^\0]*/ld\.so\.preload)\0")
_CACHE_FILE, _PRELOAD_FILE = "/etc/ld.so.cache", "/etc/ld.so.preload"
_GENERAL_DIRECTORIES = ("/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/")
_BEFORE_LEVELS, _CURRENT = (2, 32), (2, 37)
_LEVELS_SINCE, _PLATFORMS_UNTIL = (2, 33), (2, 37)


@immutable
class LoaderBuild:
    """The settings of one loader of glibc.

    Attributes:
        directories: where it looks last, each with a slash at its end.
        library: what $LIB stands for: "lib/x86_64-linux-gnu", "lib64".
        version: of glibc; one before 2.33 does not say, and counts as 2.32.
        cache: the file that `ldconfig` writes.
        preload: the file of libraries for every process.
    """

    directories: tuple[str, ...]
    library: str
    version: tuple[int, int] = _CURRENT
    cache: str = _CACHE_FILE
    preload: str = _PRELOAD_FILE

    @property
    def knows_levels(self) -> bool:
        """Whether it searches glibc-hwcaps and refuses files above the CPU's level (glibc 2.33)."""
        return self.version >= _LEVELS_SINCE

    @property
    def knows_platforms(self) -> bool:
        """Whether it searches the older subdirectories "tls", "haswell", "x86_64" too (before glibc 2.37)."""
        return self.version < _PLATFORMS_UNTIL


def read_build(loader: Path, machine: str) -> LoaderBuild:
    """Read a loader of glibc; one that cannot be read counts as a current one of Debian's.

    Args:
        loader: the loader's file, as a program names it in PT_INTERP.
        machine: which it is for.
    """
    content = b""
    with suppress(OSError, ElfError), open_image(loader) as image:
        content = image.constants()
    found = _DIRECTORIES.search(content)
    if found is None:
        own = f"lib/{architecture_of(machine).target}"
        return LoaderBuild(directories=(f"/{own}/", f"/usr/{own}/", *_GENERAL_DIRECTORIES), library=own)
    directories = tuple(name.decode() for name in found[1].split(b"\0") if name)
    version, cache, preload = (pattern.search(content) for pattern in (_VERSION, _CACHE, _PRELOAD))
    # $LIB is the last component of the first directory, on Debian with the "lib" before it
    first = PurePosixPath(directories[0])
    return LoaderBuild(
        directories=directories,
        library=f"lib/{first.name}" if first.parent.name == "lib" else first.name,
        version=(int(version[1]), int(version[2])) if version else _BEFORE_LEVELS,
        cache=os.fsdecode(cache[1]) if cache else _CACHE_FILE,
        preload=os.fsdecode(preload[1]) if preload else _PRELOAD_FILE,
    )


_TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_]))")

Directories = tuple[str, ...]


PROGRAM, INTERPRETER, PRELOADED, OPENED = "the program", "the program's loader", "LD_PRELOAD", "opened"
"""Reasons for which a file is mapped without a search path; see `LoadedFile`."""


@immutable
class ResolvedDependency:
    """One DT_NEEDED entry of a file, answered.

    Attributes:
        name: what is asked for.
        file: the file it gets, or None if the loader would fail.
        problem: why there is none; empty if there is one.
    """

    name: str
    file: "MappedFile | None"
    problem: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class MappedFile:
    """A file in a process; told from another by identity alone.

    Attributes:
        path: as the loader names it, in the target's filesystem.
        place: where that lies on this machine.
        file: what it tells the dynamic loader.
        identity: device and inode, by which the loader knows a file again.
        origin: what $ORIGIN stands for in it.
        name: what it was asked for by first; its path for what is opened by path.
        names: what it was asked for by; grows.
        reason: why this file: see `LoadedFile`.
        requester: whose search path is inherited; None for the program and for what is opened.
        needed_by: the file that asked for it first; None for the program, what is preloaded and what is opened.
        requests: its DT_NEEDED entries, answered; None as long as nobody asked.
    """

    path: str
    place: Path
    file: DynamicFile
    identity: Identity
    origin: str
    name: str
    names: set[str]
    reason: str
    requester: "MappedFile | None" = None
    needed_by: "MappedFile | None" = None
    requests: tuple[ResolvedDependency, ...] | None = None

    def answers_to(self, name: str) -> bool:
        """Return whether it was asked for by the name, or calls itself so."""
        return name in self.names or name == self.file.soname

    @property
    def needs(self) -> "list[MappedFile]":
        """The files that its DT_NEEDED entries got, in order."""
        return [request.file for request in self.requests or () if request.file is not None]


@dataclass(eq=False, kw_only=True)
class GlibcSearch:
    """The search of one process.

    Attributes:
        settings: the variables and the CPU that the search depends on.
        files: reads what is looked at.
        interpreter: the loader's path; empty: the usual one of the machine.
        main: the program, whose DT_RPATH counts for all; None until it is mapped.
    """

    settings: ProcessSettings
    files: RootedFiles
    interpreter: str = ""
    main: MappedFile | None = None

    @cached_property
    def build(self) -> LoaderBuild:
        """What the loader was compiled to do."""
        machine = self.files.machine
        return read_build(self.files.place(self.interpreter or architecture_of(machine).loader), machine)

    @cached_property
    def cache(self) -> LoaderCache:
        """What `ldconfig` found."""
        return read_loader_cache(self.files.place(self.build.cache))

    def preloads(self) -> Iterator[tuple[str, str]]:
        """Yield the names in LD_PRELOAD and in the system's file, and where each is from."""
        yield from ((name, PRELOADED) for name in re.split("[ :]", self.settings.preload) if name)
        content = foreign.text_or_empty(self.files.place(self.build.preload), errors="surrogateescape")
        names = re.split("[ \t\n:]", re.sub("#.*", "", content))
        yield from ((name, self.build.preload) for name in names if name)

    def expand(self, text: str, user: MappedFile | None) -> str:
        """Replace $ORIGIN, $LIB and $PLATFORM, with or without braces."""
        if "$" not in text or user is None:
            return text
        platform = self.settings.platform or user.file.machine
        values = {"ORIGIN": user.origin, "LIB": self.build.library, "PLATFORM": platform}
        return _TOKEN.sub(lambda match: values[match[1] or match[2]], text)

    def search(self, name: str, requester: MappedFile | None) -> MappedFile | None:
        """Look up a name or a path, or return None if nothing fits.

        Raises:
            UnloadableFileError: the search ends at a file that cannot be loaded.
        """
        for path, read, reason, source in self._list_fitting_files(name, requester):
            told = f"{reason} of {self.files.tidy(source.path)}" if source is not None else reason
            found = self.map(path, read, told, name=name)
            found.names |= {name, path}
            found.requester = found.needed_by = requester
            return found
        return None

    def map(self, path: str, read: ReadFile, reason: str, *, name: str = "") -> MappedFile:
        """Return the mapped file of one that was read. Its $ORIGIN is the absolute directory of the path used."""
        return MappedFile(
            path=path,
            place=read.place,
            file=read.file,
            identity=read.identity,
            origin=self.files.absolute(path).rpartition("/")[0] or "/",
            name=name or path,
            names=set(),
            reason=reason,
        )

    def _list_fitting_files(
        self, name: str, requester: MappedFile | None
    ) -> Iterator[tuple[str, ReadFile, str, MappedFile | None]]:
        """Yield path, content, why it is found and by whose search path, of all that a search comes by."""
        if "/" in name:
            path = self.expand(name, requester)
            yield from ((path, read, "path in DT_NEEDED", requester) for read in self._read(path))
            return
        for reason, source, directories in self._list_paths_before_cache(requester):
            yield from ((path, read, reason, source) for path, read in self._read_first(directories, name))
        defaults = self.build.directories
        allowed = requester is None or requester.file.default_directories
        cached = self.cache.find(name, self.files.machine, self._levels, self._older)
        if cached is not None and (allowed or not cached.startswith(defaults)):
            yield from ((cached, read, "ld.so.cache", None) for read in self._read(cached))
        if allowed:
            yield from ((path, read, "default directory", None) for path, read in self._read_first(defaults, name))

    def _read(self, path: str) -> Iterator[ReadFile]:
        with suppress(OSError):
            read = self.files.read(path)
            if read is not None:
                yield read

    def _read_first(self, directories: Directories, name: str) -> Iterator[tuple[str, ReadFile]]:
        """Yield the files that a list of directories leads to.

        A path that cannot be followed ends the list, unless it is only a subdirectory's.
        """
        for directory in directories:
            if directory.startswith("/") and not self.files.has_directory(directory):
                continue
            for subdirectory in self._subdirectories:
                place = directory + subdirectory
                if subdirectory and not self.files.has_directory(place):
                    continue
                try:
                    read = self.files.read(place + name)
                except OSError:
                    if not subdirectory:
                        return
                    continue
                if read is not None:
                    yield place + name, read

    @property
    def _levels(self) -> Directories:
        return self.settings.hwcaps if self.build.knows_levels else ()

    @cached_property
    def _older(self) -> Directories | None:
        """$PLATFORM and the capabilities, by which loaders before glibc 2.37 search; None for a later one."""
        settings, machine = self.settings, self.files.machine
        usual = architecture_of(machine).capabilities
        capabilities = settings.capabilities if settings.capabilities is not None else usual
        return (settings.platform or machine, *capabilities) if self.build.knows_platforms else None

    @cached_property
    def _subdirectories(self) -> Directories:
        """Subdirectories that are searched below each directory, in order, each with a final slash; the last is "".

        Loaders before glibc 2.37 also search for every selection of "tls", $PLATFORM and the capabilities.
        """
        older = ("tls", *self._older) if self._older is not None else ()
        selections = (compress(older, chosen) for chosen in product((True, False), repeat=len(older)))
        paths = ["".join(f"{part}/" for part in parts) for parts in selections]
        return tuple(dict.fromkeys((*(f"glibc-hwcaps/{level}/" for level in self._levels), *paths)))

    def _list_paths_before_cache(
        self, requester: MappedFile | None
    ) -> Iterator[tuple[str, MappedFile | None, Directories]]:
        if requester is None or requester.file.runpath is None:
            asking = requester
            while asking is not None and asking is not self.main:
                yield "DT_RPATH", asking, self._split_rpath(asking)
                asking = asking.requester
            if self.main is not None:
                yield "DT_RPATH", self.main, self._split_rpath(self.main)
        library_path = self.settings.library_path.replace(";", ":")
        yield "LD_LIBRARY_PATH", None, self._split_search_path(self.main, library_path)
        if requester is not None:
            yield "DT_RUNPATH", requester, self._split_search_path(requester, requester.file.runpath)

    def _split_rpath(self, user: MappedFile) -> Directories:
        """Return the directories of DT_RPATH, which is void beside DT_RUNPATH."""
        return self._split_search_path(user, user.file.rpath) if user.file.runpath is None else ()

    def _split_search_path(self, user: MappedFile | None, search: str | None) -> Directories:
        """Return the directories of a search path, each with a final slash; an empty one is the working directory."""
        if not search:
            return ()
        parts = ((part, self.expand(part, user)) for part in search.split(":"))
        return tuple(dict.fromkeys(text.rstrip("/") + "/" if text else "" for part, text in parts if text or not part))
