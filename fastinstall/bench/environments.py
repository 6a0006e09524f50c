"""Packages that the target lacks, brought to our cache for a measurement; nothing is installed into the target.

`<cache>/libraries/<key>/` is a directory for the front of a process's path: a package with all that it requires, numpy
too, so that stacks which could not be installed beside each other are measured in one run. The key is made from what
was asked for and the interpreter's ABI. An entry is there whole or not at all, stays at the versions that were newest
when it was made, and may be removed at any time.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall.bench.loading import NotLoadedError
from fastinstall.errors import RefusedError
from fastinstall.installers.pip import argv_for, pip_environment
from fastinstall.model import codec
from fastinstall.model.event import Emit, Noted, ignore
from fastinstall.model.facts import Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import Outcome
from fastinstall.rules.messages import quote
from fastinstall.system import files, lock
from fastinstall.system.process import CommandError, run

MOST_BYTES = 2 << 30
"""The limit for all entries together: the largest known, imagecodecs with numpy, takes 150 MB."""
FREE_BYTES = 1 << 30
"""What must be free on the disk before anything is fetched."""
_SECONDS = 300.0


@immutable
class Fetching:
    """How packages are brought.

    Attributes:
        interpreter: the target's, for whose ABI they are.
        cache: root of our cache.
        variables: environment variables; with pip's own settings they say which index is asked.
        emit: hears whom this waits for.
        offline: whether the network must not be used.
        wheelhouse: a directory of wheels to use as well.
        sdists: what may come as a source distribution, since it has no wheels and compiles nothing.
    """

    interpreter: Interpreter
    cache: Path
    variables: Mapping[str, str]
    emit: Emit = ignore
    offline: bool = False
    wheelhouse: Path | None = None
    sdists: tuple[str, ...] = ()


def fetch_packages(name: str, requirements: Sequence[str], fetching: Fetching) -> Path:
    """Have packages in our cache, fetched where they are not there yet.

    Args:
        name: of the adapter or store that needs them, for messages.
        requirements: as pip reads them.
        fetching: where from and where to.

    Returns:
        A directory for `Job.site`.

    Raises:
        RefusedError: they are not there, and this run is offline.
        NotLoadedError: they could not be fetched, which is the candidate's outcome: why, in pip's words.
    """
    place = _place(requirements, fetching)
    if place.is_dir():
        return place
    _refuse_full_disk(name, fetching)
    if fetching.offline and fetching.wheelhouse is None:
        raise RefusedError(
            f"the packages of {name} are not in our cache, and this run is offline",
            hint=f"where there is a network: fastinstall bench --with {quote(name)}",
        )

    def say(process: int | None) -> None:
        who = f"process {process}" if process else "another process"
        fetching.emit(Noted(message=f"{who} fetches the packages of {name}; waiting for it"))

    try:
        with lock.reserved(fetching.cache / "locks" / place.name, say):
            if not place.is_dir():
                _fetch(name, requirements, fetching, place)
    except OSError as error:
        raise NotLoadedError(Outcome.MISSING, f"{name} could not be put into {fetching.cache}: {error}") from error
    return place


def find_packages(requirements: Sequence[str], fetching: Fetching) -> Path | None:
    """Where packages lie in our cache, if they do; nothing is fetched."""
    place = _place(requirements, fetching)
    return place if place.is_dir() else None


def _place(requirements: Sequence[str], fetching: Fetching) -> Path:
    interpreter = fetching.interpreter
    key = codec.digest(
        {
            "requirements": sorted(requirements),
            "python": f"{interpreter.implementation} {interpreter.version.rpartition('.')[0]} {interpreter.abi}",
            "platform": f"{interpreter.platform} {interpreter.libc} {interpreter.libc_version}",
        }
    )
    return fetching.cache / "libraries" / key


def _refuse_full_disk(name: str, fetching: Fetching) -> None:
    """Raise where the disk or our share of it is full."""
    fetching.cache.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(fetching.cache).free
    if free < FREE_BYTES:
        reason = f"{free >> 20} MiB are free in {fetching.cache}, and {FREE_BYTES >> 20} have to be"
        raise NotLoadedError(Outcome.MISSING, f"{name} is not brought: {reason}")
    libraries = fetching.cache / "libraries"
    taken = sum(each.stat().st_size for each in libraries.rglob("*") if each.is_file())
    if taken > MOST_BYTES:
        reason = f"{libraries} takes {taken >> 20} MiB already, and may be removed"
        raise NotLoadedError(Outcome.MISSING, f"{name} is not brought: {reason}")


def _fetch(name: str, requirements: Sequence[str], fetching: Fetching, place: Path) -> None:
    with files.temporary_directory("libraries", within=fetching.cache / "tmp") as space:
        fresh = space / "site"
        environment = {**pip_environment(fetching.variables), "TMPDIR": str(space)}
        try:
            argv = (*argv_for(fetching.interpreter), *_words(fetching), "--target", str(fresh), *requirements)
            run(argv, environment=environment, timeout=_SECONDS)
        except CommandError as error:
            raise NotLoadedError(Outcome.MISSING, f"{name} could not be fetched: {_reason(error)}") from error
        except RefusedError as error:
            raise NotLoadedError(Outcome.MISSING, f"{name} could not be fetched: {error.message}") from error
        files.publish(fresh, place, space / "aside")


def _words(fetching: Fetching) -> tuple[str, ...]:
    """What pip does: wheels alone, but for what has none and compiles nothing."""
    links = ("--find-links", str(fetching.wheelhouse)) if fetching.wheelhouse is not None else ()
    offline = ("--no-index",) if fetching.offline else ()
    sdists = ("--no-binary", ",".join(fetching.sdists)) if fetching.sdists else ()
    wheels = ("--only-binary", ":all:", *sdists)
    return ("install", "--quiet", "--progress-bar", "off", "--no-compile", *wheels, *offline, *links)


def _reason(error: CommandError) -> str:
    """The last thing that pip complained of."""
    if error.timed_out:
        return f"pip needs more than {_SECONDS:g} s"
    said = [each.removeprefix("stderr: ") for each in error.details if each.startswith("stderr: ")]
    if any("connection broken" in each for each in said):
        return "the package index cannot be reached"
    complaint = next((each for each in reversed(said) if each.startswith("ERROR: ")), said[-1] if said else "")
    return complaint.removeprefix("ERROR: ") or error.message
