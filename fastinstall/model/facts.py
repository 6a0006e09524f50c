"""Observations of a target and of the machine that it is on; never requests.

A field that is None (or an empty tuple, if the docstring says so) was absent or not visible. `Runtime` is None if
nothing was executed: the static facts do not need it.
"""

import shlex
from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu
from fastinstall.elf.description import ImagingCore, Linkage
from fastinstall.elf.isa.scan import IsaScan
from fastinstall.model.conda import Conda
from fastinstall.model.gpu import Gpu
from fastinstall.model.history import EnvironmentHistory


class EnvironmentKind(StrEnum):
    """The manager of an environment."""

    VENV = "venv"
    CONDA = "conda"
    SYSTEM = "system"


@immutable
class Environment:
    """The target of a run.

    Attributes:
        prefix: `sys.prefix` of the target, absolute.
        kind: venv, conda or system; decides how packages are replaced in it.
        python: its interpreter (not resolved: a venv's symlink is its identity).
    """

    prefix: Path
    kind: EnvironmentKind
    python: Path


class ImportSource(StrEnum):
    """What puts a PIL in front of the one in site-packages."""

    WORKING_DIRECTORY = "working-directory"
    PYTHONPATH = "PYTHONPATH"
    USER_SITE = "user-site"
    STARTUP = "startup-code"


@immutable
class ShadowingPil:
    """A PIL that programs import instead of the one in site-packages.

    Attributes:
        location: its file ("/home/me/.local/lib/python3.11/site-packages/PIL/__init__.py"), or its directory if it has
            no `__init__.py`.
        source: what puts it in front.
        entry: the entry of sys.path that has it: a directory or an archive.
        origin: the file that adds the entry: a `.pth` file, `sitecustomize.py`; empty if none does, or if unknown.
        remaining: the value of PYTHONPATH without the entry; empty for other sources.
        version: from its `_version.py`; empty if unknown.
        distribution: the installed distribution that it belongs to ("pillow"); empty if none.
    """

    location: str
    source: ImportSource
    entry: str
    origin: str = ""
    remaining: str = ""
    version: str = ""
    distribution: str = ""

    @property
    def package(self) -> PurePath:
        """The directory of the package, or the file of a module without one ("PIL.py")."""
        location = PurePath(self.location)
        return location.parent if location.name.startswith("__init__.") else location

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        what = f"Pillow {self.version}" if self.version else "another PIL"
        match self.source:
            case ImportSource.WORKING_DIRECTORY:
                return f"programs started in {self.entry} import {what} from there ({self.package.name})"
            case ImportSource.USER_SITE:
                where = f"which {self.origin} of the user site adds" if self.origin else "which is the user site"
                return f"programs import {what} from {self.entry}, {where}"
            case ImportSource.PYTHONPATH:
                return f"programs import {what} from {self.entry}, which is in PYTHONPATH"
            case ImportSource.STARTUP:
                return f"programs import {what} from {self.entry}, which code adds when Python starts"


@immutable
class Interpreter:
    """The target's Python, from its own answer.

    Attributes:
        executable: `sys.executable` of the target.
        implementation: `sys.implementation.name`: "cpython", "pypy".
        version: with its pre-release part, if any: "3.11.7", "3.15.0rc1".
        abi: the ABI tag of its extension modules (PEP 425): "cp311", "cp313t".
        platform: `sysconfig.get_platform()` of the target: "linux-x86_64".
        libc: "glibc" or "musl"; empty if unknown.
        libc_version: "2.36"; empty if unknown.
        free_threaded: whether it was built without the global interpreter lock (PEP 703).
        extension_suffix: ending of its extension modules (EXT_SUFFIX): ".cpython-311-x86_64-linux-gnu.so".
        prefix: `sys.prefix` of the target.
        base_prefix: `sys.base_prefix`; differs from `prefix` in a virtual environment.
        site_packages: the directory for platform-dependent distributions.
        include: the directory that should hold Python.h.
        has_headers: whether Python.h is there.
        cflags: the interpreter's own CFLAGS (sysconfig), for provenance.
        externally_managed: the marker file of PEP 668, if it applies to this target.
        pip_version: of the pip inside the target; None if it has none.
        shadows: each PIL that programs import instead of the one in site-packages, by files and variables.
    """

    executable: Path
    implementation: str
    version: str
    abi: str
    platform: str
    libc: str
    libc_version: str
    free_threaded: bool
    extension_suffix: str
    prefix: Path
    base_prefix: Path
    site_packages: Path
    include: Path
    has_headers: bool
    cflags: str = ""
    externally_managed: PurePath | None = None
    pip_version: str | None = None
    shadows: tuple[ShadowingPil, ...] = ()

    @property
    def minor(self) -> str:
        """Its version without the last number: "3.12"."""
        return ".".join(self.version.split(".")[:2])

    @property
    def machine(self) -> str:
        """The machines that it runs on, as their kernels name them: "x86_64" of "linux-x86_64"."""
        return self.platform.partition("-")[2]

    @property
    def markers(self) -> dict[str, str]:
        """The values of environment markers in its requirements, no extra being asked for (PEP 508)."""
        names = {"cpython": "CPython", "pypy": "PyPy"}
        return {
            "python_version": self.minor,
            "python_full_version": self.version,
            "implementation_version": self.version,
            "implementation_name": self.implementation,
            "platform_python_implementation": names.get(self.implementation, self.implementation),
            "extra": "",
        }


