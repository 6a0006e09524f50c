"""What the user asked for.

The environment that is worked on: where it is and of what kind.
"""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable, published_as
from fastinstall.model.conda import CondaInstaller

DIST_NAMES = ("pillow", "pillow-simd")
"""What a build may be called, the usual name first."""


class LinkMode(StrEnum):
    """Which native libraries the built core uses."""

    BUNDLE = "bundle"
    ENV = "env"
    SYSTEM = "system"


class ToolchainSource(StrEnum):
    """Where compiler and headers come from."""

    AUTO = "auto"
    SYSTEM = "system"
    CLANG = "clang"
    CONDA = "conda"


class Risk(StrEnum):
    """What a script must allow by name; `--yes` grants none of them."""

    FORCE_REMOVE = "force-remove"
    VULNERABLE = "vulnerable"
    FEATURE_LOSS = "feature-loss"
    DOWNGRADE = "downgrade"
    UNVERIFIED_CPU = "unverified-cpu"
    PROTECTED_PACKAGES = "protected-packages"


@published_as("Hazard")
@immutable
class PlanRisk:
    """A named risk that this plan takes.

    Attributes:
        risk: its name, for `--allow`.
        summary: what it means here, in one sentence.
        items: the particulars (advisories that come back, features that go).
        allowed: whether the wish allows it.
        instead: what to do rather than allow it; empty if nothing is known.
    """

    risk: Risk
    summary: str
    items: tuple[str, ...] = ()
    allowed: bool = False
    instead: str = ""


@published_as("Wish")
@immutable
class Request:
    """Everything that flags, variables and settings can ask of setup, plan and build.

    Attributes:
        recipe: name of the recipe.
        version: of the source distribution; None for the newest that fits.
        level: "auto" or the name of a level of the recipe.
        levels: several of them in one wheel, chosen by the loader; empty for what `level` says.
        require: names of libraries that the build must have.
        link: which native libraries the core uses.
        dist_name: name of the distribution that is made: "pillow" or "pillow-simd".
        jobs: parallel compile jobs; None for the CPUs granted.
        offline: never touch the network.
        wheelhouse: a directory of sdists and wheels to use.
        with_system_deps: install missing system packages.
        toolchain: where compiler and headers come from.
        engine: who installs into a conda environment.
        channels: conda channels for what else is needed, the first one preferred; empty: as conda is configured.
        guard: install the guards: the start-up guard, and in a conda environment the guard package.
        pin: also pin the stack, so that solvers keep it.
        upgrade: look for a later version even if the environment is healthy.
        allow: risks that the user accepts.
        avoid: versions of the source that did not prove here; no flag asks for it.
    """

    recipe: str = "pillow-merged"
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


class EnvironmentKind(StrEnum):
    """Who made and manages an environment."""

    VENV = "venv"
    CONDA = "conda"
    SYSTEM = "system"


@immutable
class Environment:
    """The target of a run.

    Attributes:
        prefix: `sys.prefix` of the target, absolute.
        kind: who manages it.
        python: the interpreter to run inside it (not resolved: a venv's symlink is its identity).
    """

    prefix: PurePath
    kind: EnvironmentKind
    python: PurePath
