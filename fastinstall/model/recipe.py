"""A recipe: the source to build, its flags and libraries, the name of the result, and signs of success. Data only."""

from collections.abc import Sequence

from fastinstall.core.architecture import X86_64, architecture_of, level_label
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version
from fastinstall.model.advisories import Advisory, PixelChange

PROVIDERS = ("pillow", "pillow-simd", "pil")
"""The distributions that provide PIL and that the built-in recipes replace.

Code that has no recipe uses this constant: readers of lock files, records and pins. Code that has a recipe uses the
recipe's `replaces`. A test checks that the constant agrees with the recipes."""

LIBRARIES = ("pillow.libs", "pillow_simd.libs")
"""Directories in site-packages that contain the libraries which auditwheel bundled with wheels of `PROVIDERS`."""


@immutable
class SourceOrigin:
    """The origin of the source.

    Attributes:
        pypi: name, on the package index, of the distribution whose sdist is built.
        base_wheel: name of the distribution whose official wheel receives the built core.
        label: first part of the built wheel's local version label ("simd").
        versions: specifier over the versions that this recipe can build; empty for all.
        pythons: specifier over the minor versions of Python that at least one of `versions` supports; empty if unknown.
            Only plans for a fleet use it, because they ask no index.
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
        name: its value for `--level`: "x86-64-v3", "native".
        requires: flags of /proc/cpuinfo that the CPU must have.
        cflags: compiler flags that select the level ("-march=x86-64-v3").
        fallback: the flags for a compiler that does not accept `cflags`.
        ldflags: linker flags that mark the binary with the level; omitted if the toolchain rejects them.
        automatic: whether level "auto" may choose it.
        architecture: the architecture of the level, as the kernel names it (`uname -m`): "x86_64", "aarch64".
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
        directory: the library's directory, relative to the sdist's top directory.
        configure: arguments for the library's `configure` script.
        archive: the static library that `make` produces, relative to `directory`; also the target for `make`.
        headers: headers that the compiler needs, relative to `directory`.
        reason: why the library is built from source instead of taken from the system.
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
        header: its header, relative to an include directory ("jpeglib.h", "openjpeg-*/openjpeg.h").
        link: its name for the linker: "jpeg" for libjpeg.so.
        pkgconfig: its name for pkg-config.
        feature: its name in `PIL SETUP SUMMARY` ("JPEG", "LIBTIFF"); empty if it has none.
        option: its name as a build option (`-C jpeg=enable`).
        core: whether Pillow's core links it; false if only other extension modules do.
        in_wheels: whether the official wheels have it, so that a build without it has fewer features.
        required: whether a build without it is refused.
        implementation: the implementation to prefer ("libjpeg-turbo"); empty if there is only one.
        apt: packages of Debian and Ubuntu that contain it ("libjpeg-dev").
        dnf: packages of Fedora and RHEL that contain it.
        pacman: packages of Arch Linux that contain it.
        zypper: packages of openSUSE that contain it.
        apk: packages of Alpine Linux that contain it.
        conda: packages of conda-forge that contain it.
        static: the source to build the library from; None to use the library of the system or the official wheel.
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
    """The signs by which a correct build is recognised.

    Attributes:
        symbols: symbols that are defined only by a core with the kernels.
        features: names of `PIL.features` that must be present.
    """

    symbols: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


@immutable
class BenchSpec:
    """How to measure the speed of a recipe's builds, and which speed to expect.

    Attributes:
        workload: the name of a workload of `fastinstall.bench`.
        measured: a speed figure with its date, measured on another machine, to help users choose; empty if none.
        architecture: the architecture for which the figure holds, as the kernel names it.
    """

    workload: str
    measured: str = ""
    architecture: str = X86_64.machine

    def measured_on(self, architecture: str) -> str:
        """Return the figure, or "" if the recipe has none.

        For an architecture other than that of the figure, return a statement that its speed is not measured. An empty
        `architecture` counts as that of the figure.
        """
        if architecture in ("", self.architecture) or not self.measured:
            return self.measured
        return f"its speed on {architecture_of(architecture).title} is not measured"


SOURCE_SUFFIX = "__source"
"""The suffix that a function of the source gets when a kernel replaces it."""


@immutable
class Kernel:
    """C code of this project that replaces functions in one file of the source.

    Attributes:
        name: the name of its file in recipes/kernels/, without ".c".
        file: the file of the source, relative to the source's top directory.
        functions: the functions that it replaces, without leading underscores. The originals are renamed to
            NAME__source, so that the kernel can call them in cases that it does not handle.
        operations: the operations of the proof that use the kernel, each by the beginning of its name.
        clang_only: whether builds with other compilers omit it.
        versions: specifier over the versions of the source for which it is written; empty for all.
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
    """Compiler options or macros that make one file of the source, or some of its functions, faster.

    Attributes:
        file: the file, relative to the source's top directory.
        functions: the functions to tune; empty for the whole file.
        options: options for GCC's `optimize` pragma: "O2", "no-tree-vectorize".
        macros: macros that are defined inside the functions only, as in `#define`: "fmod(x, y) ...".
        reason: the measured gain in speed, in words.
    """

    file: str
    functions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    reason: str


