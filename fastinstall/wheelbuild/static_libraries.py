"""Build a static C library for the core from an sdist, or take it from the cache.

`<cache>/statics/<key>/` contains the library's archive (`.a`) and headers. The machine needs a C compiler with its
`ar`, and a shell for `configure`, but not `make`. Libraries of the base wheel or the system are not built here.

This module reads the makefiles that `configure` has written, as far as the zlib family needs: variables, rules with one
target, the pattern "%.o", and makefiles of subdirectories; but no functions, conditions or shell.
"""

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path

from fastinstall.core import codec, files, foreign, sealed_trees
from fastinstall.core.concurrency import await_future
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Finished, Noted, Progressed, Started
from fastinstall.core.process import CommandError, ProcessGroup, run
from fastinstall.core.secrets import remove_secret_variables
from fastinstall.core.values import immutable
from fastinstall.model.machine import Compiler
from fastinstall.model.recipe import StaticSource
from fastinstall.wheelbuild.build_inputs import BuildRequest, path_flags, plain_directory
from fastinstall.wheelbuild.prepare import extract_source

_NAME = "Makefile"
_VARIABLE = re.compile(r"^([A-Za-z_]\w*)[ \t]*[:?]?=[ \t]*(.*)$")
_RULE = re.compile(r"^([^\s:=#][^:=]*):(?!=)[ \t]*(.*)$")
_REFERENCE = re.compile(r"\$(?:\((\w+)\)|\{(\w+)\}|([@<]))")
_DEEPEST, _LONGEST, _SHOWN = 50, 1 << 16, 80


@immutable
class MakefileCompilation:
    """The command that compiles one object file.

    Attributes:
        directory: working directory of the command.
    """

    directory: Path
    argv: tuple[str, ...]
    output: Path


