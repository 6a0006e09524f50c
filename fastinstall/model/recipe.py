"""A recipe: what to build, with which flags and libraries, and what to expect of it. Data only."""

from fastinstall.model.advisory import Advisory
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import Kernels, Tuning

PROVIDERS = ("pillow", "pillow-simd", "pil")
"""What the recipes that come with fastinstall replace: the distributions that provide PIL, for whoever has no recipe at
hand, as readers of lock files, records and pins. Where there is a recipe, its `replaces` decides. A test holds the two
together."""

LIBRARIES = ("pillow.libs", "pillow_simd.libs")
"""Directories in which auditwheel puts the libraries of their wheels."""


@immutable
class Source:
    """Where the source comes from.

    Attributes:
        pypi: name of the distribution on the package index whose sdist is built.
        chassis: name of the distribution whose official wheel carries the built core.
        label: first part of the local version label of the wheel that is made ("simd").
        versions: specifier over the versions that this recipe can build; empty for all.
        pythons: specifier over the minor versions of Python that any of these runs on; empty where that is not known.
            The index decides; this tells it without one, for a fleet.
    """

    pypi: str
    chassis: str
    label: str
    versions: str = ""
    pythons: str = ""


@immutable
class Level:
    """A CPU level to build for.

    Attributes:
        name: "x86-64-v3", "native".
        requires: flags of /proc/cpuinfo that the CPU must have.
        cflags: what the compiler is told.
        fallback: what it is told where it does not know `cflags`.
        ldflags: linker flags that mark the binary (dropped where the toolchain refuses them).
        automatic: whether level "auto" may choose it.
    """

    name: str
    requires: tuple[str, ...] = ()
    cflags: tuple[str, ...]
    fallback: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    automatic: bool = True


@immutable
class StaticSource:
    """A C library that is built from an sdist of the package index and linked into the core, its symbols hidden.

    Attributes:
        pypi: name of the distribution whose sdist holds the library's source.
        versions: specifier over the versions that will do; empty for all.
        directory: of the library inside the sdist, relative to its top directory.
        configure: words for the library's `configure` script.
        archive: the static library that its `make` leaves, relative to `directory`; also the target of `make`.
        headers: what is put before the compiler, relative to `directory`.
        reason: why it is built and not taken from the system.
    """

    pypi: str
    versions: str = ""
    directory: str
    configure: tuple[str, ...]
    archive: str
    headers: tuple[str, ...]
    reason: str


@immutable
class NativeRequirement:
    """A C library that the build uses.

    Attributes:
        header: relative to an include directory ("jpeglib.h", "openjpeg-*/openjpeg.h").
        link: the linker's name: "jpeg" for libjpeg.so.
        pkgconfig: its name for pkg-config.
        feature: its name in `PIL SETUP SUMMARY` ("JPEG", "LIBTIFF"); empty if it has none.
        option: its name as a build option (`-C jpeg=enable`).
        core: whether the imaging core itself links it, or only a further extension.
        in_wheels: whether the official wheels have it, so that a build without it loses something.
        required: whether a build without it is refused.
        implementation: the implementation to prefer ("libjpeg-turbo"); empty if there is one only.
        apt: Debian's packages.
        dnf: Fedora's packages.
        conda: conda-forge's packages.
        static: where it is built from and linked into the core, instead of what the system or the chassis has.
    """

    header: str
    link: str
    pkgconfig: str = ""
    feature: str = ""
    option: str = ""
    core: bool = True
    in_wheels: bool = True
    required: bool = False
    implementation: str = ""
    apt: tuple[str, ...] = ()
    dnf: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    static: StaticSource | None = None


@immutable
class Expectation:
    """What a right build shows.

    Attributes:
        symbols: symbols that the core defines only if the kernels are in it.
        features: names of `PIL.features` that must be there.
    """

    symbols: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


@immutable
class BenchSpec:
    """How speed is shown for this recipe.

    Attributes:
        workload: the name of a workload of `fastinstall.bench`.
        measured: a dated figure to choose by, of another machine than the reader's; empty where there is none.
    """

    workload: str
    measured: str = ""


@immutable
class Recipe:
    """One way to a fast stack.

    Attributes:
        schema: 1.
        name: what `--recipe` takes.
        summary: one line.
        replaces: names of the distributions that it takes the place of, normalised.
        package: the import package that all of them provide ("PIL").
        source: where the source comes from.
        base_cflags: full optimisation flags, put before those of the level.
        levels: from the best to the least.
        libraries: what it links, by name.
        expect: what a right build shows.
        advisories: what is known against it; once loaded, those of `advisories_from` too.
        advisories_from: files of shared advisories, by name: "pillow" is advisories/pillow.toml.
        bench: how to show its speed.
        kernels: the fork whose changes are merged onto the source; None where the source is built as it is.
        tuning: optimisation options for single files.
        recommended: whether the wizard puts it first.
    """

    schema: int
    name: str
    summary: str
    replaces: tuple[str, ...]
    package: str
    source: Source
    base_cflags: tuple[str, ...]
    levels: tuple[Level, ...]
    libraries: dict[str, NativeRequirement]
    expect: Expectation
    advisories: tuple[Advisory, ...] = ()
    advisories_from: tuple[str, ...] = ()
    bench: BenchSpec
    kernels: Kernels | None = None
    tuning: tuple[Tuning, ...] = ()
    recommended: bool = False
