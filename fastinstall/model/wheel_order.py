"""What a wheel is to be built from, for which CPU levels and how linked: a plan decides it, the build makes it."""

from dataclasses import field

from fastinstall.core.values import immutable, keyed, published_as
from fastinstall.model.artefact import Artefact
from fastinstall.model.request import LinkMode


@published_as("Target")
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
        jobs: how many compilers may run at the same time.
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
