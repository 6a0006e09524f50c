"""Things that are built once and kept in the test cache, even if several workers need them at the same time."""

import fcntl
import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path


def made_once(directory: Path, make: Callable[[Path], None]) -> Path:
    """Return a directory that `make` has filled, now or in an earlier call.

    It is filled in its final place, because virtual environments contain their own path.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    complete = directory.with_name(f"{directory.name}.complete")
    with directory.with_name(f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            make(directory)
            complete.touch()
    return directory


def key_of(*inputs: str | Path) -> str:
    """Return a short name that depends on these texts, on the content of these files, and on this interpreter."""
    digest = hashlib.sha256(f"{sys.version} {sys.base_prefix}".encode())
    for each in inputs:
        digest.update(each.read_bytes() if isinstance(each, Path) else each.encode())
    return digest.hexdigest()[:16]
