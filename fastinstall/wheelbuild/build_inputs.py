"""Inputs and outputs of a build: request, result, requirements, and the flags that make it reproducible.

The same inputs give the same bytes, on any machine and date. The flags for paths are here; the rest is done elsewhere:
a wheel is packed in order and without dates, its metadata has no times or paths of the machine, and static libraries
are archived without dates. No `-frandom-seed`: C without link-time optimisation has no names that need it. Source:
https://reproducible-builds.org/docs/ and GCC's manual on `-ffile-prefix-map`.

A build's own requirements (setuptools, pybind11) are fetched first, so that the build needs no network.
`<cache>/requirements/<key>/` holds directories of wheels, each named after its content, and `latest.json`, which names
the latest one and is valid only while all its files are intact. It is used for 30 days, where pip is configured for the
same indexes; then these are asked again. If they cannot be reached, the old files are used. What comes with the help of
a wheelhouse goes away with the process.
"""

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Protocol, TypeVar

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core import codec, files, foreign, sealed_trees, temporary_directories
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import DocumentError, FailedError, UsageError
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.messages import listing, quote
from fastinstall.core.parsing import json_data, toml_data
from fastinstall.core.process import CommandError, ProcessGroup, run
from fastinstall.core.values import immutable
from fastinstall.index.downloads import private_space
from fastinstall.index.pip import pip_environment
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Interpreter
from fastinstall.model.recipe import NativeRequirement, Recipe
from fastinstall.model.toolchain import Compiler
from fastinstall.model.wheel_order import WheelOrder


@immutable
class BuildRequest:
    """All inputs of a build; nothing else is looked up.

    Attributes:
        recipe: the recipe to build.
        step: version, level, flags, link mode and libraries, as planned.
        interpreter: the Python that it is built for.
        source: the sdist, its hash verified.
        statics: sdists of libraries that are linked into the core, by the recipe's names of the libraries.
        base_wheel: the official wheel that carries the core, its hash verified, or None to build everything.
        include_directories: private C headers, searched before the system's.
        header_packages: what lies there, from packages.
        library_prefix: the environment with the libraries to link (link mode "env"): its `lib` and `include`.
        compiler: the C compiler.
        cache: root of our cache, which also holds all temporary files.
        offline: whether the build's own requirements must come from `wheelhouse`.
        wheelhouse: a directory with the build's own requirements; searched in addition to the index.
        indexes: names of the indexes and `find-links` that pip asks.
        pip: the command that starts pip for the interpreter.
        variables: the environment variables to start from.
        emit: receives progress events.
    """

    recipe: Recipe
    step: WheelOrder
    interpreter: Interpreter
    source: Path
    statics: Mapping[str, Path] = field(default_factory=dict)
    base_wheel: Path | None = None
    include_directories: tuple[Path, ...] = ()
    header_packages: tuple[Artefact, ...] = ()
    library_prefix: Path | None = None
    compiler: Compiler
    cache: Path
    offline: bool = False
    wheelhouse: Path | None = None
    indexes: tuple[str, ...] = ()
    pip: tuple[str, ...]
    variables: Mapping[str, str]
    emit: Emit = ignore

    def enabled(self) -> dict[str, NativeRequirement]:
        """The libraries to compile against: with an official wheel only the core's, because the wheel has the rest."""
        known = {name: self.recipe.libraries[name] for name in self.step.libraries if name in self.recipe.libraries}
        return {name: library for name, library in known.items() if library.core or self.base_wheel is None}


@immutable
class BuildResult:
    """A built wheel in the cache.

    Attributes:
        wheel: the file.
        sha256: of it, hexadecimal.
        from_cache: whether it was taken from the cache.
        features: of the build's own summary: name to version ("" if unknown), None if absent.
        log: the complete output of the build, level by level; may be gone if the wheel is from the cache; None if the
            wheel was built elsewhere.
        seconds: duration of this step.
    """

    wheel: Path
    sha256: str
    from_cache: bool
    features: dict[str, str | None]
    log: Path | None
    seconds: float


def find_memory_source(recipe: Recipe) -> Path | None:
    """Return the C file that lets malloc keep memory, for a recipe's core; None if it keeps none."""
    return recipes_directory() / "memory.c" if recipe.keep_memory else None


def list_kernel_sources(recipe: Recipe) -> tuple[Path, ...]:
    """Return the C files of a recipe's kernels, with the files that they include.

    Raises:
        UsageError: the recipe names an unknown kernel.
    """
    if not recipe.kernels:
        return ()
    directory = kernels_directory()
    found = {file.stem for file in directory.glob("*.c")}
    for index, kernel in enumerate(recipe.kernels):
        if kernel.name not in found:
            raise UsageError(
                f"recipe {recipe.name}: kernels[{index}].name: unknown kernel {kernel.name!r}",
                hint=f"known: {listing(sorted(found))}",
            )
    return (*sorted(directory.glob("*.h")), *(directory / f"{kernel.name}.c" for kernel in recipe.kernels))


