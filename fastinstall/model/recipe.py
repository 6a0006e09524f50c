"""A recipe: what to build, with which flags and libraries, and what to expect and to call it. Data only."""

from collections.abc import Sequence

from fastinstall.core.architecture import X86_64, architecture_of, level_label
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version
from fastinstall.model.advisories import Advisory
from fastinstall.model.pixel_changes import PixelChange

PROVIDERS = ("pillow", "pillow-simd", "pil")
"""The distributions that provide PIL, which the built-in recipes replace. For code without a recipe, such as readers
of lock files, records and pins. With a recipe, its `replaces` decides. A test compares
both."""

LIBRARIES = ("pillow.libs", "pillow_simd.libs")
"""Directories in which auditwheel puts the libraries of their wheels."""


@immutable
class SourceOrigin:
    """The origin of the source.

    Attributes:
        pypi: name of the distribution on the package index whose sdist is built.
        base_wheel: name of the distribution whose official wheel carries the built core.
        label: first part of the built wheel's local version label ("simd").
        versions: specifier over the versions that this recipe can build; empty for all.
        pythons: specifier over the minor versions of Python that any of these supports; empty if unknown. The index
            decides; this answers without one, for a fleet.
    """

    pypi: str
    base_wheel: str
    label: str
    versions: str = ""
    pythons: str = ""


@immutable
class Level:
    """A CPU level to build for.

    Attributes:
        name: as `--level` takes it: "x86-64-v3", "native".
        requires: flags of /proc/cpuinfo that the CPU must have.
        cflags: compiler flags that select it ("-march=x86-64-v3").
        fallback: the flags for a compiler without `cflags`.
        ldflags: linker flags that mark the binary (omitted if the toolchain rejects them).
        automatic: whether level "auto" may choose it.
        architecture: of the machines that have it, as their kernels name it (`uname -m`): "x86_64", "aarch64".
    """

    name: str
    requires: tuple[str, ...] = ()
    cflags: tuple[str, ...]
    fallback: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    automatic: bool = True
    architecture: str = X86_64.machine


@immutable
class StaticSource:
    """A C library built from an sdist of the package index and linked into the core, with hidden symbols.

    Attributes:
        pypi: name of the distribution whose sdist contains the library's source.
        versions: specifier over the suitable versions; empty for all.
        directory: of the library inside the sdist, relative to its top directory.
        configure: words for the library's `configure` script.
        archive: the static library that its `make` produces, relative to `directory`; also the target of `make`.
        headers: headers to give to the compiler, relative to `directory`.
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
        core: whether Pillow's C extension itself links it, or only another extension module.
        in_wheels: whether the official wheels have it, so that a build without it loses something.
        required: whether a build without it is refused.
        implementation: the implementation to prefer ("libjpeg-turbo"); empty if there is only one.
        apt: packages of Debian and Ubuntu that bring it ("libjpeg-dev").
        dnf: packages of Fedora and RHEL that bring it.
        pacman: packages of Arch Linux that bring it.
        zypper: packages of openSUSE that bring it.
        apk: packages of Alpine Linux that bring it.
        conda: packages of conda-forge that bring it.
        static: the source to build and link it from, instead of using the system's or the official wheel's.
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
    pacman: tuple[str, ...] = ()
    zypper: tuple[str, ...] = ()
    apk: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    static: StaticSource | None = None


@immutable
class Expectation:
    """The signs of a correct build.

    Attributes:
        symbols: symbols that the core defines only with the kernels.
        features: names of `PIL.features` that must be present.
    """

    symbols: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


@immutable
class BenchSpec:
    """How to show this recipe's speed.

    Attributes:
        workload: the name of a workload of `fastinstall.bench`.
        measured: a dated figure of another machine, to choose by; empty if there is none.
        architecture: of that machine, as its kernel names it; the figure says nothing of others.
    """

    workload: str
    measured: str = ""
    architecture: str = X86_64.machine

    def measured_on(self, architecture: str) -> str:
        """Return the figure for machines of an architecture, in words that it is none where it is another's."""
        if architecture in ("", self.architecture) or not self.measured:
            return self.measured
        return f"its speed on {architecture_of(architecture).title} is not measured"


SOURCE_SUFFIX = "__source"
"""What the name of a function ends in that a kernel replaces."""


@immutable
class Kernel:
    """C of this project's own that is compiled in one file of the source, in place of functions of it.

    Attributes:
        name: of its file in recipes/kernels/, without ".c".
        file: relative to the source's top directory.
        functions: those that it replaces, without leading underscores. The source's own become NAME__source, for what
            the kernel leaves to them.
        operations: the operations of the proof whose result it decides, by the start of their names.
        clang_only: whether builds by other compilers go without it.
        versions: specifier over the versions of the source that it fits; empty for all.
        reason: the measured gain in speed, in words.
    """

    name: str
    file: str
    functions: tuple[str, ...]
    operations: tuple[str, ...]
    clang_only: bool = False
    versions: str = ""
    reason: str


@immutable
class Tuning:
    """What makes one file of the source, or single functions of it, faster by measurement.

    Attributes:
        file: relative to the source's top directory.
        functions: the only ones that are tuned; empty for the whole file.
        options: as GCC's `optimize` pragma takes them: "O2", "no-tree-vectorize".
        macros: what `#define` gets, in force inside the functions only: "fmod(x, y) ...".
        reason: the measured gain in speed, in words.
    """

    file: str
    functions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    reason: str