@immutable
class Recipe:
    """A recipe for a fast stack.

    Attributes:
        schema: version of the recipe format; always 1.
        name: the value for `--recipe`.
        summary: what it sets up, in one line for lists.
        replaces: names of the distributions that it replaces, normalised.
        package: the import package that all distributions in `replaces` provide ("PIL").
        source: the origin of the source.
        base_cflags: all optimisation flags except those of the level, which follow them.
        levels: the CPU levels to build for; within an architecture, from the highest to the lowest.
        libraries: the libraries to link, by name.
        expect: the signs of a correct build.
        advisories: known issues; after loading, including those of `advisories_from`.
        advisories_from: files of shared advisories, by name: "pillow" is advisories/pillow.toml.
        pixel_changes: operations whose result Pillow changed; after loading, including those of `advisories_from`.
        bench: how to measure its speed, and which speed to expect.
        kernels: our code that replaces functions of the source; empty to build the source unchanged.
        tuning: optimisation options for single files.
        keep_memory: whether the core makes glibc keep freed memory for the next image (recipes/memory.c).
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
        """Whether a build must give the same results as the official wheel, bit for bit; false only for forks."""
        return self.source.pypi == self.source.base_wheel

    def list_levels(self, machine: str) -> tuple[Level, ...]:
        """Return the levels of an architecture (`uname -m`), from the highest to the lowest."""
        return tuple(level for level in self.levels if level.architecture == machine)

    def serves(self, machine: str) -> bool:
        """Return whether the recipe can build for an architecture (`uname -m`)."""
        return architecture_of(machine).supported and bool(self.list_levels(machine))

    @property
    def served(self) -> str:
        """The architectures of the recipe's levels, for messages: "x86-64 and aarch64"."""
        machines = dict.fromkeys(level.architecture for level in self.levels)
        return listing(architecture_of(machine).title for machine in machines)


def make_labelled_version(recipe: Recipe, version: str, levels: Sequence[str], dist_name: str) -> str:
    """Return the version of the built wheel, with its local label (PEP 440).

    Args:
        recipe: the recipe, which defines the first part of the label.
        version: the version of the source.
        levels: names of the wheel's levels, the baseline first.
        dist_name: name of the built distribution.

    Returns:
        "12.1.1+simd.v3", or "13.0.0+simd.v2.v3" with several levels.
    """
    keeps = dist_name == recipe.source.pypi and dist_name != recipe.source.base_wheel
    public = version if keeps else base_version(version)
    return ".".join((f"{public}+{recipe.source.label}", *map(level_label, levels)))


def parse_labelled_levels(recipe: Recipe, version: str) -> tuple[str, ...]:
    """Return the levels in a version's local label, the baseline first; empty if the label is not of this recipe."""
    label, prefix = version.partition("+")[2], f"{recipe.source.label}."
    told = label.removeprefix(prefix).split(".") if label.startswith(prefix) else []
    known = [level.name for level in reversed(recipe.levels) if level_label(level.name) in told]
    return tuple(known) if len(known) == len(told) else ()


@immutable
class PackageManager:
    """A package manager of the operating system, and the packages that a build needs from it.

    Attributes:
        install: the command that installs packages, without their names.
        compilers: the packages with a C compiler.
        python: the package with Python's headers; for Python 3.12, "{0}" is replaced with "3.12", and "{1}" with "312".
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
"""The supported package managers, by name."""

ELSEWHERE = (
    "build the wheel elsewhere: fastinstall build -o DIR; then here: fastinstall setup --offline --wheelhouse DIR"
)
"""Advice for a machine on which the missing packages cannot be installed."""


@immutable
class BuildNeeds:
    """The requirements of a build that are not installed in the operating system.

    Attributes:
        libraries: the libraries whose headers are missing.
        python: minor version of the Python whose headers are missing ("3.12"); empty if they are installed.
        compiler: whether a C compiler is missing.
    """

    libraries: tuple[NativeRequirement, ...] = ()
    python: str = ""
    compiler: bool = False

    def list_packages(self, manager: str | None) -> tuple[str, ...]:
        """Return the names of the packages to install with a package manager; empty if `manager` is None."""
        if manager is None:
            return ()
        known = PACKAGE_MANAGERS[manager]
        names = [*known.compilers] if self.compiler else []
        names += [known.python.format(self.python, self.python.replace(".", ""))] if self.python else []
        names += [package for library in self.libraries for package in getattr(library, manager)]
        return tuple(dict.fromkeys(names))

    def explain(self, manager: str | None, *, as_root: str, allowed: bool = False) -> str:
        """Return a hint on how to install the missing packages; if no way is known, the hint is `ELSEWHERE`.

        Args:
            manager: the package manager of this machine; None if it is not supported.
            as_root: text to put before a command that needs root ("sudo "); see `Toolchain`.
            allowed: whether fastinstall may install system packages on this machine.
        """
        packages = " ".join(self.list_packages(manager))
        if manager is None or not packages:
            return ELSEWHERE
        if allowed:
            return f"run again with --with-system-deps to install {packages}"
        return f"{as_root}{PACKAGE_MANAGERS[manager].install} {packages}; or {ELSEWHERE}"
