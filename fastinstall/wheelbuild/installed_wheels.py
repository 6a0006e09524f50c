"""Keep and find the wheel that was installed into an environment, by hash, for repairs and pins.

Built wheels are in the wheel cache. A ready-made wheel, from a wheelhouse or an index, is kept here for the environment
that it was installed into, as long as a current or restorable setup of that environment uses it. A plan cannot find
such a wheel by name, and another environment cannot find it by hash.

`<cache>/installed/<key of the prefix>/` holds the path of the environment and a directory for each hash.
"""

import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from fastinstall.core import files, foreign, temporary_directories
from fastinstall.core.errors import DocumentError
from fastinstall.journal.layout import RECEIPT, TRANSACTIONS
from fastinstall.wheelbuild.wheel_cache import find_wheel

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
    """Return the wheel with this hash, built or kept for this environment; None if there is neither."""
    return find_wheel(cache, sha256) or _find_kept_wheel(_locate(cache, prefix), sha256)


def has_kept_wheels(cache: Path) -> bool:
    """Return whether ready-made wheels are kept for any environment."""
    return (cache / _PLACE).is_dir()


def discard_unneeded_wheels(cache: Path) -> None:
    """Delete the kept wheels that are no longer named by a receipt of their environment.

    Args:
        cache: root of the cache, which must have been checked to be ours.

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


def _find_kept_wheel(place: Path, sha256: str) -> Path | None:
    for wheel in (place / sha256).glob("*.whl"):
        with suppress(OSError):
            if files.sha256(wheel) == sha256:
                return wheel
    return None


def _list_named_hashes(prefix: Path) -> set[str]:
    """Return the hashes of the wheels that an environment's receipts name: the current one, and restorable ones."""
    named = set()
    for receipt in (prefix / RECEIPT, *prefix.glob(_PREVIOUS)):
        with suppress(DocumentError):
            data = foreign.read_json(receipt)
            named.add(str(data.get("wheel_sha256", "")) if isinstance(data, dict) else "")
    return named