@immutable
class Recipe:
    """One way to a fast stack.

    Attributes:
        schema: version of the recipe format; always 1.
        name: the value for `--recipe`.
        summary: what it sets up, in one line for lists.
        replaces: names of the distributions that it replaces, normalised.
        package: the import package that all of them provide ("PIL").
        source: the origin of the source.
        base_cflags: complete optimisation flags, before those of the level.
        levels: from the highest to the lowest, those of each architecture.
        libraries: the libraries to link, by name.
        expect: the signs of a correct build.
        advisories: known issues; once loaded, also those of `advisories_from`.
        advisories_from: files of shared advisories, by name: "pillow" is advisories/pillow.toml.
        pixel_changes: operations whose result Pillow changed; once loaded, also those of `advisories_from`.
        bench: how to show its speed.
        kernels: code of our own in place of functions of the source; none to build the source unchanged.
        tuning: optimisation options for single files.
        keep_memory: whether the core lets glibc keep memory for the next image (recipes/memory.c).
        recommended: whether the wizard lists it first.
    """

    schema: int
    name: str
    summary: str
    replaces: tuple[str, ...]
    package: str
    source: SourceOrigin
    base_cflags: tuple[str, ...]
    levels: tuple[Level, ...]
    libraries: dict[str, NativeRequirement]
    expect: Expectation
    advisories: tuple[Advisory, ...] = ()
    advisories_from: tuple[str, ...] = ()
    pixel_changes: tuple[PixelChange, ...] = ()
    bench: BenchSpec
    kernels: tuple[Kernel, ...] = ()
    tuning: tuple[Tuning, ...] = ()
    keep_memory: bool = False
    recommended: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether a build has to compute what the official wheel computes, to the bit: any but a fork's."""
        return self.source.pypi == self.source.base_wheel

    def list_levels(self, machine: str) -> tuple[Level, ...]:
        """Return the levels of an architecture, as the kernel names it, from the highest to the lowest."""
        return tuple(level for level in self.levels if level.architecture == machine)

    def serves(self, machine: str) -> bool:
        """Tell whether it makes stacks for an architecture, as the kernel names it."""
        return architecture_of(machine).supported and bool(self.list_levels(machine))

    @property
    def served(self) -> str:
        """The architectures that it makes stacks for, for people: "x86-64 and aarch64"."""
        machines = dict.fromkeys(level.architecture for level in self.levels)
        return listing(architecture_of(machine).title for machine in machines)


def make_labelled_version(recipe: Recipe, version: str, levels: Sequence[str], dist_name: str) -> str:
    """Return the version of the built wheel, with its local label (PEP 440).

    Args:
        recipe: for the first part of the label.
        version: of the source that is built.
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


@immutable
class PackageManager:
    """How the operating system's packages are installed.

    Attributes:
        install: the command, without the packages.
        compilers: the packages of a C compiler.
        python: the package of Python's headers; "{0}" stands for "3.12", "{1}" for "312".
    """

    install: str
    compilers: tuple[str, ...]
    python: str


PACKAGE_MANAGERS = {
    "apt": PackageManager(install="apt-get install", compilers=("gcc", "libc6-dev"), python="python{0}-dev"),
    "dnf": PackageManager(install="dnf install", compilers=("gcc",), python="python{0}-devel"),
    "pacman": PackageManager(install="pacman -S", compilers=("gcc",), python="python"),
    "zypper": PackageManager(install="zypper install", compilers=("gcc",), python="python{1}-devel"),
    "apk": PackageManager(install="apk add", compilers=("gcc", "musl-dev"), python="python3-dev"),
}
"""Those that are known, by name."""

ELSEWHERE = (
    "build the wheel elsewhere: fastinstall build -o DIR; then here: fastinstall setup --offline --wheelhouse DIR"
)
"""What remains where neither a package manager nor the place of the headers is reached."""


@immutable
class BuildNeeds:
    """What a build needs of the operating system.

    Attributes:
        libraries: whose headers are missing.
        python: minor version of the Python whose headers are missing ("3.12"); empty: they are there.
        compiler: whether a C compiler is missing.
    """

    libraries: tuple[NativeRequirement, ...] = ()
    python: str = ""
    compiler: bool = False

    def list_packages(self, manager: str) -> tuple[str, ...]:
        """Return the names of the packages that a package manager has to install."""
        known = PACKAGE_MANAGERS[manager]
        names = [*known.compilers] if self.compiler else []
        names += [known.python.format(self.python, self.python.replace(".", ""))] if self.python else []
        names += [package for library in self.libraries for package in getattr(library, manager)]
        return tuple(dict.fromkeys(names))

    def explain(self, manager: str | None, as_root: str) -> str:
        """Return the ways to bring it, for a hint.

        Args:
            manager: the package manager of this machine.
            as_root: what stands before a command that needs root.
        """
        packages = self.list_packages(manager) if manager is not None else ()
        if manager is None or not packages:
            return ELSEWHERE
        return f"{as_root}{PACKAGE_MANAGERS[manager].install} {' '.join(packages)}; or {ELSEWHERE}"

    def explain_installation(self, manager: str | None, *, allowed: bool, as_root: str) -> str:
        """Return how this user brings it, for a hint.

        Args:
            manager: the package manager of this machine.
            allowed: whether fastinstall may install system packages here.
            as_root: what stands before a command that needs root.
        """
        packages = self.list_packages(manager) if manager is not None and allowed else ()
        if packages:
            return f"run again with --with-system-deps to install {' '.join(packages)}"
        return self.explain(manager, as_root)
