"""Packages of C headers that can be fetched on any distribution: their addresses, hashes, and what they describe.

They are data (`recipes/headers/packages.toml`). No index is asked for them, so they are the same everywhere.
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
        archive: its archive, by name.
        path: where it is in the archive.
        sha256: its hash, in hexadecimal digits.
        size: of the package, in bytes.
        bundled: how the file name of the library in an official wheel goes on behind ".so.", for these headers to
            describe it ("6", "2.5"); empty for Python.
    """

    archive: str
    path: str
    sha256: str
    size: int
    bundled: str = ""


@immutable
class HeaderPackages:
    """All of them.

    Attributes:
        schema: the version of the format, 1.
        archives: addresses of each archive, in order.
        packages: by the recipes' names of libraries, and by "python3.12" those of Python.
    """

    schema: int
    archives: dict[str, tuple[str, ...]]
    packages: dict[str, HeaderPackage]

    def artefacts(self) -> dict[str, Artefact]:
        """Return each package as a file to fetch."""
        return {key: self._describe(package) for key, package in self.packages.items()}

    def _describe(self, package: HeaderPackage) -> Artefact:
        filename = PurePosixPath(package.path).name
        name, version, _ = filename.split("_")
        path = quote(package.path, safe="/+")  # archives name files by these as they stand
        url, *mirrors = (f"{archive}{path}" for archive in self.archives[package.archive])
        return Artefact(
            name=name,
            version=version,
            filename=filename,
            url=url,
            sha256=package.sha256,
            size=package.size,
            mirrors=tuple(mirrors),
        )


def read_header_packages() -> HeaderPackages:
    """Return the packages that fastinstall knows.

    Raises:
        DocumentError: their data are malformed.
    """
    path = recipes_directory() / "headers" / "packages.toml"
    return codec.decode(HeaderPackages, toml_data(foreign.read_text(path)), file=path)
