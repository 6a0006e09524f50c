"""Observations of a target and of the machine; never requests.

A field that is None (or an empty tuple, if the docstring says so) was absent or not visible. `Runtime` is None if
nothing was executed: the static facts do not need it.
"""

from pathlib import PurePath

from fastinstall.core.values import immutable, published_as
from fastinstall.elf.cpu import Cpu
from fastinstall.elf.description import ImagingCore, IsaScan, Linkage
from fastinstall.model.conda import Conda
from fastinstall.model.environment import Environment
from fastinstall.model.gpu import Gpu
from fastinstall.model.guard_state import GuardState
from fastinstall.model.history import EnvironmentHistory
from fastinstall.model.pin_state import PinState
from fastinstall.model.toolchain import Toolchain


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
    """

    executable: PurePath
    implementation: str
    version: str
    abi: str
    platform: str
    libc: str
    libc_version: str
    free_threaded: bool
    extension_suffix: str
    prefix: PurePath
    base_prefix: PurePath
    site_packages: PurePath
    include: PurePath
    has_headers: bool
    cflags: str = ""
    externally_managed: PurePath | None = None
    pip_version: str | None = None

    @property
    def machine(self) -> str:
        """The machines that it runs on, as their kernels name them: "x86_64" of "linux-x86_64"."""
        return self.platform.partition("-")[2]


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


@immutable
class Dependant:
    """An installed distribution that requires one that we would replace.

    Attributes:
        name: the distribution that requires it.
        requirement: its requirement, as written in its metadata ("pillow>=8.3.2").
        version: of the distribution that requires it; empty if unknown.
    """

    name: str
    requirement: str
    version: str = ""

    @property
    def sentence(self) -> str:
        """A sentence for people: "gradio 5.49.1 requires pillow<13"."""
        return f"{f'{self.name} {self.version}'.strip()} requires {self.requirement}"


@published_as("Stack")
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


@immutable
class LoadingFacts:
    """How a program that loads images gets memory.

    Attributes:
        huge_pages: the kernel's setting of transparent huge pages: "always", "madvise", "never"; empty if unknown.
        tunables: GLIBC_TUNABLES, as the target's programs receive it.
    """

    huge_pages: str = ""
    tunables: str = ""


@immutable
class Facts:
    """Everything that a decision or a check may use.

    Attributes:
        environment: the target: its prefix, manager and interpreter.
        active: the prefixes that the shell says are active, by variable (VIRTUAL_ENV, CONDA_PREFIX).
        tool_prefix: `sys.prefix` of fastinstall itself, which is never the target by accident.
        writable: whether this user may write to the target's site-packages.
        frozen: `conda-meta/frozen`, if it protects the environment.
        conda: conda's facts about the environment; None if it is not a conda environment.
        cpu: the processor of this machine, and its features.
        interpreter: the target's Python, from its own answer.
        distributions: everything installed there that has a metadata directory.
        stack: PIL in site-packages and the distributions that claim it.
        guard: whether the start-up guard is installed, and its problems.
        pins: our pins that stop tools from replacing the stack.
        interrupted: the identifier of our transaction that neither finished nor was undone.
        past: the record of our changes, including leftovers of a killed run.
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
    frozen: PurePath | None = None
    conda: Conda | None = None
    cpu: Cpu
    interpreter: Interpreter
    distributions: tuple[Distribution, ...]
    stack: InstalledStack
    guard: GuardState
    pins: tuple[PinState, ...] = ()
    interrupted: str | None = None
    past: EnvironmentHistory = EnvironmentHistory()
    linkage: Linkage | None = None
    isa: tuple[IsaScan, ...] = ()
    runtime: Runtime | None = None
    toolchain: Toolchain | None = None
    gpu: Gpu | None = None
    loading: LoadingFacts | None = None
