"""Simulate which files the dynamic loader maps for a program and the libraries that it opens.

It models glibc's loader for a fresh process, from files alone. `start_process` begins with the program, its loader,
what is preloaded, and all that they need; the process then opens libraries one after the other and tells what is
mapped, why, and to what symbols are bound.

Not known here: what other packages have loaded before, and of a program that musl's loader begins anything but that.

- A reference is bound to the first definition that fits, going through the scope file by file. Sources: glibc's
  elf/dl-lookup.c.
- When all files are mapped, glibc's loader verifies symbol versions and the CPU's level. Sources: glibc's
  elf/dl-version.c, sysdeps/x86/dl-prop.h.

Not simulated: what the libraries' own code opens when it runs, DT_AUXILIARY and DT_FILTER, auditing, separate
namespaces; references without a definition, for which the loader refuses a file; STB_GNU_UNIQUE, of which a process
takes the first definition ever, and RTLD_DEEPBIND.

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
    """What one DT_NEEDED entry resolves to.

    Attributes:
        soname: the name asked for.
        path: the file, or None if the loader would fail.
        needed_by: the file that asked first.
        problem: why there is no path; empty if there is one.
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
    cache: Path | None = None,
) -> tuple[ResolvedLibrary, ...]:
    """Resolve everything that a library needs, directly or through others, in the loader's order.

    Args:
        path: the library that is opened at run time, an extension module.
        main: the program that opens it; one that is no ELF file (a script) is left out.
        library_path: the directories of LD_LIBRARY_PATH.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first (`usable_hwcaps`).
        cache: a loader's cache to go by; None: the one that is there.

    Returns:
        Nothing where the program is begun by musl's loader, whose rules are not known here.

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
    for requester, request in process.bring_in([opened]):
        if request.file in seen:
            continue
        found = None
        if request.file is not None:
            seen.add(request.file)
            found = Path(process.tidy(request.file))
        asking = Path(process.tidy(requester))
        answer = ResolvedLibrary(soname=request.name, path=found, needed_by=asking, problem=request.problem)
        answers.setdefault(request.name, answer)
    return tuple(answers.values())


def start_process(settings: ProcessSettings) -> "SimulatedProcess":
    """Begin a process.

    Where there is no program that could be begun, the process says so in its `problem`, and opens
    libraries all the same, by the rules of glibc; but for one that musl's loader begins, which
    these rules say nothing of (`is_simulated`).
    """
    process = SimulatedProcess(settings)
    process.missing += process.find_failures(process.files)
    return process


def _find_program(files: RootedFiles, program: Path | None) -> tuple[str, ReadFile | None, str]:
    """Return the program by its real path, as the kernel knows it; and why it cannot run."""
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
    """What became of opening a library at run time.

    Attributes:
        file: the library, or None if the loader refuses it; then nothing of it stays in the process.
        scope: it and what it needs, breadth-first: where its references are looked up behind the global scope.
        missing: what the refusal is about, first what the loader would name.
    """

    file: MappedFile | None
    scope: tuple[MappedFile, ...] = ()
    missing: tuple[MissingLibrary, ...] = ()


class SimulatedProcess:
    """A process, from its settings; `start_process` makes one whose files are checked.

    Attributes:
        search: how a name is looked for.
        level: the CPU's, above which the loader refuses files; None: it refuses none, or the level is not known.
        files: what is mapped, in load order.
        scope: the global scope: the program, what is preloaded and what they need, breadth-first, and
            what was opened for everybody.
        missing: what was not found or was refused, at the start and by every `open` since.
        problem: why it would not even begin (no program, a script, a static program); empty if it would.
        is_simulated: whether these are the rules of the program's loader; False if that is musl's.
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
        """Map the program, its loader, what is preloaded, and what they need."""
        self.search.main = self.search.map(path, program, PROGRAM)
        self.files.append(self.search.main)
        if program.file.interpreter is not None:
            self._map_interpreter(program.file.interpreter)
        roots = [self.search.main]
        for name, reason in self.search.preloads():  # the loader ignores what it cannot preload
            count = len(self.files)
            file = self.load(name, self.main).file
            if file is not None and len(self.files) > count:
                file.needed_by, file.reason = None, reason
                roots.append(file)
        for requester, request in self.bring_in(roots):
            if request.file is None:
                self.missing.append(self._describe_missing(requester, request))
        self.scope = list(breadth_first(roots))
        for before, file in pairwise(self.scope):
            if file.reason == INTERPRETER:  # it takes the place in the list that it has in the global scope
                self.files.remove(file)
                self.files.insert(self.files.index(before) + 1, file)

    def _map_interpreter(self, interpreter: str) -> None:
        """Map the loader itself, which is there from the start."""
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
        """The file of the program."""
        return self.search.main

    def open(self, name: str | Path, *, caller: MappedFile | None = None, everywhere: bool = False) -> Opened:
        """Open a library by path or by name, as dlopen(3) does; one that is mapped already is used again.

        Names that files got before a failure stay: the loader forgets no name of a file that stays.

        Args:
            name: the path, or a name without a slash, which is searched for.
            caller: whose search path serves a name; without one libpython, if it is there, else the program.
            everywhere: offer its symbols to whatever is opened later (RTLD_GLOBAL).
        """
        before, names = len(self.files), dict[MappedFile, set[str]]()
        caller = caller or self._find_caller()
        opened = self.load(str(name), caller)
        file, failures = opened.file, list[MissingLibrary]()
        if file is None:
            by = self.tidy(caller) if caller is not None else PurePosixPath(name)
            failures.append(MissingLibrary(name=opened.name, needed_by=by, problem=opened.problem))
        elif len(self.files) > before:
            file.requester, file.needed_by = None, None  # it inherits nobody's search path
            file.reason = OPENED if "/" in opened.name else file.reason
        for requester, request in self.bring_in([file] if file is not None else []):
            if request.file is None:  # the loader stops at the first
                names = names or {each: set(each.names) for each in self.files[:before]}
                failures.append(self._describe_missing(requester, request))
        failures += self.find_failures(self.files[before:])
        if file is None or failures:
            del self.files[before:]
            for each, kept in names.items():
                each.names = kept
            self.missing += failures
            return Opened(file=None, missing=tuple(failures))
        scope = breadth_first([file])
        if everywhere:
            self.scope += [each for each in scope if each not in self.scope]
        return Opened(file=file, scope=scope)

    def load(self, name: str, requester: MappedFile | None) -> ResolvedDependency:
        """Load a file that answers to the name, else one found by a search, which is mapped behind the others.

        What the kernel has mapped, the program and the loader, is not known again by its inode.
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
        """Bring in what the roots need, breadth-first: each file that asks, and what it is answered."""
        queue = list(roots)
        seen = set(queue)
        for requester in queue:
            for request in self._load_dependencies(requester):
                yield requester, request
                if request.file is not None and request.file not in seen:
                    seen.add(request.file)
                    queue.append(request.file)

    def _describe_missing(self, requester: MappedFile, request: ResolvedDependency) -> MissingLibrary:
        """Return a request that is not met, as a value."""
        return MissingLibrary(name=request.name, needed_by=self.tidy(requester), problem=request.problem)

    def find_failures(self, added: Sequence[MappedFile]) -> list[MissingLibrary]:
        """Return why the files that were mapped last are refused; undefined versions first, then levels."""
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
        """Return the files whose definitions references bind to; None for one that stays undefined.

        Args:
            user: the file with the references.
            references: what it asks for; each of the scope's files is read once for all of them.
            scope: that of the `Opened` which brought the user in; empty for what the program brought in.
        """
        own = (user,) if user.file.symbolic and user is not self.main else ()
        return self.bind(references, dict.fromkeys((*own, *self.scope, *scope)))

    def bind(self, references: Iterable[Reference], scope: Iterable[MappedFile]) -> dict[Reference, MappedFile | None]:
        """Return the first file in a scope that defines each reference, or None if it stays undefined."""
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
        """Return the files as values, in load order."""
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
        """Return the path of a file, without needless `..`."""
        return self.search.files.tidy(file.path)

    def _find_caller(self) -> MappedFile | None:
        """Return who opens extension modules: libpython, where the interpreter has one, else the program."""
        libraries = (file for file in self.files if file.path.rpartition("/")[2].startswith("libpython"))
        return next(libraries, self.main)

    def _explain_absence(self, name: str) -> str:
        """Return why there is no file: what is asked for by path may be there, and for another machine."""
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
        """Yield versions that the file needs of a library which defines versions, but not these."""
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
        """Return all definitions that are known, those of a file under some names among them."""
        unknown = tuple(name for name in names if (file.identity, name) not in self._definitions)
        found: dict[str, tuple[Definition, ...]] = dict.fromkeys(unknown, ())
        with suppress(OSError, ElfError):
            found |= find_all_definitions(file.place, unknown) if unknown else {}
        self._definitions |= {(file.identity, name): definitions for name, definitions in found.items()}
        return self._definitions


def breadth_first(roots: Iterable[MappedFile]) -> tuple[MappedFile, ...]:
    """Return the roots and what they need, in the order in which symbols are looked up."""
    order = list(dict.fromkeys(roots))
    seen = set(order)
    for file in order:
        for needed in file.needs:
            if needed not in seen:
                seen.add(needed)
                order.append(needed)
    return tuple(order)