class _Makefile:
    """A makefile: its variables, the prerequisites of each target, and the compile command of each object file.

    Args:
        directory: the directory of the makefile.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.variables: dict[str, str] = {}
        self.needs: dict[str, str] = {}
        self.compiling: dict[str, str] = {}
        try:
            text = (directory / _NAME).read_text(encoding="utf-8")
        except OSError as error:
            raise FailedError(f"{directory / _NAME}: {error.strerror}") from error
        for line, following in pairwise([*text.replace("\\\n", " ").splitlines(), ""]):
            if match := _VARIABLE.match(line):
                self.variables[match[1]] = match[2]
            elif (match := _RULE.match(line)) and following.startswith("\t"):
                target, command = match[1].strip(), following.strip()
                self.needs.setdefault(target, match[2])
                if command.startswith("$(CC) ") and " -c " in command:
                    self.compiling.setdefault(target, command)

    def expand(self, text: str, **automatic: str) -> str:
        """Return text with references to variables replaced by their values; unset variables are empty.

        Raises:
            FailedError: a variable refers to itself, or its expansion is implausibly long.
        """
        values = {**self.variables, **automatic}
        for _ in range(_DEEPEST):
            if not _REFERENCE.search(text):
                return text
            text = _REFERENCE.sub(lambda match: values.get(match[1] or match[2] or match[3], ""), text)
            if len(text) > _LONGEST:
                break
        raise FailedError(f"{self.directory / _NAME}: {text[:_SHOWN]!r}... cannot expand it")

    def find_compilation(self, name: str) -> MakefileCompilation | None:
        """Return the command that compiles an object; None if the makefile has none.

        The command comes from the object's own rule. If there is no such rule, but the C file exists, it comes from the
        pattern rule.
        """
        source = self.directory / Path(name).with_suffix(".c")
        command = self.compiling.get(name) or (self.compiling.get("%.o") if source.is_file() else None)
        if command is None:
            return None
        text = self.expand(command, **{"@": shlex.quote(name), "<": shlex.quote(str(source))})
        try:
            argv = tuple(shlex.split(text))
        except ValueError as error:
            raise FailedError(f"{self.directory / _NAME}: {text!r}: {error}") from None
        return MakefileCompilation(directory=self.directory, argv=argv, output=self.directory / name)


def compile_steps(directory: Path, archive: str) -> tuple[MakefileCompilation, ...]:
    """Return the commands that compile the members of an archive, in the archive's order.

    Args:
        directory: the configured source, with its Makefile.
        archive: file name of the static library, a target of the Makefile.

    Raises:
        FailedError: the makefiles use unsupported syntax.
    """
    top = _Makefile(directory)
    needs = next((needs for target, needs in top.needs.items() if top.expand(target) == archive), "")
    objects = [Path(name) for name in top.expand(needs).split()]
    if not objects:
        raise FailedError(f"{directory / _NAME}: no rule for {archive}")
    steps = []
    for path in objects:
        # An object in the top directory may be a copy of one that a makefile in the architecture's directory compiles.
        step = None if path.parent.name else top.find_compilation(path.name)
        place = directory / (path.parent if path.parent.name else top.expand("$(ARCHDIR)"))
        step = step or _Makefile(place).find_compilation(path.name)
        if step is None:
            raise FailedError(f"{directory / _NAME}: no rule for {path} that compiles one file")
        steps.append(step)
    return tuple(steps)


STAGE = "library"
_FORMAT = "1"  # version of this build procedure and of its cache entries
_FLAGS = ("-O2", "-fPIC", "-fvisibility=hidden")
"""Visibility is hidden so that the library's symbols stay inside the core: otherwise the core could call the libz of
another module, or that module the core's, and crash. -O2 is the default of such libraries. For zlib-ng 2.3.3, -O3 takes
a third more time to compile, is 15% larger, and compresses no faster (measured 2026-11-21)."""
_HINT = "pass --link system to use the system's libraries"
_INCLUDE = "include"
_MISLEADING = ("CHOST", "CROSS_PREFIX", "ARCH", "uname")  # these would make `configure` build for another machine
_SECONDS = 300.0
_VERSION = re.compile(r'^#define\s+\w+_VERSION\s+"(\d+(?:\.\d+)+)"', re.MULTILINE)


@immutable
class StaticLibrary:
    """A static library in the cache.

    Attributes:
        name: the recipe's name of the library.
        archive: the library's file, compiled position-independent.
        include: the directory of its headers, which must be searched first.
        version: the version that the library's headers state ("2.3.3"); empty if unknown.
    """

    name: str
    archive: Path
    include: Path
    version: str


def build_static(request: BuildRequest, name: str, process_group: ProcessGroup | None = None) -> StaticLibrary:
    """Build a static library, or take it from the cache.

    All levels of a build link the same library, which is compiled for the lowest level.

    Args:
        request: the build that links the library.
        name: the recipe's name of the library ("zlib").
        process_group: lets the caller stop the build together with other work; required outside the main thread.

    Raises:
        FailedError: the sdist lacks the library, its `configure` or the compiler failed, or its makefiles use
            unsupported syntax.
    """
    source, cache = request.static_sources()[name], request.cache
    sdist = files.sha256(request.statics[name])
    place = cache / "statics" / make_static_key(source, sdist, request.step.targets[0].cflags, request.compiler.text)

    def make(entry: Path) -> None:
        if place.is_dir():
            request.emit(Noted(message=f"{place}: the cached library is damaged; building it again", warning=True))
        started = time.monotonic()
        request.emit(Started(stage=STAGE, message=f"compiling {source.pypi} for {name}"))
        with plain_directory(cache / "tmp") as workplace:
            _build_library(request, name, workplace, process_group or ProcessGroup(), entry)
        seconds = time.monotonic() - started
        request.emit(Finished(stage=STAGE, message=f"compiled {source.pypi}", seconds=seconds))

    sealed_trees.make_once(place, make, cache=cache)
    archive, include = place / Path(source.archive).name, place / _INCLUDE
    text = "\n".join(foreign.read_text(path, "utf-8", "replace") for path in sorted(include.iterdir()))
    version = match[1] if (match := _VERSION.search(text)) else ""
    return StaticLibrary(name=name, archive=archive, include=include, version=version)


def find_archiver(compiler: Compiler, variables: Mapping[str, str]) -> str:
    """Return the archiver of a compiler: its path, or "ar" for the one on PATH."""
    return run((*compiler.command, "-print-prog-name=ar"), environment=variables).stdout.strip() or "ar"


def list_global_symbols(archive: Path) -> tuple[str, ...]:
    """Return the global symbols that the members of an archive define, as listed in its symbol index (ar(5))."""
    content = archive.read_bytes()
    if not content.startswith(b"!<arch>\n/ "):
        return ()
    size, count = int(content[56:66]), int.from_bytes(content[68:72], "big")
    return tuple(name.decode() for name in content[72 + 4 * count : 68 + size].split(b"\0")[:count])


def make_static_key(source: StaticSource, sdist: str, cflags: Sequence[str], compiler: str) -> str:
    """Return a digest of all inputs of a static library, for the name of its cache entry and for the wheel's key.

    Args:
        source: the library's directory in the sdist, and how to configure it.
        sdist: SHA-256 of the sdist.
        cflags: the full CFLAGS of the lowest level.
        compiler: `Compiler.text` of the compiler.
    """
    return codec.digest(
        {
            "format": _FORMAT,
            "sdist": sdist,
            "directory": source.directory,
            "configure": shlex.join(source.configure),
            "archive": source.archive,
            "headers": shlex.join(source.headers),
            "cflags": shlex.join((*cflags, *_FLAGS)),
            "compiler": compiler,
        }
    )


def _build_library(request: BuildRequest, name: str, space: Path, process_group: ProcessGroup, entry: Path) -> None:
    """Compile a library in a temporary directory, and write archive and headers into the cache entry."""
    source, sdist = request.static_sources()[name], request.statics[name]
    kept = {key: each for key, each in remove_secret_variables(request.variables).items() if key not in _MISLEADING}
    execute = partial(_execute, {**kept, "LC_ALL": "C"}, process_group)
    tree = extract_source(sdist, space / "source") / source.directory
    if not (tree / "configure").is_file():
        raise FailedError(f"{sdist.name}: no configure in {source.directory}")
    compiler = shlex.join(request.compiler.command)
    if "'" in compiler:  # `configure` does not understand quotes
        files.write_text(space / "cc", f'#!/bin/sh\nexec {compiler} "$@"\n', mode=0o755)
        compiler = str(space / "cc")
    flags = (*request.step.targets[0].cflags, *_FLAGS, *path_flags(space))
    variables = {"CC": compiler, "CFLAGS": shlex.join(flags), "TMPDIR": str(space)}
    configure = ("/bin/sh", "./configure", *source.configure)
    execute(configure, tree, f"configuring {source.pypi} failed", **variables)
    archive = Path(source.archive).name
    steps = compile_steps(tree, archive)
    with ThreadPoolExecutor(max_workers=max(request.step.jobs, 1)) as pool:
        failure = f"of {source.pypi} failed"
        work = [
            pool.submit(execute, step.argv, step.directory, f"compiling {step.output.name} {failure}") for step in steps
        ]
        try:
            for done, each in enumerate(work, 1):
                await_future(each)
                request.emit(Progressed(stage=STAGE, done=done, total=len(work)))
        except BaseException:
            process_group.pull()
            pool.shutdown(cancel_futures=True)
            raise
    (entry / _INCLUDE).mkdir(parents=True)
    program = find_archiver(request.compiler, request.variables)
    pack = (program, "rcsD", str(entry / archive))  # the modifier D omits times, owners and permissions (ar(1))
    execute((*pack, *(str(step.output) for step in steps)), entry, f"archiving {source.pypi} failed")
    for header in source.headers:
        try:
            files.write_bytes(entry / _INCLUDE / Path(header).name, (tree / header).read_bytes())
        except OSError as error:
            raise FailedError(f"{Path(header).name}: configure did not create it: {error.strerror}") from error


def _execute(
    environment: Mapping[str, str],
    process_group: ProcessGroup,
    argv: tuple[str, ...],
    directory: Path,
    failure: str,
    **variables: str,
) -> None:
    try:
        run(
            argv,
            directory=directory,
            environment={**environment, **variables},
            timeout=_SECONDS,
            while_working=True,
            process_group=process_group,
        )
    except CommandError as error:
        reason = f"{failure}: {error.message.rpartition(': ')[2]}"
        raise FailedError(reason, hint=_HINT, details=error.details) from error
