"""What conda knows of an environment, from its files alone, and what one of its engines would change there."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import encode, immutable


class CondaInstaller(StrEnum):
    """Who installs into a conda environment."""

    AUTO = "auto"
    CONDA = "conda"
    RATTLER = "rattler"
    PIP = "pip"


@immutable
class CondaPackage:
    """A conda package: one that is installed, one that a channel offers, or one that we are going to make.

    Attributes:
        name: normalised ("pillow").
        version: conda's version ("13.0.0").
        build: the build string ("simd_v2v3_py311_0").
        build_number: of several builds of a version the later one has the greater.
        subdir: "linux-64" or "noarch"; empty if unknown.
        channel: a name or a URL without credentials; empty if unknown.
        url: of the file; empty if unknown.
        sha256: of the file, hexadecimal; empty if unknown.
        depends: match specs of what must be installed with it.
        constrains: match specs that hold where their package is installed.
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
        """What a channel's index says of it first of all, in conda's own keys."""
        keys = ("name", "version", "build", "build_number", "depends", "constrains")
        return {key: encode(getattr(self, key)) for key in keys}

    @property
    def record(self) -> str:
        """The name of its file in `conda-meta`, once it is installed."""
        return f"{self.dist}.json"


@immutable
class CondaClaim:
    """Files that an installed package claims, as far as they matter to PIL.

    Of a package that provides PIL these are all its files; of others those below `PIL/`, and libraries
    and headers of libjpeg and libtiff.

    Attributes:
        dist: of the package.
        files: paths relative to the prefix.
        missing: those that are not on disk.
        altered: those whose size or hash is not what the record says.
    """

    dist: str
    files: tuple[str, ...]
    missing: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()


@immutable
class CondaClash:
    """A file that matters to PIL, and that more than one package claims.

    Attributes:
        path: relative to the prefix.
        claimants: the packages, by `dist`; one of pip's as "pip: NAME VERSION".
        holder: whose content it has; empty if it is nobody's.
    """

    path: str
    claimants: tuple[str, ...]
    holder: str = ""


@immutable
class CondaRevision:
    """An entry of `conda-meta/history` that installed or removed something which matters to PIL.

    Attributes:
        number: its place in the history, 0 for the first.
        at: when, as conda wrote it (local time).
        command: the command line; empty if the history has none.
        linked: what came of that, as "NAME-VERSION-BUILD".
        unlinked: what went of that, likewise.
    """

    number: int
    at: str
    command: str
    linked: tuple[str, ...]
    unlinked: tuple[str, ...]


@immutable
class CondaTool:
    """A conda executable.

    Attributes:
        command: the words that start it, absolute.
        version: of conda; empty if unknown.
        root: its own prefix ("base").
        solver: "classic", "libmamba", "rattler"; empty if unknown.
        found_by: the variable that names it, or "PATH"; "environment" where an environment's place or history do.
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
        packages: every installed package.
        unreadable: records that cannot be read: file name to what is wrong.
        claims: who claims files that matter to PIL.
        clashes: such files that several claim.
        pins: lines of `conda-meta/pinned`, comments aside.
        revisions: those of the history that matter to PIL, oldest first.
        is_base: conda itself is installed here.
        channels: that the environment's own configuration names (`condarc.d` and the like), without credentials.
        has_channels: whether any configuration that conda would read names channels.
        usual_channels: those that the configuration files of conda and of its user name; not those with credentials.
        stale: `site-packages` of other versions of Python that still hold distributions, relative to the prefix.
        debris: left-overs of an interrupted conda transaction, relative to the prefix.
        tool: the conda executable; None if none was found, or it was not looked for.
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
        """The installed package of that name."""
        return next((package for package in self.packages if package.name == name), None)


@immutable
class CondaRequest:
    """What an engine's solver is asked.

    Attributes:
        prefix: the environment.
        ours: packages that are going to be made; they need not exist yet.
        specs: further match specs that have to be installed ("libjpeg-turbo").
        channels: where other packages may come from; empty: what is installed and `ours` have to do.
        offline: use what is cached of the channels alone.
    """

    prefix: PurePath
    ours: tuple[CondaPackage, ...]
    specs: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    offline: bool = False


@immutable
class CondaChange:
    """What a transaction of an engine comes to.

    Attributes:
        linked: packages that come.
        unlinked: packages that go; one that is replaced stands in both.
    """

    linked: tuple[CondaPackage, ...] = ()
    unlinked: tuple[CondaPackage, ...] = ()

    def without(self, names: frozenset[str]) -> "CondaChange":
        """The same, less packages of those names."""
        return CondaChange(
            linked=tuple(each for each in self.linked if each.name not in names),
            unlinked=tuple(each for each in self.unlinked if each.name not in names),
        )


@immutable
class CondaStack:
    """The stack as conda packages, as a setup put them in.

    Attributes:
        package: what provides PIL.
        guard: what keeps the solver from replacing it; None if that was declined.
        channel: the directory of the channel that holds both, inside the environment.
    """

    package: CondaPackage
    guard: CondaPackage | None
    channel: PurePath
