"""Fetch wheels with pip before they are needed: a build's own requirements, and fastinstall's own dependencies.

A build's requirements (setuptools, pybind11) are in `<cache>/requirements/<key>/`. The key stands for the set of
requirements, the Python and the indexes. Each fetch has a subdirectory, named by the hash of its wheels. `latest.json`
names the latest fetch, and is valid only while its wheels are intact. After 30 days the indexes are asked again; if
they cannot be reached, the old wheels are used. Wheels that were fetched with a wheelhouse are removed when the process
ends.

fastinstall's own dependencies are fetched for another Python or machine, in the versions and by the hashes of a lock
file, into `<cache>/tool/needs/<key>/`. pip would evaluate the lock file's markers for the Python that runs pip, so this
module evaluates them.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core import codec, files, foreign, sealed_trees, temporary_directories
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Noted
from fastinstall.core.messages import quote
from fastinstall.core.parsing import toml_data
from fastinstall.core.process import CommandError, ProcessGroup, run
from fastinstall.core.values import immutable
from fastinstall.index.downloads import private_space
from fastinstall.index.pip import TOOL_PIP, pip_environment
from fastinstall.index.selection import list_libc_platforms
from fastinstall.model.facts import Interpreter
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.staging import install_wheel

_LIFETIME = 30 * 24 * 3600.0
_LATEST = "latest.json"


@immutable
class FetchedWheels:
    """The record of one fetch of wheels.

    Attributes:
        directory: name of the directory with the wheels.
        files: SHA-256 by file name.
    """

    directory: str
    files: dict[str, str]


_DOCUMENT = "requirements"
_SECONDS = 300.0
_DEFAULT = {"requires": ["setuptools>=40.8.0"]}  # PEP 518: the default without pyproject.toml or [build-system]
_LEGACY = "setuptools.build_meta:__legacy__"  # PEP 517: the default if no backend is named
LIBRARY, PROGRAMS = "lib", "bin"
"""Subdirectories of installed requirements: import packages and programs."""


def fetch_requirements(
    request: BuildRequest, source: Path, process_group: ProcessGroup | None = None
) -> tuple[Path, ...]:
    """Return the wheels that a source tree requires for its build, from our cache if the last fetch is recent.

    Args:
        request: the build; its pip settings name the index.
        source: top directory of the unpacked source, with its pyproject.toml.
        process_group: lets the caller stop the download together with other work; required outside the main thread.

    Raises:
        FailedError: the wheels are neither in the cache nor in the wheelhouse, and the index is unreachable, not
            allowed, or has no wheel for this interpreter.
    """
    required, interpreter = read_build_system(source).requires, request.interpreter
    if not required:
        return ()
    inputs = {
        "requires": "\n".join(sorted(required)),
        "python": f"{interpreter.implementation} {interpreter.minor} {interpreter.abi}",
        "platform": f"{interpreter.platform} {interpreter.libc} {interpreter.libc_version}",
        "indexes": "\n".join(request.indexes),
    }
    within = Path("requirements", codec.digest(inputs))
    place = request.cache / within
    known, recent = _find_latest_wheels(place, request.cache)
    if known and (request.offline or recent):
        return known
    if request.wheelhouse is not None:  # files from a wheelhouse are used for this run only
        place = private_space(request.cache) / within
    try:
        return _locate_wheels(place, _fetch_requirements(request, required, place, process_group))
    except CommandError as error:
        if not known:
            raise _explain_missing_requirements(request, required, error) from error
    message = f"{', '.join(required)}: cannot be looked up; using the copies fetched before"
    request.emit(Noted(message=message, warning=True))
    return known


def _find_latest_wheels(place: Path, cache: Path) -> tuple[tuple[Path, ...], bool]:
    """Find the wheels of the latest fetch.

    Args:
        place: the directory of the fetches.
        cache: root of our cache, which contains `place`.

    Returns:
        The wheels, and whether the fetch is recent. If the record cannot be read, or the wheels have changed, there are
        no wheels.
    """
    record = foreign.read_kept(FetchedWheels, _DOCUMENT, place / _LATEST)
    if record is None or not sealed_trees.is_intact(place / record.directory, cache=cache):
        return (), False
    if {*record.files} != {*foreign.list_names(place / record.directory)}:
        return (), False
    return _locate_wheels(place, record), time.time() - (place / _LATEST).stat().st_mtime <= _LIFETIME


def _locate_wheels(place: Path, fetched: FetchedWheels) -> tuple[Path, ...]:
    return tuple(place / fetched.directory / name for name in sorted(fetched.files))


def install_requirements(wheels: Iterable[Path], interpreter: Interpreter, directory: Path) -> None:
    """Unpack the import packages and programs of a build's requirements.

    Args:
        wheels: wheels as returned by `fetch_requirements`.
        interpreter: the interpreter that runs the programs.
        directory: an empty directory to unpack into.

    Raises:
        FailedError: a wheel is damaged.
    """
    library = directory / LIBRARY
    places = {"purelib": library, "platlib": library, "scripts": directory / PROGRAMS, "data": directory}
    for wheel in wheels:
        install_wheel(wheel, {**places, "headers": directory / "include"}, interpreter)


@immutable
class BuildSystem:
    """The build system of a source.

    Attributes:
        requires: requirements of the build (PEP 518).
        backend: the backend object to call (PEP 517).
        backend_path: directories of the source that contain the backend; None if the backend is among the requirements.
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
    """Return the input that a wheelhouse adds to a build's cache key: a digest of its wheels; empty without one.

    Wheels of Pillow and of compilers do not count, because the cache key has other inputs for them.
    """
    if wheelhouse is None:
        return {}
    apart = ("pillow", *list_wheel_compilers())
    paths = (path for path in wheelhouse.glob("*.whl") if not path.name.lower().startswith(apart))
    return {"wheelhouse": codec.digest({path.name: files.sha256(path) for path in paths})}


