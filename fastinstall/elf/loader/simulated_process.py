"""A simulated process: what the loader maps, binds and verifies for a program and for what it opens, in order.

- A reference is bound to the first definition that fits, going through the scope file by file. Sources: glibc's
  elf/dl-lookup.c.
- When all files are mapped, glibc's loader verifies symbol versions and the CPU's level. Sources: glibc's
  elf/dl-version.c, sysdeps/x86/dl-prop.h.

Not simulated: what the libraries' own code opens when it runs, DT_AUXILIARY and DT_FILTER, auditing, separate
namespaces; references without a definition, for which the loader refuses a file; STB_GNU_UNIQUE, of which a process
takes the first definition ever, and RTLD_DEEPBIND.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from fastinstall.core.values import immutable
from fastinstall.elf.description import LoadedFile, MissingLibrary
from fastinstall.elf.image import ElfError
from fastinstall.elf.loader.opened_files import OPENED, Identity, MappedFile
from fastinstall.elf.loader.search import LinkMap, Rollback, breadth_first
from fastinstall.elf.lookup import Definition, Reference, definition_for, find_all_definitions

if TYPE_CHECKING:
    from fastinstall.elf.dynamic import SymbolVersions


@dataclass(slots=True, eq=False, kw_only=True)
class Definitions:
    """What the files of a process define; each is asked for a name once."""

    _known: dict[tuple[Identity, str], tuple[Definition, ...]] = field(default_factory=dict)

    def bind(
        self, references: tuple[Reference, ...], scope: Iterable[MappedFile]
    ) -> dict[Reference, MappedFile | None]:
        """Return the defining file for each reference in a scope, or None if it stays undefined."""
        bound: dict[Reference, MappedFile | None] = dict.fromkeys(references)
        open_ones = list(bound)
        for file in scope:
            if not open_ones:
                break
            self._learn(file, tuple(reference.name for reference in open_ones))
            bound |= {reference: file for reference in open_ones if self._is_definition(file, reference)}
            open_ones = [reference for reference in open_ones if bound[reference] is None]
        return bound

    def _is_definition(self, file: MappedFile, reference: Reference) -> bool:
        return definition_for(self._known[file.identity, reference.name], reference) is not None

    def _learn(self, file: MappedFile, names: tuple[str, ...]) -> None:
        unknown = tuple(name for name in names if (file.identity, name) not in self._known)
        if not unknown:
            return
        try:
            found = find_all_definitions(file.place, unknown)
        except (OSError, ElfError):
            found = dict.fromkeys(unknown, ())
        self._known |= {(file.identity, name): definitions for name, definitions in found.items()}


_LEVELS = ("x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4")


@dataclass(slots=True, eq=False, kw_only=True)
class Checks:
    """The checks of the loader.

    Attributes:
        level: the CPU's, above which it refuses files; None: it refuses none, or the level is not known.
    """

    level: str | None = None
    _versions: dict[Identity, "SymbolVersions"] = field(default_factory=dict)

    def failures(self, added: Iterable[MappedFile], link_map: LinkMap) -> list[MissingLibrary]:
        """Why the files that were mapped last are refused; empty if they are not."""
        files = tuple(added)
        failures = [failure for file in files for failure in self._find_undefined_versions(file, link_map)]
        return failures + [self._explain_high_level(file, link_map) for file in files if self._is_too_high(file)]

    def _find_undefined_versions(self, file: MappedFile, link_map: LinkMap) -> Iterator[MissingLibrary]:
        """Versions that the file needs of a library which defines versions, but not these."""
        for need in self._read_file_versions(file).needed:
            library = next((each for each in link_map.files if each.answers_to(need.library)), file)
            defined = self._read_file_versions(library).defined if library is not file else ()
            for name in need.names if defined else ():
                if name not in defined:
                    problem = f"version `{name}' not found in {link_map.tidy(library.path)}"
                    yield MissingLibrary(name=need.library, needed_by=link_map.tidy(file.path), problem=problem)

    def _read_file_versions(self, file: MappedFile) -> "SymbolVersions":
        from fastinstall.elf.dynamic import SymbolVersions, read_versions  # noqa: PLC0415 (a quick doctor checks no versions)

        if file.identity not in self._versions:
            try:
                self._versions[file.identity] = read_versions(file.place)
            except (OSError, ElfError):
                self._versions[file.identity] = SymbolVersions()
        return self._versions[file.identity]

    def _is_too_high(self, file: MappedFile) -> bool:
        needed = file.file.isa_needed
        return needed is not None and self.level in _LEVELS and _LEVELS.index(needed) > _LEVELS.index(self.level)

    def _explain_high_level(self, file: MappedFile, link_map: LinkMap) -> MissingLibrary:
        path = link_map.tidy(file.path)
        needed_by = link_map.tidy(file.needed_by.path) if file.needed_by is not None else path
        problem = f"{path} is for CPUs of level {file.file.isa_needed}, and this one has {self.level}"
        return MissingLibrary(name=file.name, needed_by=needed_by, problem=problem)


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
        link_map: its files, by the loader's rules.
        checks: what the loader verifies when all files are mapped.
        missing: what was not found or was refused, at the start and by every `open` since.
        problem: why it would not even begin (no program, a script, a static program); empty if it would.
        is_simulated: whether these are the rules of the program's loader; False if that is musl's.
        scope: the global scope: the program, what is preloaded and what they need, breadth-first, and
            what was opened for everybody.
    """

    link_map: LinkMap
    checks: Checks
    missing: list[MissingLibrary] = field(default_factory=list)
    problem: str = ""
    is_simulated: bool = True
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
            self._definitions = Definitions()
        return self._definitions

    def open(self, name: str | Path, *, caller: MappedFile | None = None, everywhere: bool = False) -> Opened:
        """Open a library by path or by name, as dlopen(3) does; one that is mapped already is used again.

        Args:
            name: the path, or a name without a slash, which is searched for.
            caller: whose search path serves a name; without one libpython, if it is there, else the program.
            everywhere: offer its symbols to whatever is opened later (RTLD_GLOBAL).
        """
        rollback = Rollback(self.files)
        file, failures = self._load(str(name), caller or self._find_caller())
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
        return tuple(self._describe_file(file) for file in self.files)

    def _load(self, name: str, caller: MappedFile | None) -> tuple[MappedFile | None, list[MissingLibrary]]:
        count = len(self.files)
        request = self.link_map.load(name, caller)
        if request.file is None:
            by = self.link_map.tidy(caller.path) if caller is not None else PurePosixPath(name)
            return None, [MissingLibrary(name=name, needed_by=by, problem=request.problem)]
        if len(self.files) > count:
            request.file.requester, request.file.needed_by = None, None  # it inherits nobody's search path
            request.file.reason = OPENED if "/" in name else request.file.reason
        return request.file, []

    def _find_caller(self) -> MappedFile | None:
        """Who opens extension modules: libpython, where the interpreter has one, else the program."""
        libraries = (file for file in self.files if file.path.rpartition("/")[2].startswith("libpython"))
        return next(libraries, self.main)

    def _describe_file(self, file: MappedFile) -> LoadedFile:
        return LoadedFile(
            path=self.link_map.tidy(file.path),
            name=file.name,
            soname=file.file.soname or "",
            reason=file.reason,
            needed_by=self.link_map.tidy(file.needed_by.path) if file.needed_by is not None else None,
        )
