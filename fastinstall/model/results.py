"""What commands report: the effect on an environment, a build, the content of the cache."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.messages import format_bytes
from fastinstall.core.values import immutable


@immutable
class OutdatedProgram:
    """A running process that still uses files of the previous Pillow.

    Attributes:
        pid: its process ID.
        name: name of the process, as the kernel shows it: at most 15 characters.
    """

    pid: int
    name: str


@immutable
class Effect:
    """The effect of a run.

    Attributes:
        changed: whether the environment was changed.
        restart: programs that still use files of the previous Pillow, and should be restarted.
    """

    changed: bool
    restart: tuple[OutdatedProgram, ...] = ()


@immutable
class Done:
    """The changes that a command made, one sentence each."""

    done: tuple[str, ...]


@immutable
class Acceptance:
    """The change that `guard accept` accepted, as a sentence; empty if there was none."""

    accepted: str


class Format(StrEnum):
    """The format of a build's result: a wheel, or a channel of conda packages."""

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


PURPOSES = {
    "downloads": "sdists, wheels and headers, as the indexes have them",
    "toolchains": "compilers, unpacked",
    "wheels": "built wheels",
    "installed": "wheels that were installed as they came, for repairs",
    "requirements": "what a build requires for itself",
    "statics": "libraries that are linked in",
    "headers": "C headers, unpacked",
    "unpacked": "official wheels, to run and to compare with",
    "libraries": "packages that measurements brought",
    "conda": "conda packages",
    "proofs": "what was proven",
    "isa": "scans of machine code",
    "tool": "fastinstall itself and what it requires, for other machines",
    "speed": "speed tables",
    "logs": "logs of builds",
    "manifests": "hashes of what was unpacked",
    "tmp": "left over from runs that were killed",
}
"""Purposes of the cache's removable directories, by name; of `tmp`, only leftovers of killed runs are removed."""


@immutable
class CachePart:
    """A directory of the cache.

    Attributes:
        name: name of the directory ("downloads").
        purpose: what it contains, for messages.
        disk_bytes: disk space of its files in bytes; a file with several links counts once.
    """

    name: str
    purpose: str
    disk_bytes: int


@immutable
class CacheSurvey:
    """The content of the cache, or the content that was removed from it.

    Attributes:
        directory: path of the cache.
        parts: its directories, the largest first, without empty ones.
        disk_bytes: disk space of all parts together.
        removed: whether the parts have been removed.
    """

    directory: str
    parts: tuple[CachePart, ...]
    disk_bytes: int
    removed: bool = False

    @property
    def size(self) -> str:
        """The disk space for messages: "378.2 MB"."""
        return format_bytes(self.disk_bytes)
