"""This machine's means to build: the C compiler, native libraries, the package manager."""

import shlex
from pathlib import PurePath

from fastinstall.core.values import immutable


@immutable
class Compiler:
    """The C compiler for builds.

    Attributes:
        command: the argv that runs it, without flags ("cc").
        version: its first line of `--version`.
        accepts: the probed flags that it accepts.
    """

    command: tuple[str, ...]
    version: str
    accepts: tuple[str, ...]

    @property
    def text(self) -> str:
        """Its identity in cache keys."""
        return f"{shlex.join(self.command)}: {self.version}"


@immutable
class NativeLibrary:
    """A C library of this machine that a build could use.

    Attributes:
        name: the recipe's name for it: "jpeg", "tiff".
        include: the directory with its header; None if the header is missing.
        library: the file for the linker; None if it is missing.
        version: from pkg-config or the header; empty if unknown.
        implementation: for jpeg: "libjpeg-turbo" or "IJG libjpeg"; empty otherwise.
    """

    name: str
    include: PurePath | None
    library: PurePath | None
    version: str = ""
    implementation: str = ""


@immutable
class Toolchain:
    """This machine's means to build.

    Attributes:
        compiler: None if there is none.
        libraries: the recipes' libraries, found or not.
        package_manager: "apt", "dnf", "zypper", "pacman" or "apk"; None if there is none of them.
        may_install: whether fastinstall may install system packages, as this user and with this package manager.
        named_compiler: the value of CC; empty if unset.
        rattler: whether py-rattler (the extra "conda") is installed beside fastinstall.
        channels: conda channels that the user has configured, without credentials.
    """

    compiler: Compiler | None
    libraries: tuple[NativeLibrary, ...] = ()
    package_manager: str | None = None
    may_install: bool = False
    named_compiler: str = ""
    rattler: bool = False
    channels: tuple[str, ...] = ()
