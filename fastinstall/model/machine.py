"""What was observed of the machine: what it could build with."""

import shlex
from pathlib import PurePath

from fastinstall.model.immutable import immutable


@immutable
class Compiler:
    """The C compiler that would build.

    Attributes:
        command: argv prefix ("cc").
        version: its first line of `--version`.
        accepts: the probed flags that it accepts.
    """

    command: tuple[str, ...]
    version: str
    accepts: tuple[str, ...]

    @property
    def text(self) -> str:
        """Which one it is, as the keys of caches have it."""
        return f"{shlex.join(self.command)}: {self.version}"


@immutable
class NativeLibrary:
    """A C library of this machine that a build could use.

    Attributes:
        name: the recipe's name for it: "jpeg", "tiff".
        include: the directory that holds its header; None where the header is missing.
        library: the file for the linker; None where it is missing.
        version: as pkg-config or the header says; empty if unknown.
        implementation: for jpeg: "libjpeg-turbo" or "IJG libjpeg"; empty otherwise.
    """

    name: str
    include: PurePath | None
    library: PurePath | None
    version: str = ""
    implementation: str = ""


@immutable
class Toolchain:
    """What this machine could build with.

    Attributes:
        compiler: None where there is none.
        libraries: those that the recipes name, found or not.
        package_manager: "apt" or "dnf"; None where neither is there.
        may_install: whether this user may install system packages.
        named_compiler: what CC says; empty where it says nothing.
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
