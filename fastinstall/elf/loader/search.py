"""Search for a library as glibc's loader does, search path by search path and directory by directory.

The order: 1. if the file that needs the library has no DT_RUNPATH: DT_RPATH of this file, of the files through which it
was loaded, and of the program; 2. LD_LIBRARY_PATH; 3. DT_RUNPATH of the file that needs the library; 4. the loader's
cache; 5. the default directories. In each directory, the subdirectories of glibc-hwcaps for the CPU's levels are
searched first. Sources: ld.so(8); glibc's elf/dl-load.c and elf/dl-hwcaps.c.
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
    """The build-time settings of one glibc loader.

    Attributes:
        directories: the default directories, which are searched last; each ends with a slash.
        library: the value of $LIB: "lib/x86_64-linux-gnu", "lib64".
        version: glibc's version; (2, 32) for loaders before 2.33, which do not contain their version.
        cache: the cache file that `ldconfig` writes.
        preload: the file that lists libraries to preload into every process.
    """

    directories: tuple[str, ...]
    library: str
    version: tuple[int, int] = _CURRENT
    cache: str = _CACHE_FILE
    preload: str = _PRELOAD_FILE

    @property
    def knows_levels(self) -> bool:
        """Whether the loader searches glibc-hwcaps and refuses files above the CPU's level (since glibc 2.33)."""
        return self.version >= _LEVELS_SINCE

    @property
    def knows_platforms(self) -> bool:
        """Whether the loader also searches the older subdirectories "tls", "haswell", "x86_64" (before glibc 2.37)."""
        return self.version < _PLATFORMS_UNTIL


def read_build(loader: Path, machine: str) -> LoaderBuild:
    """Read the build-time settings of a glibc loader; if they cannot be read, return those of Debian's current loader.

    Args:
        loader: the loader's file, as a program names it in PT_INTERP.
        machine: the loader's architecture.
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
    # $LIB is the last component of the first directory, preceded by "lib/" on Debian
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
"""Values of `LoadedFile.reason` for files that were not found through a search path."""


@immutable
class ResolvedDependency:
    """One DT_NEEDED entry of a file, resolved.

    Attributes:
        name: the name in the entry.
        file: the file that the entry resolves to, or None if the loader would fail.
        problem: why `file` is None; empty if the entry was resolved.
    """

    name: str
    file: "MappedFile | None"
    problem: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class MappedFile:
    """A file that is mapped into a process. Compares by object identity.

    Attributes:
        path: the path in the target's filesystem, as the loader would report it.
        place: the file's path on this machine.
        file: the content of the dynamic section and the notes.
        identity: device and inode, by which the loader recognises a file.
        origin: the value of $ORIGIN in the file's search paths.
        name: the first name that the file was requested by; the path if it was opened by path.
        names: every name that the file was requested by so far.
        reason: why the file is mapped: see `LoadedFile`.
        requester: the file whose DT_RPATH is searched after this file's own; None for the program and for opened
            libraries.
        needed_by: the first file that requested this file; None for the program, preloaded and opened libraries.
        requests: the file's DT_NEEDED entries, resolved; None until they are resolved.
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
        """Return whether the file was requested by this name before, or has the name as its DT_SONAME."""
        return name in self.names or name == self.file.soname

    @property
    def needs(self) -> "list[MappedFile]":
        """The files that this file's DT_NEEDED entries resolve to, in order."""
        return [request.file for request in self.requests or () if request.file is not None]


