"""The result of a build: a wheel, or conda packages made from a wheel; optionally also wheels of fastinstall itself."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


class Format(StrEnum):
    """The format of the result."""

    WHEEL = "wheel"
    CONDA = "conda"


@immutable
class BuiltPackage:
    """A conda package in the channel.

    Attributes:
        name: name of the package ("pillow").
        version: its version, as conda writes it ("13.0.0").
        build: its build string ("simd_v2v3_py311_0").
        path: path of its file in the channel.
        sha256: SHA-256 of the file, 64 hexadecimal digits.
    """

    name: str
    version: str
    build: str
    path: PurePath
    sha256: str


@immutable
class ToolWheels:
    """A directory with wheels of fastinstall and its requirements, for other machines.

    Attributes:
        directory: the directory, with the wheels and their SHA256SUMS.
        wheel: file name of fastinstall's own wheel.
        version: version of fastinstall; empty if the wheel's file name has no version.
        pythons: minor versions of Python that can run fastinstall from the directory.
        files: SHA-256 of every file, by file name.
        left_out: unsupported minor versions of Python, each with the reason.
    """

    directory: PurePath
    wheel: str
    version: str
    pythons: tuple[str, ...]
    files: dict[str, str]
    left_out: dict[str, str]


@immutable
class BuildReport:
    """The result of a build for one Python.

    Attributes:
        format: the requested format: a wheel, or a channel of conda packages.
        wheel: path of the wheel; for conda packages, path of the wheel from which they were made.
        sha256: SHA-256 of the wheel, hexadecimal.
        from_cache: whether the wheel was taken from the cache.
        channel: the URL of the channel; empty for a wheel.
        packages: the packages in the channel, the stack first; empty for a wheel.
        tool: wheels of fastinstall itself; None if not requested.
    """

    format: Format
    wheel: PurePath
    sha256: str
    from_cache: bool
    channel: str = ""
    packages: tuple[BuiltPackage, ...] = ()
    tool: ToolWheels | None = None
