"""What is made once and kept in the test cache, although several workers may ask for it at the same time."""

import fcntl
import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path


def made_once(directory: Path, make: Callable[[Path], None]) -> Path:
    """A directory that `make` fills where nobody has filled it to the end before.

    It is made in its place, not moved there: virtual environments know their own path.
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
    """A short name for what is made of these texts and files by this interpreter."""
    digest = hashlib.sha256(f"{sys.version} {sys.base_prefix}".encode())
    for each in inputs:
        digest.update(each.read_bytes() if isinstance(each, Path) else each.encode())
    return digest.hexdigest()[:16]
