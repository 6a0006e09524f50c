"""Conda environments as their files describe them, and the interface and results of engines that change them."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Protocol

from fastinstall.core.codec import encode
from fastinstall.core.values import immutable


class CondaInstaller(StrEnum):
    """The engines that can install into a conda environment."""

    AUTO = "auto"
    CONDA = "conda"
    RATTLER = "rattler"
    PIP = "pip"


@immutable
class CondaPackage:
    """A conda package: installed, offered by a channel, or planned by fastinstall.

    Attributes:
        name: its name in channels, in lower case ("pillow").
        version: its version ("13.0.0"), without CPU levels: those are in `build`.
        build: the build string ("simd_v2v3_py311_0").
        build_number: number of the build; among builds of the same version, solvers prefer the highest.
        subdir: "linux-64" or "noarch"; empty if unknown.
        channel: a name or a URL without credentials; empty if unknown.
        url: the URL of its file; empty if unknown.
        sha256: SHA-256 of its file, hexadecimal; empty if unknown.
        depends: match specs of packages that must be installed with it.
        constrains: match specs of packages that need not be installed, but must meet the spec if they are.
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
        """The main keys and values of the package's entry in the index of a channel."""
        keys = ("name", "version", "build", "build_number", "depends", "constrains")
        return {key: encode(getattr(self, key)) for key in keys}

    @property
    def record(self) -> str:
        """The name of the file in `conda-meta` that records the package once it is installed."""
        return f"{self.dist}.json"


@immutable
class CondaClaim:
    """The files relevant to PIL that an installed package claims.

    For a package that provides PIL, all of its files are relevant; for other packages, only files below `PIL/`, and
    libraries and headers of libjpeg and libtiff.

    Attributes:
        dist: the claiming package, by name, version and build ("pillow-13.0.0-py311h1234567_0").
        files: paths relative to the prefix.
        missing: claimed files that are not on disk.
        altered: claimed files whose size or hash differs from the record.
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
        claimants: the packages, as in `CondaPackage.dist`; a distribution installed by pip is "pip: NAME VERSION".
        holder: the claimant whose version of the file is on disk; empty if the file is from none of the claimants.
    """

    path: str
    claimants: tuple[str, ...]
    holder: str = ""


@immutable
class CondaRevision:
    """An entry of `conda-meta/history` that installed or removed a package relevant to PIL.

    Attributes:
        number: its position in the history, 0 for the first entry.
        at: its time, as conda wrote it (local time).
        command: the command line; empty if the history has none.
        linked: relevant packages that it installed, each as "NAME-VERSION-BUILD".
        unlinked: relevant packages that it removed, each as "NAME-VERSION-BUILD".
        dropped: other packages that it removed and did not install again, each as "NAME-VERSION-BUILD".
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
        command: the argv that starts it, with an absolute path.
        version: version of conda; empty if unknown.
        root: its own prefix (the environment "base").
        solver: "classic", "libmamba", "rattler"; empty if unknown.
        found_by: how it was found: the name of an environment variable, "PATH", or "environment" if an environment's
            location or history led to it.
    """

    command: tuple[str, ...]
    version: str
    root: PurePath
    solver: str
    found_by: str


