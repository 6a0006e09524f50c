"""Simulate which files the dynamic loader maps for a program and for the libraries that the program opens.

The simulation models glibc's loader for a fresh process, from files alone. `start_process` maps the program, its
loader, preloaded libraries, and everything that these need. The simulated process then opens libraries one after the
other, and reports which files are mapped, why, and which definitions symbols are bound to.

- A reference is bound to the first matching definition in the scope, file by file. Source: glibc's elf/dl-lookup.c.
- When all files are mapped, the loader verifies symbol versions and the CPU's level. Sources: glibc's
  elf/dl-version.c, sysdeps/x86/dl-prop.h.

Not simulated: musl's loader, which is only recognised; libraries that other packages loaded before or that a library's
own code opens; DT_AUXILIARY and DT_FILTER; auditing; separate namespaces; the refusal of files with undefined symbols;
STB_GNU_UNIQUE, which binds references to the first definition in the process; RTLD_DEEPBIND.

Sources: ld.so(8), "LD_PRELOAD"; glibc's elf/rtld.c.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path, PurePosixPath

from fastinstall.core.values import immutable
from fastinstall.elf.cpu import rank
from fastinstall.elf.description import LoadedFile, MissingLibrary
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError, ForeignElfError
from fastinstall.elf.loader.ld_so_cache import read_loader_cache
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.elf.loader.rooted_files import Identity, ReadFile, RootedFiles, UnloadableFileError
from fastinstall.elf.loader.search import INTERPRETER, OPENED, PROGRAM, GlibcSearch, MappedFile, ResolvedDependency
from fastinstall.elf.lookup import (
    Definition,
    Reference,
    SymbolVersions,
    definition_for,
    find_all_definitions,
    read_versions,
)

_MUSL, _ABSENT = "ld-musl-", "not found"


@immutable
class ResolvedLibrary:
    """The file that one DT_NEEDED entry resolves to.

    Attributes:
        soname: the name in the DT_NEEDED entry.
        path: the file, or None if the loader would fail.
        problem: why `path` is None; empty if the file was found.
    """

    soname: str
    path: Path | None
    problem: str = ""


def resolve_libraries(
    path: Path,
    *,
    main: Path | None = None,
    library_path: tuple[Path, ...] = (),
    hwcaps: tuple[str, ...] = (),
    cache: Path | None = None,
) -> tuple[ResolvedLibrary, ...]:
    """Resolve everything that a library needs, directly or through other libraries, in the loader's order.

    Args:
        path: the library, such as an extension module; it is opened at run time.
        main: the program that opens the library; ignored unless it is an ELF file.
        library_path: the directories of LD_LIBRARY_PATH.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first (`usable_hwcaps`).
        cache: the loader cache to use instead of this machine's.

    Returns:
        The needed libraries; empty if the program uses musl's loader, which is not simulated.

    Raises:
        ElfError: `path` cannot be read as an ELF file.
        OSError: `path` cannot be opened.
    """
    settings = ProcessSettings(program=main, library_path=":".join(map(str, library_path)), hwcaps=hwcaps)
    process = SimulatedProcess(settings, machine=read_dynamic(path).machine)
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
    for _, request in process.bring_in([opened]):
        if request.file not in seen:
            found = Path(process.tidy(request.file)) if request.file is not None else None
            answer = ResolvedLibrary(soname=request.name, path=found, problem=request.problem)
            answers.setdefault(request.name, answer)
            if request.file is not None:
                seen.add(request.file)
    return tuple(answers.values())


def start_process(settings: ProcessSettings) -> "SimulatedProcess":
    """Simulate the start of a process.

    If the program cannot be started, `SimulatedProcess.problem` says why. The returned process then still opens
    libraries by glibc's rules; the results are valid only if `is_simulated` is True.
    """
    process = SimulatedProcess(settings)
    process.missing += process.find_failures(process.files)
    return process


def _find_program(files: RootedFiles, program: Path | None) -> tuple[str, ReadFile | None, str]:
    """Find a program in the target.

    Returns:
        1. The program's path with symbolic links resolved, as the kernel uses it; empty if unknown. 2. The program's
        file, or None if it cannot be loaded. 3. Why the program cannot start; empty if it can.
    """
    if program is None:
        return "", None, "no program is known"
    try:
        path = files.real(str(program))
        read = files.read(path)
    except OSError as error:
        return "", None, f"{program}: {error.strerror or error}"
    except UnloadableFileError as error:
        return "", None, str(error)
    if read is None:
        there = files.place(path).exists()
        return path, None, f"{program}: {'a program for another machine' if there else 'not found'}"
    if PurePosixPath(read.file.interpreter or "").name.startswith(_MUSL):
        return path, read, f"{program} uses musl's loader, but only glibc's is simulated"
    return path, read, "" if read.file.interpreter else f"{program}: a static program has no loader"


@immutable
class Opened:
    """The result of opening a library at run time.

    Attributes:
        file: the library, or None if the loader refuses the library and unmaps it again.
        scope: the library and everything it needs, breadth-first. The references of these files are looked up in the
            global scope first, then in this scope.
        missing: the reasons for a refusal, of which the loader would report the first; empty if the library was opened.
    """

    file: MappedFile | None
    scope: tuple[MappedFile, ...] = ()
    missing: tuple[MissingLibrary, ...] = ()


class SimulatedProcess:
    """A simulated process. Create it with `start_process`, which also checks the files' symbol versions and levels.

    Attributes:
        search: the search for libraries by name.
        level: the CPU's level; the loader refuses files that require a higher one. None if the loader does not check
            levels (glibc before 2.33) or the level is unknown.
        files: the mapped files, in load order.
        scope: the global scope: the program, preloaded libraries and everything these need, breadth-first; then
            libraries opened with RTLD_GLOBAL.
        missing: libraries that were not found or were refused, at the start and in every call of `open` since.
        problem: why the program cannot start (no program, a script, a static program); empty if it can.
        is_simulated: whether the program uses glibc's loader; False for musl's.
    """

    def __init__(self, settings: ProcessSettings, *, machine: str = "") -> None:
        files = RootedFiles(settings, machine)
        path, program, self.problem = _find_program(files, settings.program)
        interpreter = (program.file.interpreter if program is not None else None) or ""
        self.is_simulated = not PurePosixPath(interpreter).name.startswith(_MUSL)
        self.search = GlibcSearch(settings=settings, files=files, interpreter=interpreter)
        level = settings.level or next(iter(settings.hwcaps), None)
        self.level = level if self.search.build.knows_levels else None
        self.files: list[MappedFile] = []
        self.scope: list[MappedFile] = []
        self.missing: list[MissingLibrary] = []
        self._definitions: dict[tuple[Identity, str], tuple[Definition, ...]] = {}
        self._versions: dict[Identity, SymbolVersions] = {}
        if program is not None and self.is_simulated:
            self._begin(path, program)

    def _begin(self, path: str, program: ReadFile) -> None:
        """Map the program, its loader, preloaded libraries, and everything that these need."""
        self.search.main = self.search.map(path, program, PROGRAM)
        self.files.append(self.search.main)
        if program.file.interpreter is not None:
            self._map_interpreter(program.file.interpreter)
        roots = [self.search.main]
        for name, reason in self.search.preloads():  # the loader ignores names that it cannot preload
            count = len(self.files)
            file = self.load(name, self.main).file
            if file is not None and len(self.files) > count:
                file.needed_by, file.reason = None, reason
                roots.append(file)
        for requester, request in self.bring_in(roots):
            if request.file is None:
                self.missing.append(self._describe_missing(requester, request))
        self.scope = self._list_scope(roots)
        for before, file in pairwise(self.scope):
            if file.reason == INTERPRETER:  # put the loader after the file that it follows in the scope
                self.files.remove(file)
                self.files.insert(self.files.index(before) + 1, file)

    def _map_interpreter(self, interpreter: str) -> None:
        """Map the loader itself, which the kernel maps before any library."""
        try:
            read = self.search.files.read(interpreter)
        except (OSError, UnloadableFileError):
            read = None
        if read is None:
            self.problem = f"{self.files[0].path}: its loader {interpreter} cannot be read"
        else:
            self.files.append(self.search.map(interpreter, read, INTERPRETER))
            self.files[-1].names.add(interpreter)

    @property
    def main(self) -> MappedFile | None:
        """The program's file, or None if the program cannot be read."""
        return self.search.main

    def open(self, name: str | Path, *, caller: MappedFile | None = None, everywhere: bool = False) -> Opened:
        """Open a library by path or by name, as dlopen(3) does; if the library is already mapped, return it.

        If opening fails, the newly mapped files are unmapped. As in the loader, the other files keep the names by which
        they were requested before the failure.

        Args:
            name: a path, or a name without a slash, which is searched for.
            caller: the file whose search path is used to find a name; by default libpython if it is mapped, else the
                program.
            everywhere: offer the library's symbols to libraries that are opened later (RTLD_GLOBAL).
        """
        before, names = len(self.files), dict[MappedFile, set[str]]()
        caller = caller or self._find_caller()
        opened = self.load(str(name), caller)
        file, failures = opened.file, list[MissingLibrary]()
        if file is None:
            by = self.tidy(caller) if caller is not None else PurePosixPath(name)
            failures.append(MissingLibrary(name=opened.name, needed_by=by, problem=opened.problem))
        elif len(self.files) > before:
            file.requester, file.needed_by = None, None  # an opened library inherits no search path
            file.reason = OPENED if "/" in opened.name else file.reason
        for requester, request in self.bring_in([file] if file is not None else []):
            if request.file is None:  # save the names known so far: the loader stops here
                names = names or {each: set(each.names) for each in self.files[:before]}
                failures.append(self._describe_missing(requester, request))
        failures += self.find_failures(self.files[before:])
        if file is None or failures:
            del self.files[before:]
            for each, kept in names.items():
                each.names = kept
            self.missing += failures
            return Opened(file=None, missing=tuple(failures))
        scope = self._list_scope([file])
        if everywhere:
            self.scope += [each for each in scope if each not in self.scope]
        return Opened(file=file, scope=tuple(scope))

    def load(self, name: str, requester: MappedFile | None) -> ResolvedDependency:
        """Return the mapped file that has this name; if there is none, search for the name and map the file found.

        As in the loader, a file is not mapped again if a mapped file has the same inode. There are two exceptions, for
        files that the kernel has mapped: the loader itself is mapped again, and the program is refused as a library.
        """
        file = next((each for each in self.files if each.answers_to(name)), None)
        if file is None:
            try:
                found = self.search.search(name, requester)
            except UnloadableFileError as error:
                return ResolvedDependency(name=name, file=None, problem=str(error))
            problem = self._explain_absence(name) if found is None else ""
            if found is not None and self.main is not None and found.identity == self.main.identity:
                problem = f"{found.path}: a program cannot be opened as a library"
            if found is None or problem:
                return ResolvedDependency(name=name, file=None, problem=problem)
            others = (each for each in self.files if each.reason != INTERPRETER)
            file = next((each for each in others if each.identity == found.identity), found)
            if file is found:
                self.files.append(file)
        file.names.add(name)
        return ResolvedDependency(name=name, file=file)

    def bring_in(self, roots: Iterable[MappedFile]) -> Iterator[tuple[MappedFile, ResolvedDependency]]:
        """Map everything that `roots` need, breadth-first; yield (file, resolved entry) for each DT_NEEDED entry."""
        queue = list(roots)
        seen = set(queue)
        for requester in queue:
            for request in self._load_dependencies(requester):
                yield requester, request
                if request.file is not None and request.file not in seen:
                    seen.add(request.file)
                    queue.append(request.file)

    def _list_scope(self, roots: list[MappedFile]) -> list[MappedFile]:
        """Return `roots` and everything that they need, in the order in which symbols are looked up."""
        needed = [request.file for _, request in self.bring_in(roots) if request.file is not None]
        return list(dict.fromkeys((*roots, *needed)))

    def _describe_missing(self, requester: MappedFile, request: ResolvedDependency) -> MissingLibrary:
        """Describe an unresolved request."""
        return MissingLibrary(name=request.name, needed_by=self.tidy(requester), problem=request.problem)

    def find_failures(self, added: Sequence[MappedFile]) -> list[MissingLibrary]:
        """Return the reasons why the loader refuses newly mapped files; empty if it refuses none.

        Undefined symbol versions come first, then files that require a higher level than the CPU's.
        """
        failures = [failure for file in added for failure in self._find_undefined_versions(file)]
        for file in added:
            if self.level is not None and rank(file.file.isa_needed) > rank(self.level):
                path = self.tidy(file)
                needed_by = self.tidy(file.needed_by) if file.needed_by is not None else path
                problem = f"{path} is for CPUs of level {file.file.isa_needed}, and this one has {self.level}"
                failures.append(MissingLibrary(name=file.name, needed_by=needed_by, problem=problem))
        return failures

    def providers(
        self, user: MappedFile, references: Iterable[Reference], scope: Iterable[MappedFile] = ()
    ) -> dict[Reference, MappedFile | None]:
        """Map each reference to the file whose definition it is bound to, or to None if it stays undefined.

        Args:
            user: the file with the references.
            references: the references to look up; each file in the scope is read once for all references.
            scope: `Opened.scope` of the call that mapped the user; empty if the user was mapped at the start.
        """
        own = (user,) if user.file.symbolic and user is not self.main else ()
        return self.bind(references, dict.fromkeys((*own, *self.scope, *scope)))

    def bind(self, references: Iterable[Reference], scope: Iterable[MappedFile]) -> dict[Reference, MappedFile | None]:
        """Map each reference to the first file in `scope` that defines its symbol, or to None if no file does."""
        bound: dict[Reference, MappedFile | None] = dict.fromkeys(references)
        for file in scope:
            left = [reference for reference, found in bound.items() if found is None]
            if not left:
                break
            definitions = self._read_definitions(file, {reference.name for reference in left})
            for reference in left:
                if definition_for(definitions[file.identity, reference.name], reference) is not None:
                    bound[reference] = file
        return bound

    def loaded_files(self) -> tuple[LoadedFile, ...]:
        """Describe the mapped files, in load order."""
        return tuple(
            LoadedFile(
                path=self.tidy(file),
                name=file.name,
                soname=file.file.soname or "",
                reason=file.reason,
                needed_by=self.tidy(file.needed_by) if file.needed_by is not None else None,
            )
            for file in self.files
        )

    def tidy(self, file: MappedFile) -> PurePosixPath:
        """Return the path of a file without unnecessary `..`."""
        return self.search.files.tidy(file.path)

    def _find_caller(self) -> MappedFile | None:
        """Return the file that opens extension modules: libpython if it is mapped, else the program."""
        libraries = (file for file in self.files if file.path.rpartition("/")[2].startswith("libpython"))
        return next(libraries, self.main)

    def _explain_absence(self, name: str) -> str:
        """Return why no file was found for a name: "not found", or that a file was built for another machine."""
        if "/" not in name:
            return _ABSENT
        try:
            machine = read_dynamic(self.search.files.place(name)).machine
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

    def _find_undefined_versions(self, file: MappedFile) -> Iterator[MissingLibrary]:
        """Yield each symbol version that a file needs from a library, but that the library does not define.

        Libraries that define no versions at all are accepted, as in the loader.
        """
        for needed, names in self._read_versions(file).needed.items():
            library = next((each for each in self.files if each.answers_to(needed)), file)
            defined = self._read_versions(library).defined if library is not file else ()
            for name in names if defined else ():
                if name not in defined:
                    problem = f"version `{name}' not found in {self.tidy(library)}"
                    yield MissingLibrary(name=needed, needed_by=self.tidy(file), problem=problem)

    def _read_versions(self, file: MappedFile) -> SymbolVersions:
        if file.identity not in self._versions:
            self._versions[file.identity] = SymbolVersions()
            with suppress(OSError, ElfError):
                self._versions[file.identity] = read_versions(file.place)
        return self._versions[file.identity]

    def _read_definitions(
        self, file: MappedFile, names: Iterable[str]
    ) -> Mapping[tuple[Identity, str], tuple[Definition, ...]]:
        """Read a file's definitions of `names`; return all definitions read so far, by file identity and name."""
        unknown = tuple(name for name in names if (file.identity, name) not in self._definitions)
        found: dict[str, tuple[Definition, ...]] = dict.fromkeys(unknown, ())
        with suppress(OSError, ElfError):
            found |= find_all_definitions(file.place, unknown) if unknown else {}
        self._definitions |= {(file.identity, name): definitions for name, definitions in found.items()}
        return self._definitions
