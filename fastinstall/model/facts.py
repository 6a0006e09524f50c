"""What was observed of a target and of the machine; never what was requested.

A field that is None (or an empty tuple, where the docstring says so) was not there or could not be seen. `Runtime` is
None if nothing was executed: the static facts stand without it.

Processes that use PIL are described by the files that they have mapped, which tell the PIL they run, and by where one
died.

Among what is observed are pins of environments and projects, and the guard's events and cost.
"""

from collections.abc import Collection
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable, published_as
from fastinstall.elf.description import Binding, Cpu, ImagingCore, IsaScan, Linkage, LoadedLibrary
from fastinstall.model.conda import Conda
from fastinstall.model.history import EnvironmentHistory
from fastinstall.model.machine import Gpu, Toolchain
from fastinstall.model.request import Environment


class PinKind(StrEnum):
    """A pin that the environment's own configuration holds; that of a project bears the name of the project's tool."""

    PIP = "pip"
    CONDA = "conda"


@immutable
class PinState:
    """A pin of ours, as it lies there.

    Attributes:
        kind: whose configuration it is in: a `PinKind`, or the name of a project's tool ("uv").
        file: that bears it, absolute.
        requirement: what it holds to ("pillow==13.0.0+simd.v2.v3", "pillow * simd_*").
        problems: what is wrong with it (the wheel is gone, the line was altered, another build is in place).
    """

    kind: str
    file: PurePath
    requirement: str
    problems: tuple[str, ...] = ()


@immutable
class Project:
    """A directory whose manifest a tool makes environments of.

    Attributes:
        directory: absolute.
        manager: the name of the tool ("uv").
        manifest: the file that people write ("pyproject.toml", "pixi.toml"), absolute.
        lock: the file that the tool writes, absolute; None if there is none yet.
        sync: the command by which the tool makes the environment ("uv sync").
    """

    directory: PurePath
    manager: str
    manifest: PurePath
    lock: PurePath | None = None
    sync: str = ""


@immutable
class GuardEvent:
    """Something that the start-up guard has told.

    Attributes:
        at: when it was told, ISO 8601, UTC.
        change: what became of the stack ("was replaced with Pillow 13.0.0").
        tool: who did it ("pip", "uv"); empty if nothing told.
        stack: what was in place before ("12.1.1+simd.v3", as the guard knows it).
        found: the version that is there now; empty if there is none.
    """

    at: str
    change: str
    tool: str = ""
    stack: str = ""
    found: str = ""


@immutable
class GuardCost:
    """What the start-up guard costs at each start of an interpreter, measured there.

    Attributes:
        median_us: microseconds, the median of the starts.
        start_ms: milliseconds that a whole start takes without it, the median.
        starts: how many were measured.
    """

    median_us: float
    start_ms: float
    starts: int


_ROOT = PurePath("/")


@immutable
class Fault:
    """The instruction at which a signal killed a process.

    Attributes:
        file: the mapped file that holds it; None if it lies outside of every file.
        offset: of the instruction in that file, in bytes.
        code: its first bytes (up to 15), hexadecimal.
        instruction: disassembled ("vpmovzxbw ymm0,[rsi]"); empty without the extra `isa`.
        features: the CPU features that it needs, as in /proc/cpuinfo; empty if that could not be told.
        truncated: mapped files that end before what is mapped of them, at a SIGBUS; those of PIL's first.
    """

    file: PurePath | None
    offset: int
    code: str
    instruction: str = ""
    features: tuple[str, ...] = ()
    truncated: tuple[PurePath, ...] = ()


