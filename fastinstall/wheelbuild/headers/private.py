"""C headers of Debian's packages, unpacked into our cache: `<cache>/headers/<key>/usr/include`, named by the hash.

The packages are those for x86-64. In Debian's for arm64, the libraries' headers are the same to the byte. Python's
differ in pyconfig.h alone, in four macros: of these a public header reads HAVE_USABLE_WCHAR_T, to include <wchar.h>.
Sizes are the same (LP64). So for another architecture only a directory gets the name that it has there.

What lies there is compared with its manifest before each build, and unpacked again where it is not the same.
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
    """Unpack a package of C headers, and return its directories of headers.

    Args:
        package: a Debian package, its hash verified.
        cache: root of our cache.
        architecture: of the machines that the headers are for.

    Raises:
        ArchiveError: it is damaged.
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
    """Return a tree's directories of headers: `usr/include`, those of architectures, and Python's."""
    include = root / _INCLUDE
    if not include.is_dir():
        return ()
    own = sorted(path for path in include.iterdir() if path.is_dir() and _ARCHITECTURE.fullmatch(path.name))
    return (include, *own, *sorted(include.glob("python3.*")))
