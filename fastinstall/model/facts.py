"""Observations of a target environment and of its machine.

None (or an empty tuple, if the docstring says so) means that something does not exist or could not be seen. Only
`Facts.runtime` comes from using the target's PIL; it is None if PIL was not run.
"""

from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu
from fastinstall.elf.description import ImagingCore, IsaScan, Linkage
from fastinstall.model.conda import Conda
from fastinstall.model.guards import GuardState, PinState
from fastinstall.model.history import EnvironmentHistory
from fastinstall.model.machine import Gpu, LoadingFacts, Toolchain


class EnvironmentKind(StrEnum):
    """Kinds of environments: virtual environments, conda environments, and Pythons of the system."""

    VENV = "venv"
    CONDA = "conda"
    SYSTEM = "system"


@immutable
class Environment:
    """The target of a run.

    Attributes:
        prefix: `sys.prefix` of the target, absolute.
        kind: venv, conda or system; decides how packages are replaced in it.
        python: path of its interpreter; a symbolic link is not resolved, because the link's path identifies a venv.
    """

    prefix: Path
    kind: EnvironmentKind
    python: Path


class ImportSource(StrEnum):
    """Reasons why another PIL precedes the one in site-packages on sys.path."""

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
        source: why it comes first.
        entry: the entry of sys.path that contains it: a directory or an archive.
        origin: the file that adds the entry (a `.pth` file, `sitecustomize.py`); empty if no file does, or if unknown.
        remaining: the value of PYTHONPATH without the entry; empty for other sources.
        version: version of this PIL, from its `_version.py`; empty if unknown.
        distribution: the installed distribution that contains this PIL ("pillow"); empty if none does.
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
        """The package's directory; for a module that is a single file ("PIL.py"), the file."""
        location = PurePath(self.location)
        return location.parent if location.name.startswith("__init__.") else location

    @property
    def sentence(self) -> str:
        """A sentence for messages that says which PIL programs import, and from where."""
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
    """The target's Python, as reported by its interpreter.

    Attributes:
        executable: `sys.executable` of the target.
        implementation: `sys.implementation.name`: "cpython", "pypy".
        version: its version, with the pre-release part: "3.11.7", "3.15.0rc1".
        abi: the ABI tag of its extension modules (PEP 425): "cp311", "cp313t".
        platform: `sysconfig.get_platform()` of the target: "linux-x86_64".
        libc: "glibc" or "musl"; empty if unknown.
        libc_version: "2.36"; empty if unknown.
        free_threaded: whether it was built without the global interpreter lock (PEP 703).
        extension_suffix: end of its extension modules' file names (EXT_SUFFIX): ".cpython-311-x86_64-linux-gnu.so".
        prefix: `sys.prefix` of the target.
        base_prefix: `sys.base_prefix`; differs from `prefix` in a virtual environment.
        site_packages: the directory for platform-dependent distributions.
        include: the directory for Python.h, which may be missing.
        has_headers: whether `include` contains Python.h.
        cflags: the interpreter's own CFLAGS (sysconfig), for provenance.
        externally_managed: the marker file of PEP 668; None if there is none, or if it does not apply to this target.
        pip_version: version of the pip inside the target; None if it has none.
        shadows: each PIL that programs import instead of the one in site-packages, judged by files and variables.
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
        """The version without its last number: "3.12"."""
        return ".".join(self.version.split(".")[:2])

    @property
    def machine(self) -> str:
        """Its architecture, as the kernel names it (`uname -m`): "x86_64" of "linux-x86_64"."""
        return self.platform.partition("-")[2]

    @property
    def markers(self) -> dict[str, str]:
        """Values for environment markers in requirements, with no extra requested (PEP 508)."""
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
        name: its name, normalised (PEP 503).
        version: its version, as in METADATA.
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
        distribution: the distribution, with its version and installer.
        installed_at: when its metadata was written, ISO 8601 in UTC, to the second.
        has_record: whether it has a RECORD; without one, no file can be compared.
        recorded_core: the digest in RECORD for `PIL/_imaging*.so` ("sha256=..."); None if there is none.
        entries: the top-level names in site-packages that contain its files ("PIL", "pillow.libs", ...),
            its own `.dist-info` included.
        outside: recorded files outside site-packages (scripts), relative to site-packages.
        files: number of recorded files.
        mismatched: recorded files whose size or hash differs on disk.
        missing: recorded files that are not on disk, except bytecode.
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
        name: name of the distribution; for a constraint, the variable or settings file that names the constraints file.
        requirement: the requirement, as written ("pillow>=8.3.2").
        version: version of the distribution; empty if unknown, and for a constraint.
        constraints: the constraints file of pip or uv that contains the requirement; None for a distribution.
    """

    name: str
    requirement: str
    version: str = ""
    constraints: PurePath | None = None

    @property
    def sentence(self) -> str:
        """A sentence for messages: "gradio 5.49.1 requires pillow<13"."""
        where = f" ({self.constraints})" if self.constraints is not None else ""
        return f"{f'{self.name} {self.version}'.strip()}{where} requires {self.requirement}"


@immutable
class CondaDependant(Dependant):
    """A conda package, or a conda pin, that accepts only some versions of a package that a setup replaces.

    Attributes:
        versions: the accepted versions, in conda's syntax and order ("12.*|>=13,<14").
    """

    versions: str