@dataclass(eq=False, kw_only=True)
class GlibcSearch:
    """The library search of one process.

    Attributes:
        settings: the environment variables and CPU features that the search depends on.
        files: reads the candidate files.
        interpreter: the loader's path; empty for the architecture's usual loader.
        main: the program, whose DT_RPATH is searched for all libraries; None until the program is mapped.
    """

    settings: ProcessSettings
    files: RootedFiles
    interpreter: str = ""
    main: MappedFile | None = None

    @cached_property
    def build(self) -> LoaderBuild:
        """The build-time settings of the process's loader."""
        machine = self.files.machine
        return read_build(self.files.place(self.interpreter or architecture_of(machine).loader), machine)

    @cached_property
    def cache(self) -> LoaderCache:
        """The loader's cache, as `ldconfig` wrote it."""
        return read_loader_cache(self.files.place(self.build.cache))

    def preloads(self) -> Iterator[tuple[str, str]]:
        """Yield (name, source) for each library in LD_PRELOAD and in the system's preload file."""
        yield from ((name, PRELOADED) for name in re.split("[ :]", self.settings.preload) if name)
        content = foreign.text_or_empty(self.files.place(self.build.preload), errors="surrogateescape")
        names = re.split("[ \t\n:]", re.sub("#.*", "", content))
        yield from ((name, self.build.preload) for name in names if name)

    def expand(self, text: str, user: MappedFile | None) -> str:
        """Replace $ORIGIN, $LIB and $PLATFORM, with or without braces, by their values for a file (`user`)."""
        if "$" not in text or user is None:
            return text
        platform = self.settings.platform or user.file.machine
        values = {"ORIGIN": user.origin, "LIB": self.build.library, "PLATFORM": platform}
        return _TOKEN.sub(lambda match: values[match[1] or match[2]], text)

    def search(self, name: str, requester: MappedFile | None) -> MappedFile | None:
        """Return the file that the loader would map for a name or path, or None if it would find none.

        Raises:
            UnloadableFileError: the search ends at a file that cannot be loaded.
        """
        for path, read, reason in self._list_fitting_files(name, requester):
            found = self.map(path, read, reason, name=name)
            found.names |= {name, path}
            found.requester = found.needed_by = requester
            return found
        return None

    def map(self, path: str, read: ReadFile, reason: str, *, name: str = "") -> MappedFile:
        """Return a `MappedFile` for a file that was read. Its $ORIGIN is the directory of `path`, made absolute."""
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

    def _list_fitting_files(self, name: str, requester: MappedFile | None) -> Iterator[tuple[str, ReadFile, str]]:
        """Yield the path, the content and the reason (see `LoadedFile`) of each matching file, in search order."""
        if "/" in name:
            path = self.expand(name, requester)
            reason = self._name_source("path in DT_NEEDED", requester)
            yield from ((path, read, reason) for read in self._read(path))
            return
        for kind, source, directories in self._list_paths_before_cache(requester):
            for path, read in self._read_first(directories, name):
                yield path, read, self._name_source(kind, source)
        defaults = self.build.directories
        allowed = requester is None or requester.file.default_directories
        cached = self.cache.find(name, self.files.machine, self._levels, self._older)
        if cached is not None and (allowed or not cached.startswith(defaults)):
            yield from ((cached, read, "ld.so.cache") for read in self._read(cached))
        if allowed:
            yield from ((path, read, "default directory") for path, read in self._read_first(defaults, name))

    def _name_source(self, kind: str, source: MappedFile | None) -> str:
        return f"{kind} of {self.files.tidy(source.path)}" if source is not None else kind

    def _read(self, path: str) -> Iterator[ReadFile]:
        with suppress(OSError):
            read = self.files.read(path)
            if read is not None:
                yield read

    def _read_first(self, directories: Directories, name: str) -> Iterator[tuple[str, ReadFile]]:
        """Yield the path and the file for each matching file in a list of directories.

        If a file directly in a directory of the list cannot be opened, the rest of the list is skipped. If a file in
        one of `_subdirectories` cannot be opened, only this file is skipped.
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
        """The older subdirectories that loaders before glibc 2.37 search: the platform, then the capabilities.

        None for later loaders.
        """
        settings, machine = self.settings, self.files.machine
        usual = architecture_of(machine).capabilities
        capabilities = settings.capabilities if settings.capabilities is not None else usual
        return (settings.platform or machine, *capabilities) if self.build.knows_platforms else None

    @cached_property
    def _subdirectories(self) -> Directories:
        """Subdirectories to search in each directory, in order; each ends with a slash.

        The last one is "", which stands for the directory itself.
        Loaders before glibc 2.37 also search every combination of "tls", $PLATFORM and the capabilities.
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
        """Return the directories in a file's DT_RPATH; empty if it has DT_RUNPATH, which replaces DT_RPATH."""
        return self._split_search_path(user, user.file.rpath) if user.file.runpath is None else ()

    def _split_search_path(self, user: MappedFile | None, search: str | None) -> Directories:
        """Return the directories in a search path; each ends with a slash, except "", the working directory."""
        if not search:
            return ()
        parts = ((part, self.expand(part, user)) for part in search.split(":"))
        return tuple(dict.fromkeys(text.rstrip("/") + "/" if text else "" for part, text in parts if text or not part))