@immutable
class Distribution:
    """An installed distribution, by its metadata directory.

    Attributes:
        name: of the distribution, normalised (PEP 503).
        version: as its METADATA states it.
        metadata: the name of its `.dist-info` directory in site-packages.
        installer: content of INSTALLER ("pip", "uv", "conda", "fastinstall"); empty if there is none.
        requested: whether REQUESTED exists (PEP 376); its meaning depends on the tool.
    """

    name: str
    version: str
    metadata: str
    installer: str = ""
    requested: bool = False


@immutable
class Owner:
    """A distribution that claims files below `PIL/`.

    Attributes:
        distribution: which one it is, with its version and installer.
        installed_at: when its metadata was written, ISO 8601 in UTC, to the second.
        has_record: False if RECORD is missing; then nothing can be compared.
        recorded_core: the digest in RECORD for `PIL/_imaging*.so` ("sha256=..."), if any.
        entries: the top-level names in site-packages that hold its files ("PIL", "pillow.libs", ...),
            its own `.dist-info` included.
        outside: recorded files outside site-packages (scripts), relative to it.
        files: number of recorded files.
        mismatched: recorded files whose size or hash differs on disk.
        missing: recorded files that are not on disk (without bytecode).
        checkout: the directory of an editable installation (PEP 610); None for an ordinary one.
    """

    distribution: Distribution
    installed_at: str
    has_record: bool
    recorded_core: str | None
    entries: tuple[str, ...]
    outside: tuple[str, ...] = ()
    files: int = 0
    mismatched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    checkout: PurePath | None = None


@immutable
class Dependant:
    """An installed distribution, or a user's constraint, that requires a distribution that a setup replaces.

    Attributes:
        name: the distribution that requires it; of a constraint, the variable or file that names its file.
        requirement: its requirement, as written in its metadata ("pillow>=8.3.2").
        version: of the distribution that requires it; empty if unknown.
        constraints: the file of constraints with the requirement, which pip or uv obeys; None for a distribution.
    """

    name: str
    requirement: str
    version: str = ""
    constraints: PurePath | None = None

    @property
    def sentence(self) -> str:
        """A sentence for people: "gradio 5.49.1 requires pillow<13"."""
        where = f" ({self.constraints})" if self.constraints is not None else ""
        return f"{f'{self.name} {self.version}'.strip()}{where} requires {self.requirement}"


@immutable
class CondaDependant(Dependant):
    """A conda package, or a pin of conda's, that only accepts some versions.

    Attributes:
        versions: those that it accepts, as conda writes and orders them ("12.*|>=13,<14").
    """

    versions: str


@immutable
class InstalledStack:
    """PIL in site-packages, from files alone.

    Attributes:
        directory: `site-packages/PIL`; None if there is none.
        has_init: whether `PIL/__init__.py` is there (else PIL is a namespace package).
        version: from `PIL/_version.py`; None if it is missing or unreadable.
        core: Pillow's C extension for this interpreter's ABI; None if it is missing.
        foreign_cores: `_imaging` files of another ABI.
        owners: distributions that claim files of PIL.
        unclaimed: files below `PIL/` that no RECORD names (without bytecode).
        debris: leftovers of an interrupted installer (`~IL`, `~illow-...`).
        dependants: distributions that require what we would replace.
        hidden: its entries in site-packages that others may not read, though they may read other packages there.
        of_others: its entries there that the owner of site-packages cannot replace, because they are another user's.
    """

    directory: PurePath | None
    has_init: bool = False
    version: str | None = None
    core: ImagingCore | None = None
    foreign_cores: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    unclaimed: tuple[str, ...] = ()
    debris: tuple[str, ...] = ()
    dependants: tuple[Dependant, ...] = ()
    hidden: tuple[str, ...] = ()
    of_others: tuple[str, ...] = ()


@immutable
class OperationResult:
    """The result of one operation in a subprocess of the target.

    Attributes:
        name: of the operation: "resize-lanczos-RGB", "jpeg-round-trip", ...
        ok: whether it ended without an exception.
        error: its exception, if it did not.
    """

    name: str
    ok: bool
    error: str = ""