def kernels_directory() -> Path:
    """Return the directory of the kernels that come with fastinstall."""
    return recipes_directory() / "kernels"


FIXED_VARIABLES = {
    "SOURCE_DATE_EPOCH": "1577836800",  # 2020-01-01: a zip archive can hold it
    "PYTHONHASHSEED": "0",  # build scripts iterate over sets in the same order
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}


def is_plain(path: Path) -> bool:
    """Whether a path needs no quoting anywhere: `configure`, makefiles and Pillow's setup.py take no other."""
    return re.fullmatch(r"[\w./+-]+", str(path), re.ASCII) is not None


def plain_path(directory: Path, link: Path) -> Path:
    """Return a directory, or a symbolic link to it if its own path is not plain.

    Args:
        directory: any.
        link: a plain path, not there yet.
    """
    if is_plain(directory):
        return directory
    link.symlink_to(directory)
    return link


@contextmanager
def plain_directory(space: Path) -> Iterator[Path]:
    """A temporary directory with a plain path: in a build's own, else in the system's."""
    places = (space, Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))  # noqa: S108 (mkdtemp makes its own in it)
    within = next((place for place in places if is_plain(place) and os.access(place, os.W_OK)), space)
    with temporary_directories.temporary_directory("plain", within=within) as directory:
        yield directory


def path_flags(*directories: Path) -> tuple[str, ...]:
    """Return compiler flags that keep these directories out of the output and its debug information.

    If one contains another, the inner one counts: GCC uses the last map that fits.
    """
    outermost_first = sorted(directories, key=lambda directory: len(directory.parts))
    return tuple(f"-ffile-prefix-map={directory}=." for directory in outermost_first)


_LIFETIME = 30 * 24 * 3600.0
_SECONDS = 300.0
_LATEST = "latest.json"
_DEFAULT = {"requires": ["setuptools>=40.8.0"]}  # PEP 518: without pyproject.toml or [build-system]
_LEGACY = "setuptools.build_meta:__legacy__"  # PEP 517: without a named backend


@immutable
class BuildRequirements:
    """Wheels that a build runs with.

    Attributes:
        directory: contains only them, or None if the build requires nothing.
        files: file name and sha256 of each, sorted.
    """

    directory: Path | None
    files: tuple[tuple[str, str], ...]


@immutable
class _Latest:
    """The latest fetch: the name of its directory, and sha256 by file name."""

    directory: str
    files: dict[str, str]


def fetch_requirements(
    request: BuildRequest, source: Path, process_group: ProcessGroup | None = None
) -> BuildRequirements:
    """Return the wheels that a source tree requires for its build, from our cache if recent.

    Args:
        request: the build; its pip settings name the index.
        source: the unpacked source, with its pyproject.toml.
        process_group: stops the download together with other work; required outside the main thread.

    Raises:
        FailedError: they are neither in the cache nor in the wheelhouse, and the index is unreachable,
            not allowed, or has no wheel for this interpreter.
    """
    required = read_build_system(source).requires
    if not required:
        return BuildRequirements(directory=None, files=())
    within = Path("requirements", codec.digest(_list_key_inputs(request, required)))
    place = request.cache / within
    latest, age = read_latest_record(_Latest, "requirements", place / _LATEST, request.cache)
    known = _describe_latest(place, latest) if latest is not None else None
    if known is not None and (request.offline or age <= _LIFETIME):
        return known
    if request.wheelhouse is not None:  # what pip takes from there counts for this run alone
        place = private_space(request.cache) / within
    return _refresh_requirements(request, required, place, known, process_group)


def _describe_latest(place: Path, latest: _Latest) -> BuildRequirements:
    return BuildRequirements(directory=place / latest.directory, files=tuple(sorted(latest.files.items())))


@immutable
class BuildSystem:
    """The build system of a source.

    Attributes:
        requires: its requirements (PEP 518).
        backend: the object to call (PEP 517).
        backend_path: directories of the source that contain it; None if it is installed.
    """

    requires: tuple[str, ...]
    backend: str
    backend_path: tuple[str, ...] | None


