"""Packages of C headers that can be used on any Linux distribution: their addresses, hashes and libraries.

The packages are listed in `recipes/headers/packages.toml`, not looked up in an index, so they are the same everywhere.
"""

from pathlib import PurePosixPath
from urllib.parse import quote

from fastinstall.core import codec, foreign
from fastinstall.core.directories import recipes_directory
from fastinstall.core.parsing import toml_data
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact


@immutable
class HeaderPackage:
    """A package of C headers.

    Attributes:
        archive: name of the archive that offers the package.
        path: path of the package in the archive.
        sha256: SHA-256 of the package, hexadecimal.
        size: size of the package in bytes.
        bundled: version of the library that these headers describe, as in the library's file name in official wheels
            after ".so." ("6", "2.5"); empty for Python.
    """

    archive: str
    path: str
    sha256: str
    size: int
    bundled: str = ""


@immutable
class HeaderPackages:
    """All packages of C headers.

    Attributes:
        schema: version of the file's format: 1.
        archives: addresses of each archive, by the archive's name; the first is preferred, the others are mirrors.
        packages: the packages, by the recipes' names of libraries ("jpeg"), or by "python3.12" for Python's headers.
    """

    schema: int
    archives: dict[str, tuple[str, ...]]
    packages: dict[str, HeaderPackage]

    def artefacts(self) -> dict[str, Artefact]:
        """Return each package as a file to fetch, by its key in `packages`."""
        found = {}
        for key, package in self.packages.items():
            filename = PurePosixPath(package.path).name
            name, version, _ = filename.split("_")
            path = quote(package.path, safe="/+")  # the archives' URLs have these characters unescaped
            url, *mirrors = (f"{archive}{path}" for archive in self.archives[package.archive])
            found[key] = Artefact(
                name=name,
                version=version,
                filename=filename,
                url=url,
                sha256=package.sha256,
                size=package.size,
                mirrors=tuple(mirrors),
            )
        return found


def read_header_packages() -> HeaderPackages:
    """Return the packages that fastinstall knows.

    Raises:
        DocumentError: the file that lists the packages is malformed.
    """
    path = recipes_directory() / "headers" / "packages.toml"
    return codec.decode(HeaderPackages, toml_data(foreign.read_text(path)), file=path)
