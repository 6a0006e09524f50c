"""Files that can be installed: one of a package index, the results of `build`, and the version label of our wheels.

- A file of an index is named so that nothing else can take its place.
- `build` reports a wheel, or the conda packages made of it, and fastinstall itself beside them. The wheels of many
  machines are a `Fleet`.
- The local version label of a wheel of ours tells the CPU levels in it.

What a wheel is to be made of, as a plan decides it and the build carries it out.
"""

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable, published_as
from fastinstall.core.version_numbers import base_version
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode


@immutable
class Artefact:
    """An sdist or a wheel, by name, version and hash.

    Attributes:
        name: of the distribution, normalised.
        version: of the distribution.
        filename: "pillow_simd-12.1.1.post0.tar.gz".
        url: where to fetch it, without credentials and fragment ("file:///..." in a wheelhouse).
        sha256: hexadecimal; empty only where the index gives none.
        requires_python: a specifier ("", ">=3.10").
        size: in bytes; 0 if unknown.
        provenance: where the index publishes attestations of it (PEP 740), without credentials; empty if it
            publishes none.
    """

    name: str
    version: str
    filename: str
    url: str
    sha256: str
    requires_python: str = ""
    size: int = 0
    provenance: str = ""


@immutable
class Releases:
    """What the index (or the wheelhouse) offers for a recipe and a target.

    Attributes:
        sources: sdists of the recipe's source distribution, newest first; all of them, whatever
            Python they require.
        wheels: official wheels of what the recipe replaces that fit the target's tags, newest first,
            the best one of each version only.
        kernels: sdists of the fork that the recipe merges, newest first.
        bases: sdists of what that fork follows, newest first.
        statics: sdists of libraries that the recipe links into the core, newest first, by its names of them.
        compilers: wheels that bring clang, for this machine, newest first.
        prebuilt: wheels of our own making in the wheelhouse that fit the target's tags.
        origin: where this was looked up, for messages ("the package index", a directory).
    """

    sources: tuple[Artefact, ...]
    wheels: tuple[Artefact, ...]
    kernels: tuple[Artefact, ...] = ()
    bases: tuple[Artefact, ...] = ()
    statics: dict[str, tuple[Artefact, ...]] = field(default_factory=dict)
    compilers: tuple[Artefact, ...] = ()
    prebuilt: tuple[Artefact, ...] = ()
    origin: str


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
        channel: the URL of the channel; empty if a wheel was asked for.
        packages: of the channel, the stack first; empty if a wheel was asked for.
        tool: fastinstall itself, put beside the wheel; None if that was not asked for.
    """

    format: Format
    wheel: PurePath
    sha256: str
    from_cache: bool
    channel: str = ""
    packages: tuple[BuiltPackage, ...] = ()
    tool: ToolWheels | None = None


_PREFIX = "x86-64-"


def make_labelled_version(recipe: Recipe, version: str, levels: Sequence[str], dist_name: str) -> str:
    """The version of the wheel that is made, with its local label (PEP 440).

    Args:
        recipe: gives the first part of the label.
        version: of the source.
        levels: names of those in the wheel, the baseline first.
        dist_name: name of the distribution that is made.

    Returns:
        "12.1.1+simd.v3", or "13.0.0+simd.v2.v3" where it carries several.
    """
    keeps = dist_name == recipe.source.pypi and dist_name != recipe.source.chassis
    public = version if keeps else base_version(version)
    return ".".join((f"{public}+{recipe.source.label}", *(name.removeprefix(_PREFIX) for name in levels)))


def parse_labelled_levels(recipe: Recipe, version: str) -> tuple[str, ...]:
    """The levels that a label tells, the baseline first; none if it is not one of this recipe's."""
    label, prefix = version.partition("+")[2], f"{recipe.source.label}."
    told = label.removeprefix(prefix).split(".") if label.startswith(prefix) else []
    known = [level.name for level in reversed(recipe.levels) if level.name.removeprefix(_PREFIX) in told]
    return tuple(known) if len(known) == len(told) else ()


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


@immutable
class WheelOrder:
    """The wheel that is to be made: of what, for which levels, and linked how.

    Attributes:
        recipe: name of the recipe.
        source: the sdist; None when `prebuilt` is given.
        kernels: the sdist of the fork whose changes are merged onto the source; None if nothing is merged.
        base: the sdist of what the fork follows, at the version that it follows.
        without: parts of the fork that are left out, by the recipe's names.
        statics: sdists of libraries that are linked into the core, by the recipe's names of the libraries.
        clang: the wheel whose clang compiles; None where another compiler does.
        chassis: the official wheel that carries the core; None: build all and repair, or link in place.
        prebuilt: a wheel of ours from the wheelhouse, taken as it is.
        cached: the hash of a wheel in our cache that was built so before, and is taken; empty if there is none.
        distribution: name of the distribution that is made.
        version: its version, with the local label ("12.1.1+simd.v3").
        targets: what is compiled, the baseline first; the loader chooses among several.
        link: which native libraries the core uses.
        libraries: libraries that the build enables, by the recipe's names.
        jobs: parallel compile jobs.
    """

    recipe: str
    source: Artefact | None
    kernels: Artefact | None = None
    base: Artefact | None = None
    without: tuple[str, ...] = ()
    statics: dict[str, Artefact] = field(default_factory=dict)
    clang: Artefact | None = None
    chassis: Artefact | None
    prebuilt: Artefact | None = None
    cached: str = ""
    distribution: str
    version: str
    targets: tuple[LevelTarget, ...]
    link: LinkMode
    libraries: tuple[str, ...]
    jobs: int

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, the baseline first."""
        return tuple(target.level for target in self.targets)
