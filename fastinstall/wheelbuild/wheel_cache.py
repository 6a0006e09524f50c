"""Our cache of wheels: those that we built are found by their inputs, those that we only installed by their hash.

`<cache>/wheels/<key>/` holds one built wheel and `result.json`. An entry is stored completely or not at all: it is
written elsewhere and renamed into place, so concurrent builds do not interfere; `reserve_cache_key` makes a second
build wait for the result of the first.

`<cache>/installed/<key of the prefix>/` holds the path of an environment, and a directory for each ready-made wheel,
from a wheelhouse or an index, that was installed into it. The wheel is kept for repairs and pins as long as a current
or restorable setup of that environment uses it. A plan cannot find such a wheel by name, and another environment cannot
find it by hash.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastinstall.core import codec, files, foreign, lock, temporary_directories
from fastinstall.core.errors import DocumentError
from fastinstall.core.events import Emit, Noted
from fastinstall.core.values import immutable
from fastinstall.journal.layout import RECEIPT, TRANSACTIONS

_RESULT = "result.json"


@immutable
class CachedWheel:
    """The record of a cached wheel.

    Attributes:
        wheel: file name of the wheel.
        sha256: hash of the wheel, in hexadecimal digits.
        features: features in the summary of the build: version by name, None if absent.
        inputs: the inputs from which the key was made; they show why a wheel was built again.
    """

    wheel: str
    sha256: str
    features: dict[str, str | None]
    inputs: dict[str, str]


def key_of(inputs: dict[str, str]) -> str:
    """Return the key of an entry: a digest of its inputs."""
    return codec.digest(inputs)


def directory_of(cache: Path, key: str) -> Path:
    """Return an entry's directory."""
    return cache / "wheels" / key


def log_of(cache: Path, key: str) -> Path:
    """Return the path of the log of a build."""
    return cache / "logs" / f"build-{key[:16]}.log"


def find_cached_wheel(cache: Path, key: str, emit: Emit) -> CachedWheel | None:
    """Return the entry of a key; None if it is missing or damaged. For a damaged entry, a warning is emitted."""
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
    """Lock a key during the block; if another process holds the lock, wait for it.

    After waiting, the caller should look for the other process's result. The lock ends with the process that holds it;
    the lock file in `<cache>/locks` stays.

    Args:
        cache: root of the cache.
        key: the key of the entry.
        emit: receives an event that names the process to wait for.
        work: what that process does, for the event.
    """

    def say(process: int | None) -> None:
        who = f"process {process}" if process else "another process"
        emit(Noted(message=f"{who} {work}; waiting for it"))

    with lock.reserve_file(cache / "locks" / key, say):
        yield


def find_wheel(cache: Path, sha256: str) -> Path | None:
    """Return the path of the cached wheel with this hash; None if it is missing or damaged."""
    found = (each for each in entries(cache) if each.sha256 == sha256 and is_wheel_intact(cache, each))
    return next((locate_wheel(cache, entry) for entry in found), None)


def locate_wheel(cache: Path, entry: CachedWheel) -> Path:
    """Return the path of an entry's wheel."""
    return directory_of(cache, key_of(entry.inputs)) / entry.wheel


def entries(cache: Path) -> list[CachedWheel]:
    """Return all readable entries, the newest first, without checking their wheels."""
    found = []
    for result in (cache / "wheels").glob(f"*/{_RESULT}"):
        with suppress(OSError):
            written, entry = result.stat().st_mtime_ns, foreign.read_kept(CachedWheel, "build", result)
            if entry is not None:
                found.append((written, result.parent.name, entry))
    return [entry for _written, _key, entry in sorted(found, key=lambda each: each[:2], reverse=True)]


def is_wheel_intact(cache: Path, entry: CachedWheel) -> bool:
    """Return whether an entry's wheel exists and has the recorded hash."""
    try:
        return files.sha256(locate_wheel(cache, entry)) == entry.sha256
    except OSError:
        return False


def store_wheel(cache: Path, inputs: dict[str, str], wheel: Path, features: dict[str, str | None]) -> CachedWheel:
    """Put a wheel into the cache, replacing an existing entry.

    Args:
        cache: root of the cache.
        inputs: the inputs of the build, from which the key is made.
        wheel: path of the wheel, which is moved.
        features: features in the summary of the build: version by name, None if absent.
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


_PLACE = "installed"
_ENVIRONMENT = "environment"
_PREVIOUS = f"{TRANSACTIONS}/*/previous-receipt.json"


def keep_installed_wheel(cache: Path, prefix: Path, wheel: Path, sha256: str) -> None:
    """Keep a ready-made wheel for the environment that it was installed into.

    Args:
        cache: root of the cache.
        prefix: root of the environment, whose receipt names the wheel.
        wheel: path of the wheel, which is copied.
        sha256: hash of the wheel, in hexadecimal digits.

    Raises:
        OSError: the cache cannot be written.
    """
    discard_unneeded_wheels(cache)
    if find_installed_wheel(cache, prefix, sha256) is not None:
        return
    place = _locate(cache, prefix)
    files.write_bytes(place / _ENVIRONMENT, os.fsencode(os.path.realpath(prefix)))
    with temporary_directories.temporary_directory("installed", within=cache / "tmp") as space:
        fresh = space / "wheel"
        fresh.mkdir()
        shutil.copyfile(wheel, fresh / wheel.name)
        files.publish(fresh, place / sha256, space / "aside")


def find_installed_wheel(cache: Path, prefix: Path, sha256: str) -> Path | None:
    """Return the path of the built wheel with this hash, or of one kept for this environment; None if there is none."""
    if (built := find_wheel(cache, sha256)) is not None:
        return built
    for wheel in (_locate(cache, prefix) / sha256).glob("*.whl"):
        with suppress(OSError):
            if files.sha256(wheel) == sha256:
                return wheel
    return None


def has_kept_wheels(cache: Path) -> bool:
    """Return whether ready-made wheels are kept for any environment."""
    return (cache / _PLACE).is_dir()


def discard_unneeded_wheels(cache: Path) -> None:
    """Delete the kept wheels that are no longer named by a receipt of their environment.

    Args:
        cache: root of the cache; the caller has checked that it is fastinstall's.

    Raises:
        OSError: the cache cannot be written.
    """
    for note in (cache / _PLACE).glob(f"*/{_ENVIRONMENT}"):
        named = _list_named_hashes(Path(os.fsdecode(foreign.bytes_or_empty(note))))
        kept = [each for each in note.parent.iterdir() if each.is_dir()]
        for directory in kept:
            if directory.name not in named:
                files.discard(directory)
        if not any(each.name in named for each in kept):
            files.discard(note.parent)


def _locate(cache: Path, prefix: Path) -> Path:
    return cache / _PLACE / hashlib.sha256(os.fsencode(os.path.realpath(prefix))).hexdigest()[:32]


def _list_named_hashes(prefix: Path) -> set[str]:
    """Return the hashes of the wheels named by an environment's current receipt and by its restorable receipts."""
    named = set()
    for receipt in (prefix / RECEIPT, *prefix.glob(_PREVIOUS)):
        with suppress(DocumentError):
            data = foreign.read_json(receipt)
            named.add(str(data.get("wheel_sha256", "")) if isinstance(data, dict) else "")
    return named