def _fetch_requirements(
    request: BuildRequest, required: tuple[str, ...], place: Path, process_group: ProcessGroup | None
) -> FetchedWheels:
    with temporary_directories.temporary_directory("requirements", within=request.cache / "tmp") as space:
        links = ("--find-links", str(request.wheelhouse)) if request.wheelhouse is not None else ()
        index = ("--no-index", *links) if request.offline else links
        fresh = space / "wheels"
        _download(request.pip, (*index, *required), fresh, request.variables, process_group)
        digests = {path.name: files.sha256(path) for path in sorted(fresh.iterdir())}
        record = FetchedWheels(directory=codec.digest(digests)[:16], files=digests)
        target, aside = place / record.directory, space / "aside"
        if request.wheelhouse is None:
            sealed_trees.publish_sealed(fresh, target, aside, cache=request.cache)
        else:  # the downloaded wheels are for this run only
            files.publish(fresh, target, aside)
        files.write_text(place / _LATEST, codec.dump(codec.document(_DOCUMENT, record)))
        return record


def _download(
    pip: Sequence[str],
    words: Sequence[str],
    wheels: Path,
    variables: Mapping[str, str],
    process_group: ProcessGroup | None = None,
) -> None:
    """Run `pip download` into the new directory `wheels`, whose parent is used for pip's temporary files."""
    wheels.mkdir()
    argv = (*pip, "download", "--only-binary", ":all:", "--quiet", "--progress-bar", "off", "--dest", str(wheels))
    environment = {**pip_environment(variables), "TMPDIR": str(wheels.parent)}
    run((*argv, *words), environment=environment, timeout=_SECONDS, while_working=True, process_group=process_group)


def _explain_missing_requirements(request: BuildRequest, required: tuple[str, ...], error: CommandError) -> FailedError:
    wanted = " ".join(map(quote, required))
    directory = quote(request.wheelhouse or "WHEELHOUSE")
    wheelhouse = f"not in {request.wheelhouse}, and " if request.wheelhouse is not None else ""
    reason = f"{wheelhouse}not in the cache, and this run is offline" if request.offline else "cannot be fetched"
    download = f"{quote(request.interpreter.executable)} -m pip download --only-binary :all: -d {directory} {wanted}"
    hint = f"on a machine with a network, run: {download}; then pass --wheelhouse {directory}"
    return FailedError(f"the build requires {', '.join(required)}: {reason}", hint=hint, details=error.details)


_BASE_GLIBC = (2, 28)
"""The oldest glibc that official wheels support."""


def fetch_dependencies(
    lock: Path, minor: str, machine: str, cache: Path, variables: Mapping[str, str], *, offline: bool = False
) -> tuple[Path, ...]:
    """Return the wheels that a lock file names for a Python; fetch them if our cache lacks them.

    Args:
        lock: a requirements file with hashes, as written by uv or pip-compile.
        minor: minor version of the Python that will import the wheels ("3.12").
        machine: architecture of the machine that runs this Python, as in `uname -m` ("x86_64").
        cache: root of our cache.
        variables: environment variables, with pip's settings.
        offline: whether network access is forbidden.

    Raises:
        FailedError: the index cannot be reached, is not allowed, or lacks a wheel.
    """
    pins = list(list_pins(lock.read_text(encoding="utf-8"), minor, machine))
    platforms = list(list_libc_platforms("glibc", _BASE_GLIBC, machine))
    place = cache / "tool" / "needs" / codec.digest([minor, *platforms, *pins])[:32]

    def fetch(wheels: Path) -> None:
        if offline:
            raise FailedError(
                f"fastinstall's own dependencies for Python {minor} are not in the cache, and this run is offline",
                hint="run the same command once without --offline",
            )
        requirements = wheels.with_name("requirements.txt")
        files.write_text(requirements, "".join(f"{pin}\n" for pin in pins), durable=False)
        words = (
            *("--no-deps", "--require-hashes", "--requirement", str(requirements)),
            *("--implementation=cp", f"--python-version={minor}"),
            *(f"--abi={abi}" for abi in (f"cp{minor.replace('.', '')}", "abi3", "none")),
            *(f"--platform={platform}" for platform in platforms),
        )
        try:
            _download(TOOL_PIP, words, wheels, variables)
        except CommandError as error:
            message = f"cannot fetch fastinstall's own dependencies for Python {minor}"
            hint = "run `python -m pip config list` to see which index is used"
            raise FailedError(message, hint=hint, details=error.details) from error

    return tuple(sealed_trees.make_once(place, fetch, cache=cache).glob("*.whl"))


def list_pins(lock: str, minor: str, machine: str) -> Iterator[str]:
    """Yield those pinned requirements of a lock file, with their hashes, whose markers are true.

    Args:
        lock: text of the lock file.
        minor: minor version of the CPython that will import the packages ("3.12").
        machine: architecture of the Linux machine that runs this CPython, as in `uname -m` ("x86_64").
    """
    version = f"{minor}.0"
    ours = {"python_version": minor, "python_full_version": version, "implementation_version": version}
    environment = {key: str(value) for key, value in default_environment().items()} | ours
    environment["platform_machine"] = machine
    for line in lock.replace("\\\n", "").splitlines():
        if line and not line.lstrip().startswith("#"):
            text, *hashes = line.split(" --hash=")
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate(environment):
                yield " --hash=".join([f"{requirement.name}{requirement.specifier}", *map(str.strip, hashes)])
