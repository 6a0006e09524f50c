"""A recipe: what to build, with which flags and libraries, and what to expect of it. Data only."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum


class Severity(StrEnum):
    """How bad an advisory is, in the words of its source."""

    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"
    CRITICAL = "critical"
    UNRATED = "unrated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the source comes from.

    Attributes:
        pypi: name of the distribution on the package index whose sdist is built.
        chassis: name of the distribution whose official wheel carries the built core.
        label: first part of the local version label of the wheel that is made ("simd").
        versions: specifier over the versions that this recipe can build; empty for all.
    """

    pypi: str
    chassis: str
    label: str
    versions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptItems:
    """Definitions that stay upstream's, although the fork changed them.

    Attributes:
        file: relative to the source's top directory.
        items: names of functions, macros or variables.
        reason: why.
    """

    file: str
    items: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFunction:
    """A function that runs the fork's code only under a condition, and upstream's own otherwise.

    Attributes:
        file: relative to the source's top directory.
        function: its name.
        condition: a C expression over the function's parameters; where it holds, the kernels run.
        reason: why.
    """

    file: str
    function: str
    condition: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What belongs together in a merge: taken whole, or left upstream's whole.

    Attributes:
        name: "resample".
        files: relative to the source's top directory, taken or left as wholes.
        items: definitions in further files that go with them: "src/_imaging.c: _prepare_lut_table".
        operations: the operations of the proof whose result they decide, by the start of their names.
    """

    name: str
    files: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    operations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """A fork whose changes are merged onto the source before it is built.

    Attributes:
        pypi: name of the fork's distribution ("pillow-simd").
        follows: name of the distribution that the fork follows: its version of the same number is the base.
        versions: specifier over the fork's versions whose changes are understood; empty for all.
        proven: versions of the source onto which the merge was proven by `recipes check --prove`.
        keep: definitions that stay upstream's.
        guards: functions that choose between both at run time.
        parts: what is left out together where a proof fails.
    """

    pypi: str
    follows: str
    versions: str = ""
    proven: tuple[str, ...] = ()
    keep: tuple[KeptItems, ...] = ()
    guards: tuple[GuardedFunction, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What makes one file of the source, or single functions of it, faster by measurement.

    Attributes:
        file: relative to the source's top directory.
        functions: the only ones that are tuned; empty for the whole file.
        options: as GCC's `optimize` pragma takes them: "O2", "no-tree-vectorize".
        macros: what `#define` gets, in force inside the functions only: "fmod(x, y) ...".
        reason: what was measured.
    """

    file: str
    functions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a right build shows.

    Attributes:
        symbols: symbols that the core defines only if the kernels are in it.
        features: names of `PIL.features` that must be there.
    """

    symbols: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """A known vulnerability or defect.

    Attributes:
        id: "CVE-2026-...", "GHSA-...", or a name of ours for a defect.
        aliases: further identifiers of the same thing.
        severity: as the source rates it.
        affects: specifier over versions of the upstream Pillow ("<12.2.0").
        summary: one sentence.
        source: where it stands.
        dated: when the data was taken.
        kernels_only: whether only a core with the SIMD kernels has it, and stock Pillow does not.
        component: the bundled library that has it ("libjpeg-turbo"), whose versions `affects` then speaks of;
            empty for the distribution itself.
        demonstration: one line of Python that shows it; empty if there is none.
    """

    id: str
    aliases: tuple[str, ...] = ()
    severity: Severity
    affects: str
    summary: str
    source: str
    dated: date
    kernels_only: bool = False
    component: str = ""
    demonstration: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryList:
    """A file of advisories that several recipes share.

    Attributes:
        schema: 1.
        advisories: what is known.
    """

    schema: int
    advisories: tuple[Advisory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSpec:
    """How speed is shown for this recipe: the name of a workload of `fastinstall.bench`."""

    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
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