@immutable
class Runtime:
    """The result of importing and using PIL with the target's interpreter.

    Attributes:
        imported: whether `PIL.Image` could be imported.
        error: the exception of the import; empty if it worked.
        signal: the signal that killed the subprocess ("SIGILL"); empty if none did.
        during: the operation during which it died or failed; empty if none.
        version: `PIL.__version__`; empty if the import failed.
        location: `PIL.__file__`; empty if the import failed.
        core: the file that holds the running core's code; empty if unknown.
        features: from `PIL.features`: name to version ("" without one).
        operations: each operation's result, in order.
        mapped_by_import: files mapped after the import, in the loader's order, each once.
        mapped: files mapped at the end, likewise; empty if it died before.
        is_as_program: whether it looked for PIL with the sys.path of a program, not of an isolated interpreter.
        shadow: the PIL that a program imports instead of the one in site-packages, which was used; None if none.
    """

    imported: bool
    error: str = ""
    signal: str = ""
    during: str = ""
    version: str = ""
    location: str = ""
    core: str = ""
    features: dict[str, str]
    operations: tuple[OperationResult, ...] = ()
    mapped_by_import: tuple[PurePath, ...] = ()
    mapped: tuple[PurePath, ...] = ()
    is_as_program: bool = False
    shadow: ShadowingPil | None = None


OTHER_CORE = " describes "
"""In a problem: what the guard knows is another core than the one in place, as after a replacement."""


@immutable
class GuardEvent:
    """A report of the start-up guard.

    Attributes:
        at: time of the report, ISO 8601, UTC.
        change: the change of the stack ("was replaced with Pillow 13.0.0").
        tool: the tool that made it ("pip", "uv"); empty if unknown.
        stack: the version before ("12.1.1+simd.v3", as the guard knows it).
        found: the version found; empty if there is none.
    """

    at: str
    change: str
    tool: str = ""
    stack: str = ""
    found: str = ""


@immutable
class GuardState:
    """The start-up guard in site-packages.

    Attributes:
        installed: whether any of its files exists.
        version: of the hook; empty if unknown.
        problems: its problems (missing, altered, not compiled, outdated, state differs).
    """

    installed: bool
    version: str = ""
    problems: tuple[str, ...] = ()

    @property
    def own_problems(self) -> tuple[str, ...]:
        """Those that are not the mere consequence of a replaced core, of which the guard warns."""
        return tuple(problem for problem in self.problems if OTHER_CORE not in problem)


class PinKind(StrEnum):
    """A pin in the environment's own configuration; a project's pin is named after the project's tool."""

    PIP = "pip"
    CONDA = "conda"


@immutable
class PinState:
    """One of our pins.

    Attributes:
        kind: the configuration that contains it: a `PinKind`, or the name of a project's tool ("uv").
        file: that contains it, absolute.
        requirement: the pinned requirement ("pillow==13.0.0+simd.v2.v3", "pillow * simd_*").
        problems: its problems (the wheel is missing, the line was altered, another build is installed).
    """

    kind: str
    file: PurePath
    requirement: str
    problems: tuple[str, ...] = ()


@immutable
class Project:
    """A directory with a manifest from which a tool creates environments.

    Attributes:
        directory: where the manifest is, absolute.
        manager: the name of the tool ("uv").
        manifest: the file that people write ("pyproject.toml", "pixi.toml"), absolute.
        lock: the file that the tool writes, absolute; None if there is none yet.
        sync: the command that creates the environment with the tool ("uv sync").
    """

    directory: PurePath
    manager: str
    manifest: PurePath
    lock: PurePath | None = None
    sync: str = ""


@immutable
class Compiler:
    """The C compiler for builds.

    Attributes:
        command: the argv that runs it, without flags ("cc").
        version: its first line of `--version`.
        accepts: the probed flags that it accepts.
    """

    command: tuple[str, ...]
    version: str
    accepts: tuple[str, ...]

    @property
    def text(self) -> str:
        """Its identity in cache keys."""
        return f"{shlex.join(self.command)}: {self.version}"


@immutable
class NativeLibrary:
    """A C library of this machine that a build could use.

    Attributes:
        name: the recipe's name for it: "jpeg", "tiff".
        include: the directory with its header; None if the header is missing.
        library: the file for the linker; None if it is missing.
        version: from pkg-config or the header; empty if unknown.
        implementation: for jpeg: "libjpeg-turbo" or "IJG libjpeg"; empty otherwise.
    """

    name: str
    include: PurePath | None
    library: PurePath | None
    version: str = ""
    implementation: str = ""


