"""What `build` tells of its results: a wheel, or the conda packages that it became, and fastinstall itself beside them.

Not the wheels of many machines: those are a `Fleet`.
"""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.model.immutable import immutable


class Format(StrEnum):
    """What was asked for."""

    WHEEL = "wheel"
    CONDA = "conda"


@immutable
class BuiltPackage:
    """A conda package in the channel.

    Attributes:
        name: of it ("pillow").
        version: conda's version.
        build: the build string ("simd_v2v3_py311_0").
        path: the file.
        sha256: of it, hexadecimal.
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
        directory: where its wheels and their SHA256SUMS lie.
        wheel: the file name of fastinstall's own.
        version: of it.
        pythons: the minor versions of Python that can run it from there.
        files: sha256 by file name, of all of them.
        left_out: why a Python cannot be served, by its minor version.
    """

    directory: PurePath
    wheel: str
    version: str
    pythons: tuple[str, ...]
    files: dict[str, str]
    left_out: dict[str, str]


@immutable
class BuildReport:
    """What was built for one Python.

    Attributes:
        format: what was asked for.
        wheel: its file; of conda packages the wheel that they were made of.
        sha256: of the wheel, hexadecimal.
        from_cache: whether it had been built before.
        variants: labelled wheels beside it, the null variant first; empty where none were asked for.
        channel: the URL of the channel; empty where a wheel was asked for.
        packages: of the channel, the stack first; empty where a wheel was asked for.
        tool: fastinstall itself, put beside the wheel; None where that was not asked for.
    """

    format: Format
    wheel: PurePath
    sha256: str
    from_cache: bool
    variants: tuple[PurePath, ...] = ()
    channel: str = ""
    packages: tuple[BuiltPackage, ...] = ()
    tool: ToolWheels | None = None
