"""The link map: which files are mapped, in which order, and how one that is asked for gets there.

How the loader recognises a name, and where it looks for it, is in `search`.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from fastinstall.elf.description import MissingLibrary
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError, ForeignElfError
from fastinstall.elf.loader.opened_files import (
    LibrarySearchResult,
    MappedFile,
    ResolvedDependency,
    UnloadableFileError,
)

if TYPE_CHECKING:
    from fastinstall.elf.loader.search import GlibcSearch

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
