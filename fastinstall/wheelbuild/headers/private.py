"""C headers of Debian's packages, unpacked into our cache: `<cache>/headers/<key>/usr/include`, named by the hash.

What lies there is compared with its manifest before each build, and unpacked again where it is not the same.
"""

import re
from pathlib import Path

from fastinstall.core import files, sealed_trees, temporary_directories
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
    if not sealed_trees.is_intact(place, cache=cache):
        with temporary_directories.temporary_directory("headers", within=cache / "tmp") as space:
            unpack_deb(package, space / "fresh", f"{_INCLUDE}/")
            sealed_trees.publish_sealed(space / "fresh", place, space / "aside", cache=cache)
    return list_include_directories(place)


def list_include_directories(root: Path) -> tuple[Path, ...]:
    """Return a tree's directories of headers: `usr/include`, those of architectures, and Python's."""
    include = root / _INCLUDE
    if not include.is_dir():
        return ()
    own = sorted(path for path in include.iterdir() if path.is_dir() and _ARCHITECTURE.fullmatch(path.name))
    return (include, *own, *sorted(include.glob("python3.*")))
