"""Fetch what a build itself requires (setuptools, pybind11) before it, so that the build needs no network.

`<cache>/requirements/<key>/` holds directories of wheels, each named after its content, and `latest.json`,
which says which of them was fetched last. It is used for 30 days; after that the index is asked again,
and where it cannot be reached, what is there still serves.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from fastinstall.build.latest import latest_whole
from fastinstall.build.request import BuildRequest
from fastinstall.errors import FailedError
from fastinstall.installers.pip import pip_environment
from fastinstall.model import codec
from fastinstall.model.event import Noted
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import toml_data
from fastinstall.rules.messages import quote
from fastinstall.system import files, foreign
from fastinstall.system.process import CommandError, run

_LIFETIME = 30 * 24 * 3600.0
_SECONDS = 300.0
_LATEST = "latest.json"
_DEFAULT = ("setuptools>=40.8.0",)  # PEP 518: where there is no pyproject.toml, or no [build-system]


@immutable
class Requirements:
    """Wheels that a build runs with.

    Attributes:
        directory: holds them and nothing else, or None if the build requires nothing.
        files: file name and sha256 of each, sorted.
    """

    directory: Path | None
    files: tuple[tuple[str, str], ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Words for `pip wheel`, after which it asks no index."""
        links = ("--find-links", str(self.directory)) if self.directory is not None else ()
        return ("--no-index", *links)


@immutable
class _Latest:
    """What was fetched last: the name of its directory, and sha256 by file name."""

    directory: str
    files: dict[str, str]


def fetch_requirements(request: BuildRequest, source: Path) -> Requirements:
    """Bring the wheels that a source tree requires for its build, out of our cache where they are fresh.

    Args:
        request: the build; its settings of pip say which index is asked.
        source: the unpacked source, with its pyproject.toml.

    Raises:
        FailedError: they are neither in the cache nor in the wheelhouse, and the index cannot be
            reached, may not be, or has no wheel for this interpreter.
    """
    required = build_requires(source)
    if not required:
        return Requirements(directory=None, files=())
    place = request.cache / "requirements" / codec.digest(_inputs(request, required))
    latest, age = latest_whole(_Latest, "requirements", place / _LATEST)
    if latest is None or (age > _LIFETIME and not request.offline):
        latest = _refreshed(request, required, place, latest)
    return Requirements(directory=place / latest.directory, files=tuple(sorted(latest.files.items())))


def build_requires(source: Path) -> tuple[str, ...]:
    """What `[build-system]` of a source tree requires (PEP 518).

    Raises:
        FailedError: pyproject.toml is malformed.
    """
    path = source / "pyproject.toml"
    try:
        table = toml_data(foreign.read_text(path)).get("build-system", {"requires": _DEFAULT})
        return tuple(str(each) for each in table["requires"])
    except FileNotFoundError:
        return _DEFAULT
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FailedError(f"{path}: build-system.requires cannot be read: {error!r}") from error


def without_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment for a pip that asks no index: without the user's settings, which may name further files."""
    kept = {name: value for name, value in variables.items() if not name.startswith("PIP_")}
    return {**kept, "PIP_CONFIG_FILE": os.devnull}


def _inputs(request: BuildRequest, required: tuple[str, ...]) -> dict[str, str]:
    interpreter = request.interpreter
    minor = ".".join(interpreter.version.split(".")[:2])
    return {
        "requires": "\n".join(sorted(required)),
        "python": f"{interpreter.implementation} {minor} {interpreter.abi}",
        "platform": f"{interpreter.platform} {interpreter.libc} {interpreter.libc_version}",
    }


def _refreshed(request: BuildRequest, required: tuple[str, ...], place: Path, latest: _Latest | None) -> _Latest:
    """Fetch anew; where that fails, what is there serves beyond its time."""
    try:
        return _fetched(request, required, place)
    except CommandError as error:
        if latest is None:
            raise _missing(request, required, error) from error
        message = f"{', '.join(required)}: cannot be looked up, so what was fetched before serves the build"
        request.emit(Noted(message=message, warning=True))
        return latest


def _fetched(request: BuildRequest, required: tuple[str, ...], place: Path) -> _Latest:
    with files.temporary_directory("requirements", within=request.cache / "tmp") as space:
        fresh = space / "wheels"
        fresh.mkdir()
        argv = (*request.pip, "download", "--only-binary", ":all:", "--quiet", "--progress-bar", "off")
        words = (*_index_words(request), "--dest", str(fresh), *required)
        environment = {**pip_environment(request.variables), "TMPDIR": str(space)}
        run((*argv, *words), environment=environment, timeout=_SECONDS)
        digests = {path.name: files.sha256(path) for path in sorted(fresh.iterdir())}
        latest = _Latest(directory=codec.digest(digests)[:16], files=digests)
        files.publish(fresh, place / latest.directory, space / "aside")
    files.write_text(place / _LATEST, codec.dump(codec.document("requirements", latest)))
    return latest


def _index_words(request: BuildRequest) -> tuple[str, ...]:
    links = ("--find-links", str(request.wheelhouse)) if request.wheelhouse is not None else ()
    return ("--no-index", *links) if request.offline else links


def _missing(request: BuildRequest, required: tuple[str, ...], error: CommandError) -> FailedError:
    wanted = " ".join(map(quote, required))
    directory = quote(request.wheelhouse or "WHEELHOUSE")
    where = (
        f"not in {request.wheelhouse}, and not in the cache" if request.wheelhouse is not None else "not in the cache"
    )
    reason = f"{where}, and this run is offline" if request.offline else "cannot be fetched"
    download = f"{quote(request.interpreter.executable)} -m pip download --only-binary :all: -d {directory} {wanted}"
    hint = f"where there is a network: {download}; then --wheelhouse {directory}"
    return FailedError(f"the build requires {', '.join(required)}: {reason}", hint=hint, details=error.details)
