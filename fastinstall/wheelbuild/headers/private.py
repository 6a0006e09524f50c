"""Unpack C headers of Debian's packages into our cache: `<cache>/headers/<key>/usr/include`, keyed by hash.

The packages are those for x86-64. Debian's packages for arm64 have identical headers of libraries. Python's headers
differ only in four macros of pyconfig.h, of which public headers read only HAVE_USABLE_WCHAR_T, to include <wchar.h>.
Sizes of types are the same (LP64). So for another architecture, it suffices to rename a directory.

Before each build, the files are compared with their manifest, and unpacked again if they differ.
"""

import re
from pathlib import Path

from fastinstall.core import files, sealed_trees
from fastinstall.core.architecture import X86_64, Architecture
from fastinstall.core.archives import unpack_deb

PACKAGED = X86_64
"""The architecture whose packages are fetched."""

_INCLUDE = "usr/include"
_ARCHITECTURE = re.compile(r"\w+-linux-\w+")


def unpack_headers(package: Path, cache: Path, architecture: Architecture = PACKAGED) -> tuple[Path, ...]:
    """Unpack a package of C headers, and return its include directories.

    Args:
        package: a Debian package, whose hash was verified.
        cache: root of our cache.
        architecture: architecture to build for.

    Raises:
        ArchiveError: the package is damaged.
        OSError: the cache cannot be written.
    """
    key, renamed = files.sha256(package)[:16], architecture.target != PACKAGED.target
    place = cache / "headers" / (f"{key}-{architecture.machine}" if renamed else key)

    def unpack(tree: Path) -> None:
        unpack_deb(package, tree, f"{_INCLUDE}/")
        own = tree / _INCLUDE / PACKAGED.target
        if renamed and own.is_dir():
            own.rename(own.with_name(architecture.target))

    return list_include_directories(sealed_trees.make_once(place, unpack, cache=cache))


def list_include_directories(root: Path) -> tuple[Path, ...]:
    """Return the include directories of an unpacked package: `usr/include`, and those in it that need their own -I."""
    include = root / _INCLUDE
    if not include.is_dir():
        return ()
    own = sorted(path for path in include.iterdir() if path.is_dir() and _ARCHITECTURE.fullmatch(path.name))
    return (include, *own, *sorted(include.glob("python3.*")))
