"""Files of a package index, identified so that nothing else can replace them, and the wheel to build of them."""

from dataclasses import field

from fastinstall.core.values import immutable
from fastinstall.model.request import LinkMode


@immutable
class Artefact:
    """An sdist, a wheel, or a package of C headers, by name, version and hash.

    Attributes:
        name: of the distribution, normalised.
        version: of the distribution, as its file name has it.
        filename: as the index lists it: "pillow_simd-12.1.1.post0.tar.gz".
        url: the address to fetch it from, without credentials and fragment ("file:///..." in a wheelhouse).
        sha256: hexadecimal; empty only if the index gives none.
        requires_python: a specifier ("", ">=3.10").
        size: in bytes; 0 if unknown.
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


@immutable
class LevelTarget:
    """A CPU level to compile a core for.

    Attributes:
        level: as the recipe names it ("x86-64-v3").
        cflags: all compiler flags, base and level; empty for a ready-made wheel.
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
        left_out: kernels to leave out, by the recipe's names.
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
        jobs: how many compilers may run at the same time.
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
