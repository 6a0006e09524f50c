"""Installable files: one of a package index, the results of `build`, and the version label of our wheels.

- A file of an index is identified so that nothing else can replace it.
- `build` reports a wheel, or the conda packages made from it, and fastinstall itself beside them. The wheels of many
  machines are a `Fleet`.
- The local version label of our wheels names their CPU levels.

Also the contents of a wheel, as a plan decides them and the build makes them.
"""

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.architecture import level_label
from fastinstall.core.values import immutable, keyed, published_as
from fastinstall.core.version_numbers import base_version
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode


@immutable
class Artefact:
    """An sdist, a wheel, or a package of C headers, by name, version and hash.

    Attributes:
        name: of the distribution, normalised.
        version: of the distribution.
        filename: "pillow_simd-12.1.1.post0.tar.gz".
        url: the address to fetch it from, without credentials and fragment ("file:///..." in a wheelhouse).
        sha256: hexadecimal; empty only if the index gives none.
        requires_python: a specifier ("", ">=3.10").
        size: in bytes; 0 if unknown.
        provenance: address of the attestations that the index publishes (PEP 740), without credentials; empty
            if there are none.
        index: the index or the `find-links` of pip's settings that offers it, without credentials; empty for a file
            that somebody named for one run.
        mirrors: further addresses of the same file, tried in order.
    """

    name: str
    version: str
    filename: str
    url: str
    sha256: str
    requires_python: str = ""
    size: int = 0
    provenance: str = ""
    index: str = ""
    mirrors: tuple[str, ...] = ()


@immutable
class Releases:
    """What the index (or the wheelhouse) offers for a recipe and a target.

    Attributes:
        sources: sdists of the recipe's source distribution, newest first; all of them, whatever
            Python they require.
        wheels: official wheels of what the recipe replaces that fit the target's tags, newest first,
            the best one of each version only.
        statics: sdists of libraries that the recipe links into the core, newest first, by its names of them.
        compilers: wheels with a compiler for this machine, newest first.
        prebuilt: our wheels in the wheelhouse that fit the target's tags.
        headers: packages of C headers, by the recipe's names of libraries, and by "python3.12" those of Python.
        origin: where this was looked up, for messages ("the package index", a directory).
    """

    sources: tuple[Artefact, ...]
    wheels: tuple[Artefact, ...]
    statics: dict[str, tuple[Artefact, ...]] = field(default_factory=dict)
    compilers: tuple[Artefact, ...] = ()
    prebuilt: tuple[Artefact, ...] = ()
    headers: dict[str, Artefact] = field(default_factory=dict)
    origin: str


class Format(StrEnum):
    """The requested format."""

    WHEEL = "wheel"
    CONDA = "conda"


@immutable
class BuiltPackage:
    """A conda package in the channel.

    Attributes:
        name: of the package ("pillow").
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
        directory: that contains its wheels and their SHA256SUMS.
        wheel: the file name of fastinstall's own.
        version: of fastinstall.
        pythons: the minor versions of Python that can run it from there.
        files: sha256 by file name, of all files.
        left_out: why a Python is not served, by its minor version.
    """

    directory: PurePath
    wheel: str
    version: str
    pythons: tuple[str, ...]
    files: dict[str, str]
    left_out: dict[str, str]


@immutable
class BuildReport:
    """The build for one Python.

    Attributes:
        format: the requested format.
        wheel: its file; for conda packages, the wheel that they were made from.
        sha256: of the wheel, hexadecimal.
        from_cache: whether it was taken from the cache.
        channel: the URL of the channel; empty for a wheel.
        packages: of the channel, the stack first; empty for a wheel.
        tool: fastinstall itself, beside the wheel; None if not requested.
    """

    format: Format
    wheel: PurePath
    sha256: str
    from_cache: bool
    channel: str = ""
    packages: tuple[BuiltPackage, ...] = ()
    tool: ToolWheels | None = None


def make_labelled_version(recipe: Recipe, version: str, levels: Sequence[str], dist_name: str) -> str:
    """Return the version of the built wheel, with its local label (PEP 440).

    Args:
        recipe: for the first part of the label.
        version: of the source.
        levels: names of the wheel's levels, the baseline first.
        dist_name: name of the built distribution.

    Returns:
        "12.1.1+simd.v3", or "13.0.0+simd.v2.v3" with several levels.
    """
    keeps = dist_name == recipe.source.pypi and dist_name != recipe.source.base_wheel
    public = version if keeps else base_version(version)
    return ".".join((f"{public}+{recipe.source.label}", *map(level_label, levels)))


def parse_labelled_levels(recipe: Recipe, version: str) -> tuple[str, ...]:
    """Return the levels in a label, the baseline first; none if it is not one of this recipe's."""
    label, prefix = version.partition("+")[2], f"{recipe.source.label}."
    told = label.removeprefix(prefix).split(".") if label.startswith(prefix) else []
    known = [level.name for level in reversed(recipe.levels) if level_label(level.name) in told]
    return tuple(known) if len(known) == len(told) else ()


@published_as("Target")
@immutable
class LevelTarget:
    """A CPU level to compile a core for.

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
    """The wheel to build: from what, for which levels, and how linked.

    Attributes:
        recipe: name of the recipe.
        source: the sdist; None with `prebuilt`.
        without: kernels to leave out, by the recipe's names.
        statics: sdists of libraries that are linked into the core, by the recipe's names of the libraries.
        clang: the wheel whose compiler compiles; None with a compiler that is in none.
        base_wheel: the official wheel that carries the core; None: build everything and repair, or link in place.
        prebuilt: our wheel from the wheelhouse, used unchanged.
        cached: the hash of a cached wheel of the same build, to use; empty if there is none.
        distribution: name of the built distribution.
        version: its version, with the local label ("12.1.1+simd.v3").
        targets: levels to compile, the baseline first; the loader chooses among several.
        link: which native libraries the core uses.
        libraries: libraries that the build enables, by the recipe's names.
        jobs: parallel compile jobs.
    """

    recipe: str
    source: Artefact | None
    without: tuple[str, ...] = ()
    statics: dict[str, Artefact] = field(default_factory=dict)
    clang: Artefact | None = None
    base_wheel: Artefact | None = keyed("chassis")
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
        """The names of the levels, the baseline first."""
        return tuple(target.level for target in self.targets)
