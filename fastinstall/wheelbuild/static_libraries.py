"""Build a C library from an sdist as a static library to link into the core, once; then take it from the cache.

`<cache>/statics/<key>/` holds the archive, its headers and `library.json`. The machine needs a C compiler with its
`ar`, and a shell for `configure`, but not `make`. Libraries that the base wheel or the system has are linked as they
are, and not built here.
"""

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from fastinstall.core import codec, files, foreign, sealed_trees, temporary_directories
from fastinstall.core.concurrency import await_future
from fastinstall.core.errors import DocumentError, FailedError
from fastinstall.core.events import Emit, Finished, Noted, Progressed, Started, ignore
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, ProcessGroup, run
from fastinstall.core.secrets import remove_secret_variables
from fastinstall.core.values import immutable
from fastinstall.model.facts import Compiler
from fastinstall.model.recipe import StaticSource
from fastinstall.wheelbuild.makefile import MakefileCompilation, compile_steps
from fastinstall.wheelbuild.plain_paths import path_flags, plain_directory
from fastinstall.wheelbuild.source_archive import extract_source

STAGE = "library"
_FORMAT = "1"  # of the cache's entries and of the build
_FLAGS = ("-O2", "-fPIC", "-fvisibility=hidden")
"""Hidden, so that its symbols stay inside the linked core: otherwise another module's libz would be called instead, or
the other way round, and crash. -O2 is the default of such libraries. zlib-ng 2.3.3, measured 2026-11-21: -O3 takes a
third more time to compile, is 15% larger, and packs no faster."""
_ENTRY = "library.json"
_HINT = "pass --link system to use the system's libraries"
_INCLUDE = "include"
_MISLEADING = ("CHOST", "CROSS_PREFIX", "ARCH", "uname")  # `configure` would build for another machine
_SECONDS = 300.0
_VERSION = re.compile(r'^#define\s+\w+_VERSION\s+"(\d+(?:\.\d+)+)"', re.MULTILINE)


@immutable
class StaticOrder:
    """All inputs of a static library.

    Attributes:
        name: the recipe's name of the library ("zlib").
        sdist: the archive, its hash verified.
        source: its directory in the sdist, and how to configure it.
        cflags: full flags of the lowest level of the build: one archive serves all levels.
        jobs: how many files are compiled at once.
        cache: root of our cache.
        variables: the environment variables to start from, clean.
    """

    name: str
    sdist: Path
    source: StaticSource
    compiler: Compiler
    cflags: tuple[str, ...]
    jobs: int
    cache: Path
    variables: Mapping[str, str]
    emit: Emit = ignore


@immutable
class StaticLibrary:
    """A static library in the cache.

    Attributes:
        name: the recipe's name of the library.
        archive: the library, compiled position-independent.
        include: the directory of its headers, to search first.
        version: of the library, from its headers ("2.3.3"); empty if unknown.
    """

    name: str
    archive: Path
    include: Path
    version: str


@immutable
class _CachedLibrary:
    """The record of a cached library: its version and, by path, the digests of its files."""

    version: str
    files: dict[str, str]


def build_static(order: StaticOrder, process_group: ProcessGroup | None = None) -> StaticLibrary:
    """Build the library, or take it from the cache.

    Args:
        process_group: stops the build together with other work; required outside the main thread.

    Raises:
        FailedError: the sdist lacks the library, its `configure` or the compiler failed, or its
            makefiles use unsupported syntax.
    """
    place = order.cache / "statics" / codec.digest(static_inputs(order))
    entry = _find_stored_library(place, order)
    if entry is None:
        started = time.monotonic()
        order.emit(Started(stage=STAGE, message=f"compiling {order.source.pypi} for {order.name}"))
        within = order.cache / "tmp"
        with (
            temporary_directories.temporary_directory("entry", within=within) as space,
            plain_directory(within) as workplace,
        ):
            _LibraryBuild(order, workplace, process_group or ProcessGroup()).build(space / "entry")
            entry = _read(space / "entry")
            sealed_trees.publish_sealed(space / "entry", place, space / "aside", cache=order.cache)
        seconds = time.monotonic() - started
        order.emit(Finished(stage=STAGE, message=f"compiled {order.source.pypi} {entry.version}", seconds=seconds))
    archive = place / Path(order.source.archive).name
    return StaticLibrary(name=order.name, archive=archive, include=place / _INCLUDE, version=entry.version)


def find_archiver(compiler: Compiler, variables: Mapping[str, str]) -> str:
    """Return the archiver of a compiler: its path, or "ar" for the one on PATH."""
    return run((*compiler.command, "-print-prog-name=ar"), environment=variables).stdout.strip() or "ar"


def list_global_symbols(archive: Path) -> tuple[str, ...]:
    """Return the global symbols of an archive's members, from its index, which is its first member (ar(5))."""
    content = archive.read_bytes()
    if not content.startswith(b"!<arch>\n/ "):
        return ()
    size, count = int(content[56:66]), int.from_bytes(content[68:72], "big")
    return tuple(name.decode() for name in content[72 + 4 * count : 68 + size].split(b"\0")[:count])


def static_inputs(order: StaticOrder) -> dict[str, str]:
    """Return all inputs of the archive, by name; also for the key of the binary that links it."""
    return key_inputs(order.source, files.sha256(order.sdist), order.cflags, order.compiler.text)


