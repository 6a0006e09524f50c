"""A simulated process: what the loader maps for a program and for what it opens, in the loader's order.

Not simulated: what the libraries' own code opens when it runs, DT_AUXILIARY and DT_FILTER, auditing,
separate namespaces; and references without a definition, for which the loader refuses a file.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from fastinstall.binary.loader_checks import Checks
from fastinstall.binary.loader_files import OPENED, MappedFile
from fastinstall.binary.loader_map import LinkMap, Rollback, breadth_first
from fastinstall.model.immutable import immutable
from fastinstall.model.linkage import LoadedFile, MissingLibrary

if TYPE_CHECKING:
    from fastinstall.binary.loader_binding import Definitions
    from fastinstall.binary.lookup import Reference


@immutable
class Opened:
    """What became of opening a library at run time.

    Attributes:
        file: the library, or None if the loader refuses it; then nothing of it stays in the process.
        scope: it and what it needs, breadth-first: where its references are looked up behind the global scope.
        missing: what the refusal is about, first what the loader would name.
    """

    file: MappedFile | None
    scope: tuple[MappedFile, ...] = ()
    missing: tuple[MissingLibrary, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class SimulatedProcess:
    """A process; `loader.start_process` makes one.

    Attributes:
        link_map: its files, by its loader's rules.
        checks: what the loader verifies when all files are mapped.
        missing: what was not found or was refused, at the start and by every `open` since.
        problem: why it would not even begin (no program, a script, a static program); empty if it would.
        scope: the global scope: the program, what is preloaded and what they need, breadth-first, and
            what was opened for everybody.
    """

    link_map: LinkMap
    checks: Checks
    missing: list[MissingLibrary] = field(default_factory=list)
    problem: str = ""
    scope: list[MappedFile] = field(default_factory=list)
    _definitions: "Definitions | None" = None

    @property
    def files(self) -> list[MappedFile]:
        """Its files in load order, the program first."""
        return self.link_map.files

    @property
    def main(self) -> MappedFile | None:
        """Return the program, or None if none could run."""
        return self.link_map.search.main

    @property
    def definitions(self) -> "Definitions":
        """What its files define."""
        if self._definitions is None:
            from fastinstall.binary.loader_binding import Definitions  # noqa: PLC0415 (a quick doctor binds no symbols)

            self._definitions = Definitions(versioned=self.checks.versioned)
        return self._definitions

    def open(self, name: str | Path, *, caller: MappedFile | None = None, everywhere: bool = False) -> Opened:
        """Open a library by path or by name, as dlopen(3) does; one that is mapped already is used again.

        Args:
            name: the path, or a name without a slash, which is searched for.
            caller: whose search path serves a name; without one libpython, if it is there, else the program.
            everywhere: offer its symbols to whatever is opened later (RTLD_GLOBAL).
        """
        rollback = Rollback(self.files)
        file, failures = self._load(str(name), caller or self._caller())
        for requester, request in self.link_map.bring_in([file] if file is not None else []):
            if request.file is None:
                rollback.failed()
                failures.append(self.link_map.missing(requester, request))
        failures += self.checks.failures(rollback.added, self.link_map)
        if file is None or failures:
            rollback.undo()
            self.missing += failures
            return Opened(file=None, missing=tuple(failures))
        scope = breadth_first([file])
        if everywhere:
            self.scope += [each for each in scope if each not in self.scope]
        return Opened(file=file, scope=scope)

    def provider(self, user: MappedFile, reference: "Reference", scope: Iterable[MappedFile] = ()) -> MappedFile | None:
        """Return the file whose definition a reference binds to, or None if it stays undefined.

        Args:
            user: the file with the reference.
            reference: what it asks for.
            scope: that of the `Opened` which brought the user in; empty for what the program brought in.
        """
        return self.providers(user, (reference,), scope)[reference]

    def providers(
        self, user: MappedFile, references: Iterable["Reference"], scope: Iterable[MappedFile] = ()
    ) -> dict["Reference", MappedFile | None]:
        """The same for several references of a file, each of the scope's files being read once."""
        own = (user,) if user.file.symbolic and user is not self.main else ()
        return self.definitions.bind(tuple(references), dict.fromkeys((*own, *self.scope, *scope)))

    def loaded_files(self) -> tuple[LoadedFile, ...]:
        """The files as values, in load order."""
        return tuple(self._described(file) for file in self.files)

    def _load(self, name: str, caller: MappedFile | None) -> tuple[MappedFile | None, list[MissingLibrary]]:
        search, count = self.link_map.search, len(self.files)
        opener = search.opener(caller)
        request = self.link_map.load(name, opener)
        if request.file is None:
            by = self.link_map.tidy(opener.path) if opener is not None else PurePosixPath(name)
            return None, [MissingLibrary(name=name, needed_by=by, problem=request.problem)]
        if len(self.files) > count:
            request.file.requester, request.file.needed_by = search.heir(opener), None
            request.file.reason = OPENED if "/" in name else request.file.reason
        return request.file, []

    def _caller(self) -> MappedFile | None:
        """Who opens extension modules: libpython, where the interpreter has one, else the program."""
        libraries = (file for file in self.files if file.path.rpartition("/")[2].startswith("libpython"))
        return next(libraries, self.main)

    def _described(self, file: MappedFile) -> LoadedFile:
        return LoadedFile(
            path=self.link_map.tidy(file.path),
            name=file.name,
            soname=file.file.soname or "",
            reason=file.reason,
            needed_by=self.link_map.tidy(file.needed_by.path) if file.needed_by is not None else None,
        )