@immutable
class Toolchain:
    """This machine's means to build.

    Attributes:
        compiler: None if there is none.
        libraries: the recipes' libraries, found or not.
        package_manager: "apt", "dnf", "zypper", "pacman" or "apk"; None if there is none of them.
        may_install: whether fastinstall may install system packages, as this user and with this package manager.
        as_root: what stands before a command that needs root: nothing for root, "sudo ", or "as root: " without sudo.
        named_compiler: the value of CC; empty if unset.
        rattler: whether py-rattler (the extra "conda") is installed beside fastinstall.
        channels: conda channels that the user has configured, without credentials.
    """

    compiler: Compiler | None
    libraries: tuple[NativeLibrary, ...] = ()
    package_manager: str | None = None
    may_install: bool = False
    as_root: str = "sudo "
    named_compiler: str = ""
    rattler: bool = False
    channels: tuple[str, ...] = ()


@immutable
class LoadingFacts:
    """How a program that loads images gets memory.

    Attributes:
        huge_pages: the kernel's setting of transparent huge pages: "always", "madvise", "never"; empty if unknown.
        tunables: GLIBC_TUNABLES, as the target's programs receive it.
    """

    huge_pages: str = ""
    tunables: str = ""


class ObstacleKind(StrEnum):
    """What stops the renames of a setup."""

    LEADS_OUT = "leads-out"
    """A directory on the way is a link out of the environment."""
    IN_THE_WAY = "in-the-way"
    """A file, or a link to nothing, is where a directory has to be."""
    MOUNTED = "mounted"
    """Another filesystem is mounted on what would be replaced."""
    NOT_WRITABLE = "not-writable"
    """This user may not write to a directory that is not site-packages."""
    IMMUTABLE = "immutable"
    """The file has the flag "immutable" or "append only": chattr(1)."""
    NOEXEC = "noexec"
    """Nothing can be run or loaded from the filesystem."""


@immutable
class SetupObstacle:
    """What stops a setup in an environment, known before it begins.

    Attributes:
        kind: what it is.
        place: the path.
        leads_to: where a link leads; empty for other kinds.
    """

    kind: ObstacleKind
    place: PurePath
    leads_to: str = ""


@immutable
class Facts:
    """Everything that a decision or a check may use.

    Attributes:
        environment: the target: its prefix, manager and interpreter.
        active: the prefixes that the shell says are active, by variable (VIRTUAL_ENV, CONDA_PREFIX).
        tool_prefix: `sys.prefix` of fastinstall itself, which is never the target by accident.
        writable: whether this user may write to the target's site-packages.
        obstacles: what else would stop a setup.
        frozen: `conda-meta/frozen`, if it protects the environment.
        conda: conda's facts about the environment; None if it is not a conda environment.
        cpu: the processor of this machine, and its features.
        interpreter: the target's Python, from its own answer.
        distributions: everything installed there that has a metadata directory.
        stack: PIL in site-packages and the distributions that claim it.
        guard: whether the start-up guard is installed, and its problems.
        pins: our pins that stop tools from replacing the stack.
        interrupted: the identifier of our transaction that neither finished nor was undone.
        history: the record of our changes, including leftovers of a killed run.
        linkage: what a process that imports PIL would load; None if not requested.
        isa: CPU features that PIL's extension modules need, including the core's copies.
        runtime: None if nothing was executed.
        toolchain: None if not requested.
        gpu: NVIDIA GPUs and the CUDA of frameworks; None if there is neither.
        loading: how memory is allocated; None without an installed training framework.
    """

    environment: Environment
    active: dict[str, PurePath]
    tool_prefix: PurePath
    writable: bool
    obstacles: tuple[SetupObstacle, ...] = ()
    frozen: PurePath | None = None
    conda: Conda | None = None
    cpu: Cpu
    interpreter: Interpreter
    distributions: tuple[Distribution, ...]
    stack: InstalledStack
    guard: GuardState
    pins: tuple[PinState, ...] = ()
    interrupted: str | None = None
    history: EnvironmentHistory = EnvironmentHistory()
    linkage: Linkage | None = None
    isa: tuple[IsaScan, ...] = ()
    runtime: Runtime | None = None
    toolchain: Toolchain | None = None
    gpu: Gpu | None = None
    loading: LoadingFacts | None = None

    @property
    def shadows(self) -> tuple[ShadowingPil, ...]:
        """Each PIL that programs import instead of the one in site-packages.

        A program's own start knows better than files and variables, but not in which directory programs are started.
        """
        known, runtime = self.interpreter.shadows, self.runtime
        if runtime is None or not runtime.is_as_program:
            return known
        here = tuple(shadow for shadow in known if shadow.source is ImportSource.WORKING_DIRECTORY)
        if runtime.shadow is None:
            return here
        location = runtime.shadow.location
        return *here, next((shadow for shadow in known if shadow.location == location), runtime.shadow)
