"""C headers of Debian's packages, unpacked into our cache: `<cache>/headers/<key>/usr/include`, named by the hash.

A package is read anew for each build, and what lies there is replaced where it is not the same to the byte.
"""

import filecmp
import re
from pathlib import Path

from fastinstall.core import files, temporary_directories
from fastinstall.core.debian_packages import unpack_deb

_INCLUDE = "usr/include"
_ARCHITECTURE = re.compile(r"\w+-linux-\w+")


def unpack_headers(package: Path, cache: Path) -> tuple[Path, ...]:
    """Unpack a package of C headers, and return its directories of headers.

    Args:
        package: a Debian package, its hash verified.

    Raises:
        ArchiveError: it is damaged or hostile.
        OSError: the cache cannot be written.
    """
    place = cache / "headers" / files.sha256(package)[:16]
    with temporary_directories.temporary_directory("headers", within=cache / "tmp") as space:
        fresh = space / "fresh"
        unpack_deb(package, fresh, f"{_INCLUDE}/")
        if not _are_same(fresh, place):
            files.publish(fresh, place, space / "aside")
    return list_include_directories(place)


def list_include_directories(root: Path) -> tuple[Path, ...]:
    """Return a tree's directories of headers: `usr/include`, those of architectures, and Python's."""
    include = root / _INCLUDE
    if not include.is_dir():
        return ()
    own = sorted(path for path in include.iterdir() if path.is_dir() and _ARCHITECTURE.fullmatch(path.name))
    return (include, *own, *sorted(include.glob("python3.*")))


def _are_same(one: Path, other: Path) -> bool:
    """Return whether two trees have the same files with the same content, and nothing but files."""
    names = _list_files(one)
    return names == _list_files(other) and not any(
        (other / name).is_symlink() or not filecmp.cmp(one / name, other / name, shallow=False) for name in names
    )


def _list_files(root: Path) -> list[Path]:
    found = (path for path in root.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path.relative_to(root) for path in found)
