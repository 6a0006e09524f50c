"""What a wheel is to be made of, as a plan decides it and the build carries it out."""

from dataclasses import field

from fastinstall.core.values import immutable, published_as
from fastinstall.model.artefact import Artefact
from fastinstall.model.request import LinkMode


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
