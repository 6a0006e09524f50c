"""Files of a package index, identified by their hashes, and the order to build a wheel from such files."""

from dataclasses import field

from fastinstall.core.values import immutable
from fastinstall.model.request import LinkMode


@immutable
class Artefact:
    """An sdist, a wheel, or a package of C headers, by name, version and hash.

    Attributes:
        name: name of the distribution, normalised.
        version: version of the distribution, as in the file name.
        filename: name of the file in the index: "pillow_simd-12.1.1.post0.tar.gz".
        url: its URL, without credentials and fragment ("file:///..." in a wheelhouse).
        sha256: its SHA-256, hexadecimal; empty only if the index has none.
        requires_python: specifier over the versions of Python that it supports (">=3.10"); empty for all.
        size: its size in bytes; 0 if unknown.
        index: URL of the index or `find-links` location that offers it, from pip's settings but without credentials.
            Empty for a file that the user named for one run.
        mirrors: further URLs of the same file, tried in order.
    """

    name: str
    version: str
    filename: str
    url: str
    sha256: str
    requires_python: str = ""
    size: int = 0
    index: str = ""
    mirrors: tuple[str, ...] = ()


@immutable
class Releases:
    """The files that the index (or the wheelhouse) offers for a recipe and a target.

    Attributes:
        sources: sdists of the recipe's source distribution for any version of Python, newest first.
        wheels: official wheels of the distributions that the recipe replaces, if compatible with the target; only the
            best wheel of each version, newest first.
        statics: sdists of libraries that the recipe links into the core, newest first, by the recipe's library names.
        compilers: wheels with a compiler for this machine, newest first.
        prebuilt: our wheels in the wheelhouse that are compatible with the target.
        headers: packages of C headers, by the recipe's library names; the key of Python's headers is "python3.12".
        origin: the place that was searched, for messages ("the package index", a directory).
    """

    sources: tuple[Artefact, ...]
    wheels: tuple[Artefact, ...]
    statics: dict[str, tuple[Artefact, ...]] = field(default_factory=dict)
    compilers: tuple[Artefact, ...] = ()
    prebuilt: tuple[Artefact, ...] = ()
    headers: dict[str, Artefact] = field(default_factory=dict)
    origin: str


@immutable
class LevelTarget:
    """A CPU level to compile a core for.

    Attributes:
        level: its name in the recipe ("x86-64-v3").
        cflags: all compiler flags, base and level; empty for a wheel that exists already.
        ldflags: linker flags that mark the binary with the level.
    """

    level: str
    cflags: tuple[str, ...]
    ldflags: tuple[str, ...]


@immutable
class WheelOrder:
    """An order for a wheel: its sources, its levels, and how it is linked.

    Attributes:
        recipe: name of the recipe.
        source: the sdist; None if `prebuilt` is given.
        left_out: names of the recipe's kernels to leave out.
        statics: sdists of libraries to link into the core, by the recipe's library names.
        clang: the wheel with the compiler to use; None to use a compiler of the machine.
        base_wheel: the official wheel in which the core is replaced; None to build a whole wheel, which bundles its
            libraries or uses installed ones.
        prebuilt: our wheel from the wheelhouse, to use unchanged; None to build one.
        cached: SHA-256 of a cached wheel to use instead of building it again; empty if there is none.
        distribution: name of the built distribution.
        version: version of the built distribution, with the local label ("12.1.1+simd.v3").
        targets: levels to compile, the baseline first; if there are several, the wheel's loader chooses one.
        link: which native libraries the core uses.
        libraries: the recipe's names of the libraries that the build enables.
        jobs: number of compilers that may run at the same time.
    """

    recipe: str
    source: Artefact | None
    left_out: tuple[str, ...] = ()
    statics: dict[str, Artefact] = field(default_factory=dict)
    clang: Artefact | None = None
    base_wheel: Artefact | None
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
