"""A file of a package index, named so that nothing else can take its place."""

from dataclasses import field

from fastinstall.model.immutable import immutable


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
        provenance: where the index publishes attestations of it (PEP 740), without credentials; empty where it
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
        prebuilt: wheels of our own making in the wheelhouse that fit the target's tags.
        origin: where this was looked up, for messages ("the package index", a directory).
    """

    sources: tuple[Artefact, ...]
    wheels: tuple[Artefact, ...]
    kernels: tuple[Artefact, ...] = ()
    bases: tuple[Artefact, ...] = ()
    statics: dict[str, tuple[Artefact, ...]] = field(default_factory=dict)
    prebuilt: tuple[Artefact, ...] = ()
    origin: str
