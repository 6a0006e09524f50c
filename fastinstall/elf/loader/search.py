"""Where glibc's loader looks for a name, list by list and directory by directory, and what it takes there.

The order: DT_RPATH of the requester and of those that asked for it, only if the requester has no DT_RUNPATH; the
program's DT_RPATH; LD_LIBRARY_PATH; the requester's own DT_RUNPATH; the loader's cache; the default directories.
Sources: ld.so(8); glibc's elf/dl-load.c.

Before each directory it looks into the subdirectories of glibc-hwcaps for the CPU's levels. Sources: glibc's
elf/dl-hwcaps.c; ld.so(8), "Hardware capabilities".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, product
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.elf.loader.ld_so_cache import STANDARD_LOADERS, LoaderBuild, LoaderCache, read_build, read_loader_cache
from fastinstall.elf.loader.opened_files import PRELOADED, MappedFile, ReadFile, RootedFiles

_TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_]))")
_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2")

Directories = tuple[str, ...]


def usable_hwcaps(level: str | None) -> tuple[str, ...]:
    """The glibc-hwcaps subdirectories that a CPU of a level uses, best first: for "x86-64-v3" v3, then v2."""
    return _LEVELS[_LEVELS.index(level) :] if level in _LEVELS else ()


@dataclass(eq=False, kw_only=True)
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

    @cached_property
    def build(self) -> LoaderBuild:
        """What the loader was compiled to do."""
        machine = self.files.machine
        return read_build(self.files.root, self.interpreter or STANDARD_LOADERS.get(machine, ""), machine)

    @cached_property
    def cache(self) -> LoaderCache:
        """What `ldconfig` found."""
        return read_loader_cache(Path(self.files.root.place(self.build.cache)))

    def preloads(self, variable: str) -> Iterator[tuple[str, str]]:
        """The names in LD_PRELOAD and in the system's file, and where each is from."""
        yield from ((name, PRELOADED) for name in re.split("[ :]", variable) if name)
        try:
            content = foreign.read_text(Path(self.files.root.place(self.build.preload)), errors="surrogateescape")
        except OSError:
            return
        names = re.split("[ \t\n:]", re.sub("#.*", "", content))
        yield from ((name, self.build.preload) for name in names if name)

    def expand(self, text: str, user: MappedFile | None) -> str:
        """Replace $ORIGIN, $LIB and $PLATFORM, with or without braces."""
        if "$" not in text or user is None:
            return text
        values = {"ORIGIN": user.origin, "LIB": self.build.library, "PLATFORM": self.platform or user.file.machine}
        return _TOKEN.sub(lambda match: values[match[1] or match[2]], text)

    def search(self, name: str, requester: MappedFile | None) -> MappedFile | None:
        """Look up a name or a path, or return None if nothing fits.

        Raises:
            UnloadableFileError: the search ends at a file that cannot be loaded.
        """
        for path, read, reason, source in self._list_fitting_files(name, requester):
            told = f"{reason} of {self.files.root.tidy(source.path)}" if source is not None else reason
            return self.map(path, read, told, name=name, names={name, path}, requester=requester)
        return None

    def map(  # noqa: PLR0913 (what is known of a file)
        self,
        path: str,
        read: ReadFile,
        reason: str,
        *,
        name: str,
        names: set[str],
        requester: MappedFile | None = None,
    ) -> MappedFile:
        """A file, to be mapped; $ORIGIN is the directory of the path that was used, from "/" on."""
        return MappedFile(
            path=path,
            place=read.place,
            file=read.file,
            identity=read.identity,
            origin=self.files.root.absolute(path).rpartition("/")[0] or "/",
            name=name,
            names=names,
            reason=reason,
            requester=requester,
            needed_by=requester,
        )

    def _list_fitting_files(
        self, name: str, requester: MappedFile | None
    ) -> Iterator[tuple[str, ReadFile, str, MappedFile | None]]:
        """Path, content, why it is found and by whose search path, of all that a search comes by."""
        if "/" in name:
            path = self.expand(name, requester)
            yield from ((path, read, "path in DT_NEEDED", requester) for read in self._read(path))
            return
        for reason, source, directories in self._list_paths_before_cache(requester):
            yield from ((path, read, reason, source) for path, read in self._read_first(directories, name))
        defaults = self.build.directories
        allowed = requester is None or requester.file.default_directories
        cached = self.cache.find(name, self.files.machine, self.hwcaps if self.build.knows_levels else ())
        if cached is not None and (allowed or not cached.startswith(defaults)):
            yield from ((cached, read, "ld.so.cache", None) for read in self._read(cached))
        if allowed:
            yield from ((path, read, "default directory", None) for path, read in self._read_first(defaults, name))

    def _read(self, path: str) -> Iterator[ReadFile]:
        try:
            read = self.files.read(path)
        except OSError:
            return
        if read is not None:
            yield read

    def _read_first(self, directories: Directories, name: str) -> Iterator[tuple[str, ReadFile]]:
        """A path that cannot be followed ends a list, unless it is only a subdirectory's."""
        for directory in directories:
            for place in self._list_places(directory):
                try:
                    read = self.files.read(place + name)
                except OSError:
                    if place == directory:
                        return
                    continue
                if read is not None:
                    yield place + name, read

    def _list_places(self, directory: str) -> Iterator[str]:
        if directory.startswith("/") and not self.files.has_directory(directory):
            return
        for subdirectory in self._subdirectories:
            if not subdirectory or self.files.has_directory(directory + subdirectory):
                yield directory + subdirectory

    @cached_property
    def _subdirectories(self) -> Directories:
        """What is put behind a directory, in order, each with a slash at its end; the last is "".

        Loaders before glibc 2.37 also search for every selection of "tls", $PLATFORM and the capabilities.
        """
        machine = self.files.machine
        capabilities = self.capabilities if self.capabilities is not None else (machine,)
        older = ("tls", self.platform or machine, *capabilities) if self.build.knows_platforms else ()
        levels = [f"glibc-hwcaps/{level}/" for level in self.hwcaps if self.build.knows_levels]
        selections = (compress(older, chosen) for chosen in product((True, False), repeat=len(older)))
        paths = ["".join(f"{part}/" for part in parts) for parts in selections]
        return tuple(dict.fromkeys((*levels, *paths)))

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
        while asking is not None and asking is not self.main:
            yield asking
            asking = asking.requester
        if self.main is not None:
            yield self.main

    def _split_search_path(self, user: MappedFile | None, search: str | None) -> Directories:
        """The directories of a search path, each with a slash at its end; an empty one is the working directory."""
        if not search:
            return ()
        parts = ((part, self.expand(part, user)) for part in search.split(":"))
        return tuple(dict.fromkeys(text.rstrip("/") + "/" if text else "" for part, text in parts if text or not part))
