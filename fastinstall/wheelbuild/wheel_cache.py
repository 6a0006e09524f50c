"""Our cache of built wheels: found by everything that decides their bytes, stored whole or not at all.

`<cache>/wheels/<key>/` holds one wheel and `result.json`. An entry is written beside its place and
renamed into it, so concurrent builders do each other no harm; `reserved` spares the second one its work.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastinstall.core import files, foreign, lock, values
from fastinstall.core.errors import DocumentError
from fastinstall.core.events import Emit, Noted
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable

_RESULT = "result.json"


@immutable
class CachedWheel:
    """What is known of a cached wheel.

    Attributes:
        wheel: its file name.
        sha256: of it, hexadecimal.
        features: from the build's own summary, or None if it has none.
        inputs: what the key was made from, for people who wonder why something was built again.
    """

    wheel: str
    sha256: str
    features: dict[str, str | None]
    inputs: dict[str, str]


def key_of(inputs: dict[str, str]) -> str:
    """The name of an entry: a digest of its inputs."""
    return values.digest(inputs)


def directory_of(cache: Path, key: str) -> Path:
    """Where an entry lies, if it is there."""
    return cache / "wheels" / key


def log_of(cache: Path, key: str) -> Path:
    """Where the output of a build goes."""
    return cache / "logs" / f"build-{key[:16]}.log"


def find(cache: Path, key: str, emit: Emit) -> CachedWheel | None:
    """Look an entry up; one that is damaged is reported and counts as absent."""
    directory = directory_of(cache, key)
    if not directory.is_dir():
        return None
    entry = _read(directory / _RESULT)
    if entry is not None and _is_whole(directory / entry.wheel, entry.sha256):
        return entry
    emit(Noted(message=f"{directory}: the cached wheel is damaged; it is built again", warning=True))
    return None


@contextmanager
def reserve_cache_key(cache: Path, key: str, emit: Emit, work: str = "builds the same wheel") -> Iterator[None]:
    """Be the only process that works for a key while the block runs; wait for another one that does.

    A process that waited finds the result when its turn comes. The lock ends with its holder, however that ends; its
    file in `<cache>/locks` stays.

    Args:
        cache: root of the cache.
        key: what is made.
        emit: hears once whom this waits for.
        work: what the other one does.
    """

    def say(process: int | None) -> None:
        who = f"process {process}" if process else "another process"
        emit(Noted(message=f"{who} {work}; waiting for it"))

    with lock.reserve_file(cache / "locks" / key, say):
        yield


def find_wheel(cache: Path, sha256: str) -> Path | None:
    """Find a cached wheel by its own hash, or return None if it is missing or damaged."""
    for key, entry in entries(cache):
        if entry.sha256 == sha256 and is_whole(cache, key, entry):
            return directory_of(cache, key) / entry.wheel
    return None


def entries(cache: Path) -> list[tuple[str, CachedWheel]]:
    """All that can be read, with their keys, the one that was stored last first; wheels are not looked at."""
    found = []
    for result in (cache / "wheels").glob(f"*/{_RESULT}"):
        with suppress(OSError):
            written, entry = result.stat().st_mtime_ns, _read(result)
            if entry is not None:
                found.append((written, result.parent.name, entry))
    return [(key, entry) for _written, key, entry in sorted(found, key=lambda each: each[:2], reverse=True)]


def is_whole(cache: Path, key: str, entry: CachedWheel) -> bool:
    """Whether an entry's wheel is what was stored."""
    return _is_whole(directory_of(cache, key) / entry.wheel, entry.sha256)


def store(cache: Path, inputs: dict[str, str], wheel: Path, features: dict[str, str | None]) -> CachedWheel:
    """Put a wheel into the cache, in place of what is there.

    Args:
        cache: root of the cache.
        inputs: what its key is made from.
        wheel: the file; it is moved.
        features: of the build's own summary.
    """
    entry = CachedWheel(wheel=wheel.name, sha256=files.sha256(wheel), features=features, inputs=inputs)
    target = directory_of(cache, key_of(inputs))
    with files.temporary_directory("entry", within=cache / "tmp") as space:
        fresh = space / "entry"
        fresh.mkdir()
        os.replace(wheel, fresh / wheel.name)
        files.write_text(fresh / _RESULT, values.dump(values.document("build", entry)))
        files.publish(fresh, target, space / "old")
    return entry


def _read(path: Path) -> CachedWheel | None:
    try:
        return values.open_document(CachedWheel, "build", json_data(foreign.read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None


def _is_whole(wheel: Path, sha256: str) -> bool:
    try:
        return files.sha256(wheel) == sha256
    except OSError:
        return False