def read_build_system(source: Path) -> BuildSystem:
    """Return the `[build-system]` of a source tree.

    Raises:
        FailedError: pyproject.toml is malformed.
    """
    path = source / "pyproject.toml"
    try:
        table = toml_data(foreign.read_text(path)).get("build-system", _DEFAULT)
        search = table.get("backend-path")
        return BuildSystem(
            requires=tuple(str(each) for each in table["requires"]),
            backend=str(table.get("build-backend", _LEGACY)),
            backend_path=tuple(str(each) for each in search) if search is not None else None,
        )
    except FileNotFoundError:
        return BuildSystem(requires=tuple(_DEFAULT["requires"]), backend=_LEGACY, backend_path=None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FailedError(f"{path}: build-system.requires invalid: {error!r}") from error


def describe_given_wheels(wheelhouse: Path | None) -> dict[str, str]:
    """Return what a wheelhouse adds to the inputs of a build: wheels that it may require, by hash; none without one.

    Pillow and the compiler are left out: they are inputs by themselves.
    """
    if wheelhouse is None:
        return {}
    apart = ("pillow", *list_wheel_compilers())
    paths = (path for path in wheelhouse.glob("*.whl") if not path.name.lower().startswith(apart))
    return {"wheelhouse": codec.digest({path.name: files.sha256(path) for path in paths})}


def remove_pip_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a pip that uses no index, without the user's settings, which may name more files."""
    kept = {name: value for name, value in variables.items() if not name.startswith("PIP_")}
    return {**kept, "PIP_CONFIG_FILE": os.devnull}


def _list_key_inputs(request: BuildRequest, required: tuple[str, ...]) -> dict[str, str]:
    interpreter = request.interpreter
    minor = ".".join(interpreter.version.split(".")[:2])
    return {
        "requires": "\n".join(sorted(required)),
        "python": f"{interpreter.implementation} {minor} {interpreter.abi}",
        "platform": f"{interpreter.platform} {interpreter.libc} {interpreter.libc_version}",
        "indexes": "\n".join(request.indexes),
    }


def _refresh_requirements(
    request: BuildRequest,
    required: tuple[str, ...],
    place: Path,
    known: BuildRequirements | None,
    process_group: ProcessGroup | None,
) -> BuildRequirements:
    """Fetch again; if that fails, return the old files."""
    try:
        return _describe_latest(place, _fetch_requirements(request, required, place, process_group))
    except CommandError as error:
        if known is None:
            raise _explain_missing_requirements(request, required, error) from error
        message = f"{', '.join(required)}: cannot be looked up; using the copies fetched before"
        request.emit(Noted(message=message, warning=True))
        return known


def _fetch_requirements(
    request: BuildRequest, required: tuple[str, ...], place: Path, process_group: ProcessGroup | None
) -> _Latest:
    with temporary_directories.temporary_directory("requirements", within=request.cache / "tmp") as space:
        fresh = space / "wheels"
        fresh.mkdir()
        argv = (*request.pip, "download", "--only-binary", ":all:", "--quiet", "--progress-bar", "off")
        words = (*_make_index_words(request), "--dest", str(fresh), *required)
        environment = {**pip_environment(request.variables), "TMPDIR": str(space)}
        run((*argv, *words), environment=environment, timeout=_SECONDS, process_group=process_group)
        digests = {path.name: files.sha256(path) for path in sorted(fresh.iterdir())}
        latest = _Latest(directory=codec.digest(digests)[:16], files=digests)
        if request.wheelhouse is not None:  # for this run alone
            files.publish(fresh, place / latest.directory, space / "aside")
        else:
            sealed_trees.publish(fresh, place / latest.directory, space / "aside", cache=request.cache)
    files.write_text(place / _LATEST, codec.dump(codec.document("requirements", latest)))
    return latest


def _make_index_words(request: BuildRequest) -> tuple[str, ...]:
    links = ("--find-links", str(request.wheelhouse)) if request.wheelhouse is not None else ()
    return ("--no-index", *links) if request.offline else links


def _explain_missing_requirements(request: BuildRequest, required: tuple[str, ...], error: CommandError) -> FailedError:
    wanted = " ".join(map(quote, required))
    directory = quote(request.wheelhouse or "WHEELHOUSE")
    where = (
        f"not in {request.wheelhouse}, and not in the cache" if request.wheelhouse is not None else "not in the cache"
    )
    reason = f"{where}, and this run is offline" if request.offline else "cannot be fetched"
    download = f"{quote(request.interpreter.executable)} -m pip download --only-binary :all: -d {directory} {wanted}"
    hint = f"on a machine with a network, run: {download}; then pass --wheelhouse {directory}"
    return FailedError(f"the build requires {', '.join(required)}: {reason}", hint=hint, details=error.details)


class FetchedFiles(Protocol):
    """A record of files that were fetched together."""

    @property
    def directory(self) -> str:
        """Their directory, beside the record."""
        ...

    @property
    def files(self) -> dict[str, str]:
        """Their sha256, by name."""
        ...


T = TypeVar("T", bound=FetchedFiles)


def read_latest_record(kind: type[T], name: str, path: Path, cache: Path) -> tuple[T | None, float]:
    """Read a record.

    Args:
        kind: of the record.
        name: of its document.
        path: of the record.
        cache: our cache directory, in which it lies.

    Returns:
        The record and its age in seconds; None and 0 if it cannot be read or its files are not what was fetched.
    """
    try:
        record = codec.open_document(kind, name, json_data(foreign.read_text(path)), file=path)
        kept = path.parent / record.directory
        whole = sealed_trees.is_intact(kept, cache=cache) and record.files.keys() == set(foreign.list_names(kept))
        return (record, time.time() - path.stat().st_mtime) if whole else (None, 0.0)
    except (OSError, ValueError, DocumentError):
        return None, 0.0