@immutable
class LiveProcess:
    """A process that runs already, as /proc shows it.

    Attributes:
        pid: its number.
        command: its argv, for people.
        executable: what it runs.
        mapped: its program and the shared objects that it has mapped, in order of their addresses' first appearance,
            each once. The kernel names them, without symbolic links.
        replaced: those of them whose file on disk is another one by now, or gone.
        library_path: LD_LIBRARY_PATH of its environment; empty if unset.
        preload: LD_PRELOAD of its environment; empty if unset.
        tunables: GLIBC_TUNABLES of its environment; empty if unset.
        bindings: how the libjpeg functions that PIL's files call are really bound, as its memory says.
        libjpegs: the libraries of these bindings, as far as they are some.
        unread: why its memory was not read; empty if it was.
        root: the directory below which its files are found: "/", or "/proc/PID/root" for one that has a file system of
            its own, as in a container. All paths here are as the process has them.
    """

    pid: int
    command: tuple[str, ...]
    executable: PurePath
    mapped: tuple[PurePath, ...]
    replaced: tuple[PurePath, ...] = ()
    library_path: str = ""
    preload: str = ""
    tunables: str = ""
    bindings: tuple[Binding, ...] = ()
    libjpegs: tuple[LoadedLibrary, ...] = ()
    unread: str = ""
    root: PurePath = _ROOT

    @property
    def taken(self) -> tuple[Binding, ...]:
        """The bindings to another library than the one that is asked for, those of the core first."""
        crossed = (binding for binding in self.bindings if binding.is_crossed)
        return tuple(sorted(crossed, key=lambda binding: "_imaging" not in binding.user.name))


@immutable
class Interpreter:
    """The target's Python, as it answered itself.

    Attributes:
        executable: `sys.executable` of the target.
        implementation: "cpython", "pypy".
        version: "3.11.7".
        abi: the ABI tag of its extension modules (PEP 425): "cp311", "cp313t".
        platform: `sysconfig.get_platform()`: "linux-x86_64".
        libc: "glibc" or "musl"; empty if unknown.
        libc_version: "2.36"; empty if unknown.
        free_threaded: built without the global interpreter lock (PEP 703).
        extension_suffix: ".cpython-311-x86_64-linux-gnu.so".
        prefix: `sys.prefix`.
        base_prefix: `sys.base_prefix`; differs from `prefix` in a virtual environment.
        site_packages: the directory that platform-dependent distributions are installed to.
        include: the directory that should hold Python.h.
        has_headers: whether Python.h is there.
        cflags: the interpreter's own CFLAGS (sysconfig), for provenance.
        externally_managed: the marker file of PEP 668, where it applies to this target.
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


@immutable
class Distribution:
    """An installed distribution, by its metadata directory.

    Attributes:
        name: normalised (PEP 503).
        version: as its METADATA says.
        metadata: the name of its `.dist-info` directory in site-packages.
        installer: content of INSTALLER ("pip", "uv", "conda", "fastinstall"); empty if there is none.
        requested: whether REQUESTED is there (PEP 376); what that says depends on the tool, see `rules.intent`.
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
        distribution: which one.
        installed_at: when its metadata was written, ISO 8601 in UTC, to the second.
        has_record: False if RECORD is missing; then nothing can be compared.
        recorded_core: the digest that RECORD gives for `PIL/_imaging*.so` ("sha256=..."), if any.
        entries: the top-level names in site-packages that hold its files ("PIL", "pillow.libs", ...),
            its own `.dist-info` included.
        outside: recorded files that lie outside site-packages (scripts), relative to it.
        files: how many files it records.
        mismatched: recorded files whose size or hash differs on disk.
        missing: recorded files that are not on disk (bytecode aside).
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
        """For people: "gradio 5.49.1 requires pillow<13"."""
        return f"{f'{self.name} {self.version}'.strip()} requires {self.requirement}"


