"""Where musl's loader looks for a name: without a cache, without levels, and with one kind of search path.

The order: LD_LIBRARY_PATH; the DT_RUNPATH, else DT_RPATH, of the requester and of those that asked
for it, up to the program; the system's path, which /etc/ld-musl-ARCH.path may set. The C library
and its companions are the loader itself. A file that was found by a search answers to its own name
from then on, one that was opened by path to none. Source: musl's ldso/dynlink.c.

Not simulated: that a foreign C library opened by path is replaced by the loader.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fastinstall.core import foreign
from fastinstall.elf.loader.opened_files import (
    INTERPRETER,
    PRELOADED,
    LibrarySearchResult,
    MappedFile,
    RootedFiles,
    UnloadableFileError,
)

_ITSELF = re.compile(r"lib(?:c|pthread|rt|m|dl|util|xnet)\.")
_ORIGIN = re.compile(r"\$(?:ORIGIN|\{ORIGIN\})")
_DEFAULT = "/lib:/usr/local/lib:/usr/lib"


@dataclass(slots=True, eq=False, kw_only=True)
class MuslSearch:
    """The search of one process; `GlibcSearch` says what each part is.

    Attributes:
        files: reads what is looked at.
        interpreter: the loader's path.
        library_path: the variable LD_LIBRARY_PATH.
        main: the program.
    """

    files: RootedFiles
    interpreter: str
    library_path: str = ""
    main: MappedFile | None = None
    _system: str | None = None

    has_versions = False
    refuses_levels = False
    maps_interpreter = False
    """It enters the list when something first asks for the C library."""

    def known(self, name: str, files: Iterable[MappedFile]) -> MappedFile | None:
        """Only a file that was searched for answers to a name, which is that of the file."""
        if self._is_itself(name):
            return next((file for file in files if file.path == self.interpreter), None)
        return next((file for file in files if name in file.names and file is not self.main), None)

    def same(self, found: LibrarySearchResult, name: str, files: Iterable[MappedFile]) -> MappedFile | None:
        """One file is never mapped twice, but for the program, whose inode is not known to the loader."""
        others = (file for file in files if file is not self.main)
        same = next((file for file in others if file.identity == found.read.identity), None)
        if same is not None and not same.names:
            same.names = self.names(name, LibrarySearchResult(path=same.path, read=found.read, reason=""))
        return same

    def names(self, name: str, found: LibrarySearchResult) -> set[str]:
        """Its file name, if it was searched for; nothing for what is opened by path."""
        return {found.path.rpartition("/")[2]} if "/" not in name else set()

    def origin(self, path: str) -> str:
        """The directory of the path that was used, relative if that was."""
        return path.rpartition("/")[0]

    def opener(self, _caller: MappedFile | None) -> MappedFile | None:
        """Whatever is opened at run time is opened for the program."""
        return self.main

    def find_inherited_from(self, opener: MappedFile | None) -> MappedFile | None:
        """What is opened inherits the program's search path."""
        return opener

    def preloader(self) -> None:
        """Nobody's search path serves what is preloaded."""
        return

    def preloads(self, variable: str) -> Iterator[tuple[list[str], str]]:
        """The names in LD_PRELOAD."""
        yield re.split(r"[\s:]+", variable.strip(" \t\n:")), PRELOADED

    def settle(self, _roots: tuple[MappedFile, ...], files: list[MappedFile]) -> list[MappedFile]:
        """The global scope: every file of the start in load order."""
        return list(files)

    def expand(self, text: str, _user: MappedFile | None) -> str:
        """Names are taken as they are."""
        return text

    def search(self, name: str, requester: MappedFile | None) -> LibrarySearchResult | None:
        """Look up a name or a path, or return None if nothing is there.

        Raises:
            DamagedError: the first file of that name cannot be loaded; it is not passed over.
        """
        if not name:
            return None
        if self._is_itself(name):
            return self._take(self.interpreter, INTERPRETER)
        try:
            if "/" in name:
                return self._take(name, "path in DT_NEEDED", requester)
            return next(filter(None, self._try_search_paths(name, requester)), None)
        except OSError:
            return None

    def _is_itself(self, name: str) -> bool:
        return name == self.interpreter or _ITSELF.match(name) is not None

    def _try_search_paths(self, name: str, requester: MappedFile | None) -> Iterator[LibrarySearchResult | None]:
        for directory in _split(self.library_path):
            yield self._take(f"{directory}/{name}", "LD_LIBRARY_PATH")
        asking = requester
        while asking is not None:
            kind = "DT_RPATH" if asking.file.runpath is None else "DT_RUNPATH"
            for directory in _split(_search_path(asking)):
                yield self._take(f"{directory}/{name}", kind, asking)
            asking = asking.requester
        own, reason = self._read_system_path()
        for directory in _split(own):
            yield self._take(f"{directory}/{name}", reason)

    def _take(self, path: str, reason: str, source: MappedFile | None = None) -> LibrarySearchResult | None:
        read = self.files.read(path)
        if read is not None:
            return LibrarySearchResult(path=path, read=read, reason=reason, source=source)
        if Path(self.files.root.place(path)).exists():
            raise UnloadableFileError(path, f"not for {self.files.machine}")
        return None

    def _read_system_path(self) -> tuple[str, str]:
        """What the file of the system says, which stands beside the directory of the loader."""
        loader = PurePosixPath(self.interpreter)
        architecture = loader.name.removeprefix("ld-musl-").partition(".")[0]
        path = str(loader.parent.parent / "etc" / f"ld-musl-{architecture}.path")
        if self._system is None:
            try:
                self._system = foreign.read_text(Path(self.files.root.place(path)), errors="surrogateescape")
            except FileNotFoundError:
                return _DEFAULT, "default directory"
            except OSError:
                self._system = ""
        return self._system, path


def _split(search: str) -> list[str]:
    return [directory for directory in re.split("[:\n]", search) if directory]


def _search_path(file: MappedFile) -> str:
    """One with a token other than $ORIGIN is void as a whole."""
    search = (file.file.rpath if file.file.runpath is None else file.file.runpath) or ""
    expanded = _ORIGIN.sub(lambda _: file.origin, search)
    return "" if "$" in _ORIGIN.sub("", search) else expanded