def key_inputs(source: StaticSource, sdist: str, cflags: Sequence[str], compiler: str) -> dict[str, str]:
    """Return the inputs of the archive from the hash of an sdist and a compiler's `text`."""
    return {
        "format": _FORMAT,
        "sdist": sdist,
        "directory": source.directory,
        "configure": shlex.join(source.configure),
        "archive": source.archive,
        "headers": shlex.join(source.headers),
        "cflags": shlex.join((*cflags, *_FLAGS)),
        "compiler": compiler,
    }


class _LibraryBuild:
    """One build, in its own temporary directory."""

    def __init__(self, order: StaticOrder, space: Path, process_group: ProcessGroup) -> None:
        self._order = order
        self._space = space
        self._process_group = process_group

    def build(self, entry: Path) -> None:
        """Compile, and lay out the entry of the cache."""
        order = self._order
        source = extract_source(order.sdist, self._space / "source") / order.source.directory
        self._configure(source)
        archive = Path(order.source.archive).name
        steps = compile_steps(source, archive)
        self._compile(steps)
        (entry / _INCLUDE).mkdir(parents=True)
        self._archive_objects(steps, entry / archive)
        for header in order.source.headers:
            _copy(source / header, entry / _INCLUDE / Path(header).name)
        _describe(entry)

    def _configure(self, source: Path) -> None:
        order = self._order
        if not (source / "configure").is_file():
            raise FailedError(f"{order.sdist.name}: no configure in {order.source.directory}")
        flags = (*order.cflags, *_FLAGS, *path_flags(self._space))
        variables = {"CC": self._find_plain_compiler(), "CFLAGS": shlex.join(flags), "TMPDIR": str(self._space)}
        argv = ("/bin/sh", "./configure", *order.source.configure)
        self._run(argv, source, f"configuring {order.source.pypi} failed", **variables)

    def _find_plain_compiler(self) -> str:
        """Return the compiler's command, or a wrapper without a space in its path: `configure` lacks quoting."""
        words = shlex.join(self._order.compiler.command)
        if "'" not in words:
            return words
        front = self._space / "cc"
        files.write_text(front, f'#!/bin/sh\nexec {words} "$@"\n', mode=0o755)
        return str(front)

    def _compile(self, steps: tuple[MakefileCompilation, ...]) -> None:
        with ThreadPoolExecutor(max_workers=max(self._order.jobs, 1)) as pool:
            work = [pool.submit(self._run, step.argv, step.directory, self._describe_failure(step)) for step in steps]
            try:
                for done, each in enumerate(work, 1):
                    await_future(each)
                    self._order.emit(Progressed(stage=STAGE, done=done, total=len(work)))
            except BaseException:
                self._process_group.pull()
                pool.shutdown(cancel_futures=True)
                raise

    def _describe_failure(self, step: MakefileCompilation) -> str:
        return f"compiling {step.output.name} of {self._order.source.pypi} failed"

    def _archive_objects(self, steps: tuple[MakefileCompilation, ...], target: Path) -> None:
        """Collect the objects; D: without times, owners and permissions (ar(1))."""
        order = self._order
        program = find_archiver(order.compiler, order.variables)
        argv = (program, "rcsD", str(target), *(str(step.output) for step in steps))
        self._run(argv, target.parent, f"archiving {order.source.pypi} failed")

    def _run(self, argv: tuple[str, ...], directory: Path, failure: str, **variables: str) -> None:
        harmless = remove_secret_variables(self._order.variables)
        kept = {name: value for name, value in harmless.items() if name not in _MISLEADING}
        environment = {**kept, "LC_ALL": "C", **variables}
        try:
            run(argv, directory=directory, environment=environment, timeout=_SECONDS, process_group=self._process_group)
        except CommandError as error:
            raise FailedError(failure, hint=_HINT, details=error.details) from error


def _copy(source: Path, target: Path) -> None:
    try:
        files.write_bytes(target, source.read_bytes())
    except OSError as error:
        raise FailedError(f"{source.name}: configure did not create it: {error.strerror}") from error


def _describe(entry: Path) -> None:
    """Write the record of an entry; last, so that an entry with a record is complete."""
    paths = sorted(path for path in entry.rglob("*") if path.is_file())
    text = "\n".join(foreign.read_text(path, "utf-8", "replace") for path in paths if path.suffix == ".h")
    match = _VERSION.search(text)
    digests = {path.relative_to(entry).as_posix(): files.sha256(path) for path in paths}
    value = _CachedLibrary(version=match[1] if match else "", files=digests)
    files.write_text(entry / _ENTRY, codec.dump(codec.document("static", value)))


def _find_stored_library(place: Path, order: StaticOrder) -> _CachedLibrary | None:
    if not place.is_dir():
        return None
    if sealed_trees.is_intact(place, cache=order.cache):
        with suppress(OSError, ValueError, DocumentError):  # of another time
            return _read(place)
    order.emit(Noted(message=f"{place}: the cached library is damaged; building it again", warning=True))
    return None


def _read(place: Path) -> _CachedLibrary:
    path = place / _ENTRY
    return codec.open_document(_CachedLibrary, "static", json_data(foreign.read_text(path)), file=path)
