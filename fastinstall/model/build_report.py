"""The result of a build: a wheel, or conda packages made from it, and fastinstall beside them."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


class Format(StrEnum):
    """The requested format."""

    WHEEL = "wheel"
    CONDA = "conda"


@immutable
class BuiltPackage:
    """A conda package in the channel.

    Attributes:
        name: of the package ("pillow").
        version: of the package, as conda writes it ("13.0.0").
        build: the build string ("simd_v2v3_py311_0").
        path: where its file lies in the channel.
        sha256: of the file, 64 hexadecimal digits.
    """

    name: str
    version: str
    build: str
    path: PurePath
    sha256: str


@immutable
class ToolWheels:
    """fastinstall in a directory.

    Attributes:
        directory: that contains its wheels and their SHA256SUMS.
        wheel: the file name of fastinstall's own.
        version: of that wheel; empty if its file name does not tell.
        pythons: the minor versions of Python that can run it from there.
        files: sha256 by file name, of all files.
        left_out: why a Python is not served, by its minor version.
    """

    directory: PurePath
    wheel: str
    version: str
    pythons: tuple[str, ...]
    files: dict[str, str]
    left_out: dict[str, str]


@immutable
class BuildReport:
    """The build for one Python.

    Attributes:
        format: what was requested: a wheel, or a channel of conda packages.
        wheel: its file; for conda packages, the wheel that they were made from.
        sha256: of the wheel, hexadecimal.
        from_cache: whether it was taken from the cache.
        channel: the URL of the channel; empty for a wheel.
        packages: of the channel, the stack first; empty for a wheel.
        tool: fastinstall itself, beside the wheel; None if not requested.
    """

    format: Format
    wheel: PurePath
    sha256: str
    from_cache: bool
    channel: str = ""
    packages: tuple[BuiltPackage, ...] = ()
    tool: ToolWheels | None = None
