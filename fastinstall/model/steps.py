"""The steps of a plan: data, each with the reason for it. A closed set, whose kinds stand side by side."""

from dataclasses import field
from pathlib import PurePath

from fastinstall.core.values import immutable, published_as, tagged
from fastinstall.model.artefact import Artefact
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage
from fastinstall.model.request import LinkMode


@tagged("create-environment")
@immutable
class CreateEnvironment:
    """Make a virtual environment.

    Attributes:
        prefix: where; must not exist.
        python: the interpreter that makes it.
        reason: why.
    """

    prefix: PurePath
    python: PurePath
    reason: str


@tagged("system-packages")
@immutable
class SystemPackages:
    """Install packages of the operating system.

    Attributes:
        manager: "apt" or "dnf".
        packages: their names.
        reason: why.
    """

    manager: str
    packages: tuple[str, ...]
    reason: str


@tagged("private-headers")
@immutable
class PrivateHeaders:
    """Unpack C headers of the operating system's packages into our cache; the system stays as it is.

    Attributes:
        manager: "apt" or "dnf".
        packages: their names.
        libraries: the recipe's names of the libraries that they serve.
        reason: why.
    """

    manager: str
    packages: tuple[str, ...]
    libraries: tuple[str, ...]
    reason: str


@tagged("conda-toolchain")
@immutable
class CondaToolchain:
    """Make a private prefix with compiler and headers in our cache, of conda packages; the target stays as it is.

    Attributes:
        channels: where they come from, the first one preferred.
        packages: match specs.
        libraries: the recipe's names of the libraries that they serve.
        reason: why.
    """

    channels: tuple[str, ...]
    packages: tuple[str, ...]
    libraries: tuple[str, ...]
    reason: str


@published_as("Target")
@immutable
class LevelTarget:
    """A CPU level that a core is compiled for.

    Attributes:
        level: its name.
        cflags: the full flags.
        ldflags: linker flags that mark the binary.
    """

    level: str
    cflags: tuple[str, ...]
    ldflags: tuple[str, ...]


@tagged("build")
@immutable
class Build:
    """Make the wheel, or take it from the cache when everything that decides its bytes is the same.

    Attributes:
        recipe: name of the recipe.
        source: the sdist; None when `prebuilt` is given.
        kernels: the sdist of the fork whose changes are merged onto the source; None where nothing is merged.
        base: the sdist of what the fork follows, at the version that it follows.
        without: parts of the fork that are left out, by the recipe's names.
        statics: sdists of libraries that are linked into the core, by the recipe's names of the libraries.
        chassis: the official wheel that carries the core; None: build all and repair, or link in place.
        prebuilt: a wheel of ours from the wheelhouse, taken as it is.
        cached: the hash of a wheel in our cache that was built so before, and is taken; empty where there is none.
        distribution: name of the distribution that is made.
        version: its version, with the local label ("12.1.1+simd.v3").
        targets: what is compiled, the baseline first; the loader chooses among several.
        link: which native libraries the core uses.
        libraries: libraries that the build enables, by the recipe's names.
        jobs: parallel compile jobs.
        reason: why this version, level and link mode.
    """

    recipe: str
    source: Artefact | None
    kernels: Artefact | None = None
    base: Artefact | None = None
    without: tuple[str, ...] = ()
    statics: dict[str, Artefact] = field(default_factory=dict)
    chassis: Artefact | None
    prebuilt: Artefact | None = None
    cached: str = ""
    distribution: str
    version: str
    targets: tuple[LevelTarget, ...]
    link: LinkMode
    libraries: tuple[str, ...]
    jobs: int
    reason: str

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, the baseline first."""
        return tuple(target.level for target in self.targets)


@tagged("prove")
@immutable
class Prove:
    """Stage the wheel beside the target, run real operations on it, compare and time it.

    Attributes:
        reference: the official wheel whose pixels are the standard; None: no comparison possible.
        baseline: the official wheel that speed is compared with; None: with the stack in place.
        timed: whether speed is measured; a repair puts back what has been measured before.
        reason: why.
    """

    reference: Artefact | None
    baseline: Artefact | None = None
    timed: bool = True
    reason: str


@tagged("make-conda-packages")
@immutable
class MakeCondaPackages:
    """Make conda packages of the wheel, in a channel inside the environment, and link them beside it.

    Attributes:
        engine: who links them.
        package: what provides PIL, as it will be; its build number may turn out higher.
        guard: what keeps solvers from replacing it; None where that is declined.
        channel: the directory of the channel.
        reason: why.
    """

    engine: CondaInstaller
    package: CondaPackage
    guard: CondaPackage | None
    channel: PurePath
    reason: str


@tagged("change-conda-packages")
@immutable
class ChangeCondaPackages:
    """Have the engine change other packages of the environment: exactly these, whatever a solver would say by then.

    Attributes:
        engine: who does it.
        change: what comes and what goes.
        reason: why.
    """

    engine: CondaInstaller
    change: CondaChange
    reason: str


@tagged("pin")
@immutable
class Pin:
    """Pin the stack in the environment's own configuration, so that solvers keep it.

    Attributes:
        file: relative to the prefix.
        line: what is added.
        reason: why.
    """

    file: str
    line: str
    reason: str


@tagged("pin-for-pip")
@immutable
class PinForPip:
    """Hold pip and uv to the stack by files inside the environment: the wheel, a constraint on it, and who reads them.

    Attributes:
        file: pip's configuration, relative to the prefix.
        directory: of wheel, constraint and exports for a shell, likewise.
        requirement: what it holds to ("pillow==13.0.0+simd.v2.v3").
        text: what is put into the file; without its header where the file has that section.
        links: places of wheels that pip is told of elsewhere, repeated in the text because it would hide them.
        reason: why.
    """

    file: str
    directory: str
    requirement: str
    text: str
    links: tuple[str, ...] = ()
    reason: str


@tagged("pin-project")
@immutable
class PinProject:
    """Pin the stack in the project that makes the environment, so that its own installs keep it.

    Attributes:
        directory: of the project.
        manager: the name of the tool that makes the environment ("uv").
        files: that change: the manifest, and the lock where there is one.
        requirement: what it is pinned to.
        reason: why.
    """

    directory: PurePath
    manager: str
    files: tuple[PurePath, ...]
    requirement: str
    reason: str


@tagged("swap")
@immutable
class Swap:
    """Put the staged tree in place of what is there; nothing is deleted.

    Attributes:
        removes: metadata directories of the distributions that make room ("pillow-13.0.0.dist-info").
        entries: top-level names in site-packages that are moved aside.
        installs: metadata directory of what comes in.
        records: conda packages that make room ("pillow-12.1.1-py311h1234567_0"); their records move aside too.
        reason: why.
    """

    removes: tuple[str, ...]
    entries: tuple[str, ...]
    installs: str
    records: tuple[str, ...] = ()
    reason: str


@tagged("install-guard")
@immutable
class InstallGuard:
    """Install the start-up guard."""

    reason: str


@tagged("verify")
@immutable
class Verify:
    """Observe again and run doctor's checks; an error undoes the swap.

    Attributes:
        checks: names of the checks that must not report an error.
        reason: why.
    """

    checks: tuple[str, ...]
    reason: str


Step = (
    CreateEnvironment
    | SystemPackages
    | PrivateHeaders
    | CondaToolchain
    | Build
    | Prove
    | MakeCondaPackages
    | ChangeCondaPackages
    | Swap
    | InstallGuard
    | Pin
    | PinForPip
    | PinProject
    | Verify
)