@immutable
class InstalledStack:
    """PIL in site-packages, judged by files alone.

    Attributes:
        directory: `site-packages/PIL`; None if there is none.
        has_init: whether `PIL/__init__.py` exists (without it, PIL is a namespace package).
        version: from `PIL/_version.py`; None if it is missing or unreadable.
        core: Pillow's C extension for this interpreter's ABI; None if it is missing.
        foreign_cores: `_imaging` files of another ABI.
        owners: distributions that claim files of PIL.
        unclaimed: files below `PIL/` that no RECORD names, except bytecode.
        debris: leftovers of an interrupted installer (`~IL`, `~illow-...`).
        dependants: distributions and constraints that require a distribution that a setup replaces.
        hidden: PIL's entries in site-packages that other users may not read, although site-packages has packages that
            other users may read.
        of_others: PIL's entries in site-packages that belong, at least in part, to a user other than the owner of
            site-packages. That owner therefore cannot replace these entries.
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
        name: name of the operation: "resize-lanczos-RGB", "jpeg-round-trip", ...
        ok: whether it succeeded, without an exception.
        error: its exception; empty if there was none.
    """

    name: str
    ok: bool
    error: str = ""


@immutable
class Runtime:
    """The result of importing and using PIL with the target's interpreter.

    Attributes:
        imported: whether `PIL.Image` could be imported.
        error: the exception of the import; empty if it succeeded.
        signal: the signal that killed the subprocess ("SIGILL"); empty if none did.
        during: the operation during which the subprocess died or failed; empty if none.
        version: `PIL.__version__`; empty if the import failed.
        location: `PIL.__file__`; empty if the import failed.
        core: the file from which the core was loaded; empty if unknown.
        features: features of `PIL.features`, name to version ("" for a feature without a version).
        operations: the result of each operation, in order.
        mapped_by_import: files mapped into memory after the import, in the loader's order, each once.
        mapped: files mapped at the end, in the loader's order, each once; empty if the subprocess died before the end.
        is_as_program: whether PIL was searched for as in a program, rather than with `python -I`.
        shadow: another PIL that a program imports instead of the one in site-packages; None if there is none.
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


class ObstacleKind(StrEnum):
    """Reasons why the renames of a setup would fail."""

    LEADS_OUT = "leads-out"
    """A directory on the path is a link that leads out of the environment."""
    IN_THE_WAY = "in-the-way"
    """A file or a broken link is in the place of a required directory."""
    MOUNTED = "mounted"
    """Another filesystem is mounted on a directory that a setup would replace."""
    NOT_WRITABLE = "not-writable"
    """This user may not write to a required directory other than site-packages."""
    IMMUTABLE = "immutable"
    """The file has the flag "immutable" or "append only": chattr(1)."""
    NOEXEC = "noexec"
    """Nothing can be run or loaded from the filesystem."""


@immutable
class SetupObstacle:
    """A reason why a setup in an environment would fail, known before it starts.

    Attributes:
        kind: the reason.
        place: the path that it concerns.
        leads_to: the target of a link that leads out of the environment; empty for other kinds.
    """

    kind: ObstacleKind
    place: PurePath
    leads_to: str = ""


@immutable
class Facts:
    """All observations that decisions and checks may use.

    Attributes:
        environment: the target: its prefix, manager and interpreter.
        active: prefixes of the environments active in the shell, by variable (VIRTUAL_ENV, CONDA_PREFIX).
        tool_prefix: `sys.prefix` of fastinstall itself, which must not become the target by accident.
        writable: whether this user may write to site-packages and, in a conda environment, to `conda-meta`.
        obstacles: other reasons why a setup would fail.
        frozen: path of `conda-meta/frozen` if it protects the environment; else None.
        conda: conda's facts about the environment; None if it is not a conda environment.
        cpu: the processor of this machine, and its features.
        interpreter: the target's Python, as reported by its interpreter.
        distributions: all installed distributions with a metadata directory.
        stack: PIL in site-packages and the distributions that claim it.
        guard: whether the start-up guard is installed, and its problems.
        pins: fastinstall's pins, which stop tools from replacing the stack.
        interrupted: ID of a transaction of fastinstall that was neither finished nor undone; None if there is none.
        history: the record of fastinstall's changes, including leftovers of a killed run.
        linkage: the libraries that a process would load when it imports PIL; None if not requested.
        isa: CPU features that PIL's extension modules need; one item for each module and for each copy of the core.
        runtime: result of importing and using PIL; None if nothing was executed.
        toolchain: compiler and libraries of this machine; None if not requested.
        gpu: NVIDIA GPUs and the CUDA versions of frameworks; None if there is neither.
        loading: settings of memory allocation; None without an installed training framework.
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

        If `runtime` was observed with the sys.path of a program, it takes precedence over `interpreter`, which is based
        on files and variables. Only a PIL in the working directory is always taken from `interpreter`, because programs
        may be started in various directories.
        """
        known, runtime = self.interpreter.shadows, self.runtime
        if runtime is None or not runtime.is_as_program:
            return known
        here = tuple(shadow for shadow in known if shadow.source is ImportSource.WORKING_DIRECTORY)
        if runtime.shadow is None:
            return here
        location = runtime.shadow.location
        return *here, next((shadow for shadow in known if shadow.location == location), runtime.shadow)