@published_as("Stack")
@immutable
class InstalledStack:
    """PIL as it lies in site-packages, from files alone.

    Attributes:
        directory: `site-packages/PIL`; None if there is none.
        has_init: whether `PIL/__init__.py` is there (else PIL is a namespace package).
        version: what `PIL/_version.py` says; None if it is missing or unreadable.
        core: the imaging core for this interpreter's ABI; None if it is missing.
        foreign_cores: `_imaging` files of another ABI.
        owners: distributions that claim files of PIL.
        unclaimed: files below `PIL/` that no RECORD names (bytecode aside).
        debris: left-overs of an interrupted installer (`~IL`, `~illow-...`).
        dependants: who requires what we would replace.
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
    """What one real operation did in a subprocess of the target.

    Attributes:
        name: "resize-lanczos-RGB", "jpeg-round-trip", ...
        ok: whether it ran.
        error: its exception, if it did not.
    """

    name: str
    ok: bool
    error: str = ""


@immutable
class Runtime:
    """What happened when the target's own interpreter imported and used PIL.

    Attributes:
        imported: whether `PIL.Image` could be imported.
        error: the exception of the import; empty if it worked.
        signal: the signal that killed the subprocess ("SIGILL"); empty if none did.
        during: the operation that was running when it died or failed; empty if none.
        version: `PIL.__version__`.
        location: `PIL.__file__`.
        core: the file that really holds the running core's code; empty if it could not be told.
        features: what `PIL.features` says was compiled in: name to version ("" where it has none).
        operations: each operation's result, in order.
        mapped_by_import: files that were mapped after the import, in the loader's order, each once.
        mapped: files that were mapped at the end, likewise; empty if it died before.
        fault: where the signal struck; None if none did, or if it could not be told.
        kept_bytes: memory that the core kept for the next image in the end; None if it keeps none.
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
    fault: Fault | None = None
    kept_bytes: int | None = None


@immutable
class GuardState:
    """The start-up guard as it lies in site-packages.

    Attributes:
        installed: whether any of its files is there.
        version: of the hook; empty if unknown.
        problems: what is wrong with it (missing, altered, not compiled, outdated, state differs).
    """

    installed: bool
    version: str = ""
    problems: tuple[str, ...] = ()


@immutable
class LoadingFacts:
    """How memory is handed out to a program that loads images.

    Attributes:
        huge_pages: the kernel's word on transparent huge pages: "always", "madvise", "never"; empty if unknown.
        tunables: GLIBC_TUNABLES, as the target's programs get it.
    """

    huge_pages: str = ""
    tunables: str = ""


@immutable
class Facts:
    """Everything that a decision or a check may look at.

    Attributes:
        environment: the target.
        active: the prefixes that the shell says are active, by variable (VIRTUAL_ENV, CONDA_PREFIX).
        tool_prefix: `sys.prefix` of fastinstall itself, which is never the target by accident.
        writable: whether this user may write to the target's site-packages.
        frozen: `conda-meta/frozen`, where the environment is protected by it.
        conda: what conda knows of the environment; None if it is none of conda's.
        cpu: the processor.
        interpreter: the target's Python.
        distributions: everything installed there.
        stack: PIL in place.
        guard: the start-up guard.
        pins: those of ours that keep tools from replacing the stack.
        interrupted: the identifier of a transaction of ours that neither finished nor was undone.
        past: what is on record of our changes, what a dead run left of them included.
        linkage: what a process that imports PIL would load; None if it was not asked for.
        isa: what the code of PIL's extension modules asks of a CPU, the core's copies included.
        runtime: None if nothing was executed.
        process: a process that runs already, where one was named.
        toolchain: None if it was not asked for.
        gpu: GPUs of NVIDIA's and what frameworks were built for; None if there is neither.
        loading: how memory is handed out; None if nothing is installed that trains on images.
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
    process: LiveProcess | None = None
    toolchain: Toolchain | None = None
    gpu: Gpu | None = None
    loading: LoadingFacts | None = None


_PACKAGE, _LIBRARIES = "PIL", "pillow.libs"
_CORES = ("_imaging.", "lib_imaging_core-")


def running_core(mapped: Collection[PurePath]) -> PurePath | None:
    """Return the file that holds a process's imaging core, or None if none is mapped.

    Where a core has copies for several CPU levels, the module in `PIL/` is an empty stub, and the copy counts.
    """
    found = [path for path in mapped if path.name.startswith(_CORES) and packages_of(path) is not None]
    return max(found, key=lambda path: path.name.startswith(_CORES[1]), default=None)


def packages_of(path: PurePath) -> PurePath | None:
    """Give the directory of packages that a file of PIL's or of its libraries lies in; None for any other file."""
    holders = (parent for parent in path.parents if parent.name in {_PACKAGE, _LIBRARIES})
    return next((holder.parent for holder in holders), None)