@immutable
class Conda:
    """A conda environment, read from its files without running conda.

    Attributes:
        packages: packages with a readable record in `conda-meta`.
        unreadable: the problem of each record that cannot be read, by the record's file name.
        claims: which packages claim files relevant to PIL.
        clashes: files relevant to PIL that several packages claim.
        pins: lines of `conda-meta/pinned`, without comments.
        revisions: entries of the history that concern PIL, oldest first.
        is_base: whether conda itself is installed in this environment.
        channels: channels in the environment's own configuration (`condarc.d` and the like), without credentials.
        has_channels: whether conda's configuration for this environment, from any source, names channels.
        usual_channels: channels in the configuration files of conda and of the user, except those with credentials.
        stale: `site-packages` of other versions of Python that still contain distributions, relative to the prefix.
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
        """Return the installed package with this name; None if there is none."""
        return next((package for package in self.packages if package.name == name), None)


@immutable
class CondaRequest:
    """A request to the solver of an engine.

    Attributes:
        prefix: the environment to change; the solver takes the packages installed in it into account.
        ours: fastinstall's own packages to install; their files need not exist yet.
        specs: match specs of other packages to install ("libjpeg-turbo").
        channels: sources of other packages; if empty, only installed packages and `ours` are used.
    """

    prefix: PurePath
    ours: tuple[CondaPackage, ...]
    specs: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


@immutable
class CondaChange:
    """The changes that an engine makes in one transaction.

    Attributes:
        linked: packages to install, including replacements.
        unlinked: packages to remove, including replaced ones.
    """

    linked: tuple[CondaPackage, ...] = ()
    unlinked: tuple[CondaPackage, ...] = ()

    def without(self, names: frozenset[str]) -> "CondaChange":
        """Return the same changes, without packages that have one of these names."""
        return CondaChange(
            linked=tuple(each for each in self.linked if each.name not in names),
            unlinked=tuple(each for each in self.unlinked if each.name not in names),
        )


@immutable
class CondaStack:
    """The stack as conda packages, as installed by a setup.

    Attributes:
        package: the package that provides PIL.
        guard: the package that stops solvers from replacing the stack; None if the user declined it.
        channel: the directory of the channel with both packages, inside the environment.
    """

    package: CondaPackage
    guard: CondaPackage | None
    channel: PurePath


class CondaEngine(Protocol):
    """An interface for installing conda packages: to solve, fetch and link.

    The caller records, and if necessary undoes, an engine's changes to a live environment.
    """

    @property
    def name(self) -> CondaInstaller:
        """The engine's name."""

    @property
    def description(self) -> str:
        """The engine for messages: "conda 24.7.1, classic solver"."""

    def preview(self, request: CondaRequest) -> CondaChange:
        """Solve a request and return the resulting changes, without making them.

        The solver keeps installed packages if possible, and obeys pins.

        Raises:
            FailedError: there is no solution, a channel cannot be reached, or records cannot be read.
            RefusedError: the environment is frozen, locked or not writable.
        """

    def link(self, packages: Sequence[CondaPackage], scratch: Path, *, prefix: Path) -> None:
        """Link packages with `file:` URLs into an empty directory, as if it were `prefix`.

        This involves no solver and installs no dependencies, and the directory is not added to conda's list of
        environments. The records have the channels and URLs of `packages`, and the spec that solvers should treat as
        the user's request.

        Args:
            packages: the packages; their URLs must be `file:` URLs.
            scratch: the empty directory.
            prefix: the environment whose path the linked files contain.

        Raises:
            FailedError: a package is damaged, or a linked file still contains the path of the directory.
        """

    def change(self, prefix: Path, change: CondaChange) -> None:
        """Make exactly these changes in a live environment, without a solver.

        Packages that are only in `unlinked` are removed, but their dependants are kept. Packages in `linked` are
        installed; a package in both is reinstalled. Removing a package that is not installed is not an error.

        Raises:
            FailedError: the environment is not as requested afterwards; some of the changes may have been made.
            RefusedError: the environment is frozen, locked or not writable; nothing is changed.
        """

    def read_contents(self, package: CondaPackage, *, python: str = "") -> tuple[str, ...]:
        """Fetch a package into the engine's cache, and return the paths of the files that linking it would create.

        Args:
            package: the package; its `url` says where to fetch it.
            python: minor version of the environment's Python ("3.11", free-threaded "3.14t"); only needed for a noarch
                Python package.

        Returns:
            Paths relative to a prefix, including those of bytecode that may be compiled.

        Raises:
            FailedError: the package cannot be fetched or read.
        """
