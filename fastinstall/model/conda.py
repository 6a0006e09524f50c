"""Conda: the facts about an environment, from its files alone, and what an engine is and would change there."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Protocol

from fastinstall.core.codec import encode
from fastinstall.core.values import immutable


class CondaInstaller(StrEnum):
    """Which engine installs into a conda environment."""

    AUTO = "auto"
    CONDA = "conda"
    RATTLER = "rattler"
    PIP = "pip"


@immutable
class CondaPackage:
    """A conda package: installed, offered by a channel, or to be made by us.

    Attributes:
        name: as channels list it, in lower case ("pillow").
        version: as conda writes it ("13.0.0"): CPU levels are in `build`.
        build: the build string ("simd_v2v3_py311_0").
        build_number: of several builds of a version, the latest has the highest.
        subdir: "linux-64" or "noarch"; empty if unknown.
        channel: a name or a URL without credentials; empty if unknown.
        url: of the file; empty if unknown.
        sha256: of the file, hexadecimal; empty if unknown.
        depends: match specs of what must be installed with it.
        constrains: match specs that hold if their package is installed.
    """

    name: str
    version: str
    build: str
    build_number: int = 0
    subdir: str = ""
    channel: str = ""
    url: str = ""
    sha256: str = ""
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()

    @property
    def dist(self) -> str:
        """Name, version and build, as conda writes them: "pillow-13.0.0-py311h1234567_0"."""
        return f"{self.name}-{self.version}-{self.build}"

    @property
    def index(self) -> dict[str, object]:
        """The main fields of its entry in a channel's index, by conda's keys."""
        keys = ("name", "version", "build", "build_number", "depends", "constrains")
        return {key: encode(getattr(self, key)) for key in keys}

    @property
    def record(self) -> str:
        """The name of its file in `conda-meta`, once it is installed."""
        return f"{self.dist}.json"


@immutable
class CondaClaim:
    """Files that an installed package claims, if relevant to PIL.

    For a package that provides PIL, these are all its files; for others, those below `PIL/`, and libraries
    and headers of libjpeg and libtiff.

    Attributes:
        dist: the claiming package, by name, version and build ("pillow-13.0.0-py311h1234567_0").
        files: paths relative to the prefix.
        missing: those that are not on disk.
        altered: those whose size or hash differs from the record.
    """

    dist: str
    files: tuple[str, ...]
    missing: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()


@immutable
class CondaClash:
    """A file relevant to PIL that several packages claim.

    Attributes:
        path: relative to the prefix.
        claimants: the packages, by `dist`; pip's as "pip: NAME VERSION".
        holder: the package whose content it has; empty if none.
    """

    path: str
    claimants: tuple[str, ...]
    holder: str = ""


@immutable
class CondaRevision:
    """An entry of `conda-meta/history` that installed or removed a package relevant to PIL.

    Attributes:
        number: its place in the history, 0 for the first.
        at: its time, as conda wrote it (local time).
        command: the command line; empty if the history has none.
        linked: installed relevant packages, as "NAME-VERSION-BUILD".
        unlinked: removed relevant packages, likewise.
        dropped: other packages that it removed and did not install again, likewise.
    """

    number: int
    at: str
    command: str
    linked: tuple[str, ...]
    unlinked: tuple[str, ...]
    dropped: tuple[str, ...] = ()


@immutable
class CondaTool:
    """A conda executable.

    Attributes:
        command: the words that start it, absolute.
        version: of conda; empty if unknown.
        root: its own prefix ("base").
        solver: "classic", "libmamba", "rattler"; empty if unknown.
        found_by: the variable that names it, or "PATH"; "environment" if an environment's place or history does.
    """

    command: tuple[str, ...]
    version: str
    root: PurePath
    solver: str
    found_by: str


@immutable
class Conda:
    """A conda environment, read from its files; no conda is run.

    Attributes:
        packages: those with a readable record in `conda-meta`.
        unreadable: records that cannot be read, by file name, with the problem.
        claims: which packages claim files relevant to PIL.
        clashes: such files with several claimants.
        pins: lines of `conda-meta/pinned`, without comments.
        revisions: relevant entries of the history, oldest first.
        is_base: whether conda itself is installed here.
        channels: channels in the environment's own configuration (`condarc.d` and the like), without credentials.
        has_channels: whether any configuration that conda would read names channels.
        usual_channels: channels in conda's and its user's configuration files; without those with credentials.
        stale: `site-packages` of other versions of Python that still hold distributions, relative to the prefix.
        debris: leftovers of an interrupted conda transaction, relative to the prefix.
        tool: the conda executable; None if not found, or not looked for.
    """

    packages: tuple[CondaPackage, ...]
    unreadable: dict[str, str]
    claims: tuple[CondaClaim, ...] = ()
    clashes: tuple[CondaClash, ...] = ()
    pins: tuple[str, ...] = ()
    revisions: tuple[CondaRevision, ...] = ()
    is_base: bool = False
    channels: tuple[str, ...] = ()
    has_channels: bool = False
    usual_channels: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    debris: tuple[str, ...] = ()
    tool: CondaTool | None = None

    def named(self, name: str) -> CondaPackage | None:
        """Return the installed package of that name."""
        return next((package for package in self.packages if package.name == name), None)


@immutable
class CondaRequest:
    """A request to an engine's solver.

    Attributes:
        prefix: the environment to solve for, with what is installed there.
        ours: packages to be made; they need not exist yet.
        specs: further match specs to install ("libjpeg-turbo").
        channels: sources of other packages; empty: only use what is installed and `ours`.
        offline: only use what is cached of the channels.
    """

    prefix: PurePath
    ours: tuple[CondaPackage, ...]
    specs: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    offline: bool = False


@immutable
class CondaChange:
    """The changes of an engine's transaction.

    Attributes:
        linked: packages to install, replacements included.
        unlinked: packages to remove; a replaced one is in both.
    """

    linked: tuple[CondaPackage, ...] = ()
    unlinked: tuple[CondaPackage, ...] = ()

    def without(self, names: frozenset[str]) -> "CondaChange":
        """Return the same changes without packages of those names."""
        return CondaChange(
            linked=tuple(each for each in self.linked if each.name not in names),
            unlinked=tuple(each for each in self.unlinked if each.name not in names),
        )


@immutable
class CondaStack:
    """The stack as conda packages, as installed by a setup.

    Attributes:
        package: the package that provides PIL.
        guard: the package that stops the solver from replacing it; None if declined.
        channel: the directory of the channel with both, inside the environment.
    """

    package: CondaPackage
    guard: CondaPackage | None
    channel: PurePath


class CondaEngine(Protocol):
    """Installs conda packages: it solves, fetches and links, and undoes nothing.

    What an engine does to a live environment is recorded and undone by its caller.
    """

    @property
    def name(self) -> CondaInstaller:
        """Which one it is."""

    @property
    def description(self) -> str:
        """For people: "conda 24.7.1, classic solver"."""

    def preview(self, request: CondaRequest) -> CondaChange:
        """Solve, and change nothing.

        What is installed stays as it is wherever the solver can, and pins are respected. Packages of `request.ours`
        need not exist.

        Raises:
            FailedError: no solution, a channel that cannot be reached, records that cannot be read.
            RefusedError: the environment is frozen, locked or not writable.
        """

    def link(self, packages: Sequence[CondaPackage], scratch: Path, *, prefix: Path) -> None:
        """Link packages with `file:` URLs into an empty directory, as if it were `prefix`.

        No solver is asked, no dependency is brought, and no list of environments learns of the directory. The records
        name the channels and URLs that are given, and what solvers should take as the user's request.

        Raises:
            FailedError: a package is damaged, or something is left that names the directory.
        """

    def change(self, prefix: Path, change: CondaChange) -> None:
        """Do exactly this to a live environment; no solver is asked.

        What is only in `unlinked` goes without its dependants, what is in `linked` comes; the same package in both is
        installed again. A name that is not installed is no error.

        Raises:
            FailedError: it did not come to what was asked; the environment may be changed half.
            RefusedError: the environment is frozen, locked or not writable; nothing is changed.
        """

    def read_contents(self, package: CondaPackage, *, python: str = "") -> tuple[str, ...]:
        """Fetch a package into the engine's cache, and tell what linking it brings.

        Args:
            package: the package; its `url` says where to fetch it.
            python: minor version of the environment's Python ("3.11", free-threaded "3.14t"), for a noarch package of
                Python.

        Returns:
            Paths relative to a prefix, bytecode that may be compiled included.

        Raises:
            FailedError: it cannot be had.
        """
