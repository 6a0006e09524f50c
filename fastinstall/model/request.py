"""A user's request to set up, plan or build, and the risks that it may allow."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaInstaller

DIST_NAMES = ("pillow", "pillow-simd")
"""Possible distribution names of a build, the usual one first."""


class LinkMode(StrEnum):
    """Which native libraries the built core uses."""

    BUNDLE = "bundle"
    ENV = "env"
    SYSTEM = "system"


class ToolchainSource(StrEnum):
    """The source of the compiler and the headers."""

    AUTO = "auto"
    SYSTEM = "system"
    CLANG = "clang"
    CONDA = "conda"


class Risk(StrEnum):
    """Risks that a script must allow by name; `--yes` grants none of them."""

    FORCE_REMOVE = "force-remove"
    VULNERABLE = "vulnerable"
    FEATURE_LOSS = "feature-loss"
    DOWNGRADE = "downgrade"
    UNVERIFIED_CPU = "unverified-cpu"
    PROTECTED_PACKAGES = "protected-packages"


@immutable
class PlanRisk:
    """A named risk that a plan takes.

    Attributes:
        risk: the risk, by the name that `--allow` takes.
        summary: what the risk means for the plan, in one sentence.
        items: the details (returning advisories, lost features).
        allowed: whether the request allows the risk.
        instead: what to do instead of allowing it; empty if there is no alternative.
    """

    risk: Risk
    summary: str
    items: tuple[str, ...] = ()
    allowed: bool = False
    instead: str = ""


@immutable
class Request:
    """A request to set up, plan or build, from flags, environment variables and settings.

    Attributes:
        recipe: name of the recipe.
        version: version of the source distribution; None for the newest suitable one.
        level: "auto" or the name of a level of the recipe.
        levels: several levels for one wheel, of which the loader chooses one; empty to use `level`.
        require: names of libraries without which the build is refused.
        link: which native libraries the core uses.
        dist_name: name of the built distribution: "pillow" or "pillow-simd".
        jobs: number of parallel compile jobs; None for as many as usable CPUs.
        offline: whether to avoid all network access.
        wheelhouse: a directory of sdists and wheels to use.
        with_system_deps: whether to install missing system packages.
        toolchain: where the compiler and the headers come from.
        engine: the installer for a conda environment.
        channels: conda channels for other packages, the preferred one first; empty for the channels that conda is
            configured to use.
        guard: whether to install the start-up guard and, in a conda environment, the guard package.
        pin: whether to pin the stack, so that solvers keep it.
        upgrade: whether to look for a later version even if the environment is healthy.
        allow: risks that the user accepts.
        avoid: source versions not to build because they failed the proof on this machine; not set by a flag.
    """

    recipe: str = "pillow-fast"
    version: str | None = None
    level: str = "auto"
    levels: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    link: LinkMode = LinkMode.BUNDLE
    dist_name: str = "pillow"
    jobs: int | None = None
    offline: bool = False
    wheelhouse: PurePath | None = None
    with_system_deps: bool = False
    toolchain: ToolchainSource = ToolchainSource.AUTO
    engine: CondaInstaller = CondaInstaller.AUTO
    channels: tuple[str, ...] = ()
    guard: bool = True
    pin: bool = False
    upgrade: bool = False
    allow: tuple[Risk, ...] = ()
    avoid: tuple[str, ...] = ()
