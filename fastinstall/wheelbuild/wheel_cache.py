"""Our cache of built wheels, found by all their inputs, and stored completely or not at all.

`<cache>/wheels/<key>/` holds one wheel and `result.json`. An entry is written beside its place and renamed, so
concurrent builders do not interfere; `reserve_cache_key` saves the second one its work.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastinstall.core import codec, files, foreign, lock, temporary_directories
from fastinstall.core.events import Emit, Noted
from fastinstall.core.values import immutable

_RESULT = "result.json"


@immutable
class CachedWheel:
    """The record of a cached wheel.

    Attributes:
        wheel: the wheel's file name.
        sha256: its hash, in hexadecimal digits.
        features: from the build's own summary, or None if it has none.
        inputs: what the key was made from, to explain why something was built again.
    """

    wheel: str
    sha256: str
    features: dict[str, str | None]
    inputs: dict[str, str]


def key_of(inputs: dict[str, str]) -> str:
    """Return the name of an entry: a digest of its inputs."""
    return codec.digest(inputs)


def directory_of(cache: Path, key: str) -> Path:
    """Return an entry's directory."""
    return cache / "wheels" / key


def log_of(cache: Path, key: str) -> Path:
    """Return the file for the output of a build."""
    return cache / "logs" / f"build-{key[:16]}.log"


def find_cached_wheel(cache: Path, key: str, emit: Emit) -> CachedWheel | None:
    """Find an entry; a damaged one is reported and counts as missing."""
    directory = directory_of(cache, key)
    if not directory.is_dir():
        return None
    entry = foreign.read_kept(CachedWheel, "build", directory / _RESULT)
    if entry is not None and is_wheel_intact(cache, entry):
        return entry
    emit(Noted(message=f"{directory}: the cached wheel is damaged; building it again", warning=True))
    return None


@contextmanager
def reserve_cache_key(cache: Path, key: str, emit: Emit, work: str = "builds the same wheel") -> Iterator[None]:
    """Be the only process that works on a key during the block; wait for another one first.

    A process that waited finds the result when its turn comes. The lock ends with its holder's process; its file in
    `<cache>/locks` stays.

    Args:
        cache: root of the cache.
        key: the name of the entry.
        emit: receives one event about the process that this one waits for.
        work: the other one's work, for the event.
    """

    def say(process: int | None) -> None:
        who = f"process {process}" if process else "another process"
        emit(Noted(message=f"{who} {work}; waiting for it"))

    with lock.reserve_file(cache / "locks" / key, say):
        yield


def find_wheel(cache: Path, sha256: str) -> Path | None:
    """Find a cached wheel by its own hash, or return None if it is missing or damaged."""
    found = (each for each in entries(cache) if each.sha256 == sha256 and is_wheel_intact(cache, each))
    return next((locate_wheel(cache, entry) for entry in found), None)


def locate_wheel(cache: Path, entry: CachedWheel) -> Path:
    """Return the path of an entry's wheel."""
    return directory_of(cache, key_of(entry.inputs)) / entry.wheel


def entries(cache: Path) -> list[CachedWheel]:
    """Return all readable entries, the newest first; wheels are not checked."""
    found = []
    for result in (cache / "wheels").glob(f"*/{_RESULT}"):
        with suppress(OSError):
            written, entry = result.stat().st_mtime_ns, foreign.read_kept(CachedWheel, "build", result)
            if entry is not None:
                found.append((written, result.parent.name, entry))
    return [entry for _written, _key, entry in sorted(found, key=lambda each: each[:2], reverse=True)]


def is_wheel_intact(cache: Path, entry: CachedWheel) -> bool:
    """Return whether an entry's wheel is intact."""
    try:
        return files.sha256(locate_wheel(cache, entry)) == entry.sha256
    except OSError:
        return False


def store_wheel(cache: Path, inputs: dict[str, str], wheel: Path, features: dict[str, str | None]) -> CachedWheel:
    """Put a wheel into the cache, replacing an existing entry.

    Args:
        cache: root of the cache.
        inputs: what its key is made from.
        wheel: the file; it is moved.
        features: of the build's own summary.
    """
    entry = CachedWheel(wheel=wheel.name, sha256=files.sha256(wheel), features=features, inputs=inputs)
    target = directory_of(cache, key_of(inputs))
    with temporary_directories.temporary_directory("entry", within=cache / "tmp") as space:
        fresh = space / "entry"
        fresh.mkdir()
        os.replace(wheel, fresh / wheel.name)
        files.write_text(fresh / _RESULT, codec.dump(codec.document("build", entry)))
        files.publish(fresh, target, space / "old")
    return entry
