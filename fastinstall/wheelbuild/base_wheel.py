"""Use the official wheel as base: only Pillow's C extension is replaced, everything else in the wheel stays.

Therefore the official wheel and ours must have the same Python code, which is checked file by file. Our core is linked
against the libraries that the wheel bundles, by the names that the official core uses, so no file has to be edited.
DT_NEEDED shows which bundled libraries the modules need; libraries opened with dlopen are not considered.

A single core replaces the extension module. If there are several cores, the extension module is a stub without code,
which needs one library: the core. The loader looks for this library in the subdirectories `glibc-hwcaps/LEVEL/` of the
search path, starting with the best level that the CPU supports, and then in the search path itself, which contains the
core of the lowest level (ld.so(8), since glibc 2.33; an older glibc always loads the core of the lowest level). A
core's file name is derived from the inputs of its build, so that a process that loads two of our wheels does not use
the core of one for the other.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.archives import unpack_zip
from fastinstall.core.errors import FailedError
from fastinstall.core.process import run
from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.model.artefact import LevelTarget
from fastinstall.wheelbuild.build_inputs import BuildRequest

CORE = "_imaging"
VERSION_FILE = "_version.py"
BASELINE = frozenset(
    {
        *("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"),
        *(each.loader_name for each in ARCHITECTURES),
    }
)


@immutable
class BaseWheel:
    """An unpacked official wheel.

    Attributes:
        root: the directory that the wheel was unpacked into.
        package: the directory of the import package.
        core: path of the C extension.
        libraries: the directory of bundled libraries; None if the wheel bundles none.
        bundled: names of libraries that the official core needs and the wheel contains.
        host: names of libraries that the official core needs and the system provides.
    """

    root: Path
    filename: str
    package: Path
    core: Path
    libraries: Path | None
    bundled: tuple[str, ...]
    host: tuple[str, ...]

    def library(self, link: str) -> str | None:
        """Return the file name of the bundled library for a linker name ("jpeg"); None if there is none.

        Raises:
            FailedError: several libraries have that name.
        """
        # A file name may have auditwheel's hash and a version: libtiff-295fd75c.so.6.2.0
        file = re.compile(rf"lib{re.escape(link)}(-[0-9a-f]{{8,}})?\.so(\..*)?")
        found = [name for name in self.bundled if file.fullmatch(name)]
        if len(found) > 1:
            raise FailedError(f"{self.filename}: lib{link} is ambiguous: {', '.join(found)}")
        return found[0] if found else None

    @property
    def run_path(self) -> str:
        """The core's search path for bundled libraries, relative to the core; empty if the wheel bundles none."""
        return f"$ORIGIN/../{self.libraries.name}" if self.libraries is not None else ""


def open_base_wheel(wheel: Path, package: str, suffix: str, directory: Path) -> BaseWheel:
    """Unpack an official wheel and read the dependencies of its core.

    Args:
        package: name of the import package.
        suffix: file name suffix of the interpreter's extension modules.
        directory: an empty directory to unpack into.

    Raises:
        FailedError: the wheel has no core for this interpreter.
    """
    unpack_zip(wheel, directory)
    core = directory / package / f"{CORE}{suffix}"
    try:
        needed = read_dynamic(core).needed
    except (ElfError, OSError) as error:
        raise FailedError(f"{wheel.name}: cannot read {package}/{core.name}: {error}") from error
    libraries = next(iter(sorted(directory.glob("*.libs"))), None)
    bundled = tuple(name for name in needed if libraries is not None and (libraries / name).is_file())
    return BaseWheel(
        root=directory,
        filename=wheel.name,
        package=directory / package,
        core=core,
        libraries=libraries,
        bundled=bundled,
        host=tuple(name for name in needed if name not in bundled),
    )


def take_version(base_wheel: BaseWheel, built: Path) -> None:
    """Copy the version file of an unpacked built wheel into the base wheel, if both have the same Python code.

    Raises:
        FailedError: the Python code differs.
    """
    package = built / base_wheel.package.name
    official, own = _read_python_code(base_wheel.package), _read_python_code(package)
    different = sorted(name for name in official.keys() | own.keys() if official.get(name) != own.get(name))
    if different:
        raise FailedError(
            f"{base_wheel.filename} cannot carry this core: the Python code differs in {', '.join(different[:5])}",
            hint="choose another --version, or pass --link system to build without the official wheel",
            details=tuple(different),
        )
    files.write_bytes(base_wheel.package / VERSION_FILE, (package / VERSION_FILE).read_bytes())


def require_known_libraries(base_wheel: BaseWheel, core: Path, run_path: str) -> None:
    """Raise unless a core's search path is `run_path`, and the base wheel supplies every library that the core needs.

    The core may need only the libraries that the official core needs, and those of glibc.

    Raises:
        FailedError: the core needs another library, or has another search path.
    """
    dynamic = read_dynamic(core)
    foreign = sorted(set(dynamic.needed) - {*base_wheel.bundled, *base_wheel.host, *BASELINE})
    if foreign:
        raise FailedError(
            f"{core.name} needs {', '.join(foreign)}, which {base_wheel.filename} does not contain",
            hint="please report this bug with the build log",
        )
    if dynamic.runpath is not None or (dynamic.rpath or "") != run_path:
        found = dynamic.runpath or dynamic.rpath
        raise FailedError(f"{core.name} searches for libraries in {found!r}, expected {run_path!r}")


def _find_used_libraries(base_wheel: BaseWheel) -> dict[str, Path]:
    return find_reached_libraries(base_wheel.package.rglob("*.so"), base_wheel.libraries)


def _read_python_code(package: Path) -> dict[str, bytes]:
    code = (*package.rglob("*.py"), *package.rglob("*.pyi"))
    return {path.relative_to(package).as_posix(): path.read_bytes() for path in code if path != package / VERSION_FILE}


def find_reached_libraries(modules: Iterable[Path], libraries: Path | None) -> dict[str, Path]:
    """Return the paths of the bundled libraries that modules need, directly or indirectly, by file name."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting and libraries is not None:
        for name in read_dynamic(waiting.pop()).needed:
            if name not in found and (libraries / name).is_file():
                found[name] = libraries / name
                waiting.append(found[name])
    return found


@immutable
class CorePlacement:
    """The place of one core in a wheel.

    Attributes:
        path: path of the core.
        run_path: the directory in which the core looks for libraries, relative to the core.
        soname: the core's own name if the stub module links the core; empty otherwise.
    """

    target: LevelTarget
    path: Path
    run_path: str
    soname: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """Linker flags that set the core's search path and name."""
        return location_flags(self.run_path, self.soname)


def plan_core_placements(request: BuildRequest, base_wheel: BaseWheel, key: str) -> tuple[CorePlacement, ...]:
    """Return the places of all cores of a build, starting with the core of the lowest level.

    Args:
        base_wheel: the unpacked official wheel.
        key: digest of all inputs of the build.

    Raises:
        FailedError: the build has several levels, but the wheel has no library directory for their cores.
    """
    targets = request.step.targets
    if len(targets) == 1:
        return (CorePlacement(target=targets[0], path=base_wheel.core, run_path=base_wheel.run_path),)
    if base_wheel.libraries is None:
        raise FailedError(
            f"{base_wheel.filename} has no library directory, so it cannot carry several levels",
            hint=f"--level {targets[-1].level}",
        )
    name, beside = f"lib_imaging_core-{key[:8]}.so", base_wheel.libraries
    higher = beside / "glibc-hwcaps"
    return (
        CorePlacement(target=targets[0], path=beside / name, run_path="$ORIGIN", soname=name),
        *(
            CorePlacement(target=each, path=higher / each.level / name, run_path="$ORIGIN/../..", soname=name)
            for each in targets[1:]
        ),
    )


def place_cores(request: BuildRequest, base_wheel: BaseWheel, cores: dict[CorePlacement, Path]) -> None:
    """Copy the built cores to their places; with several cores, also write the stub module.

    Bundled libraries that no module needs any more are deleted: a core built without a codec does not need its library.

    Raises:
        FailedError: a core needs a library that the base wheel does not supply, or has another search path than
            planned.
    """
    before = _find_used_libraries(base_wheel)
    for placement, core in cores.items():
        require_known_libraries(base_wheel, core, placement.run_path)
        files.write_bytes(placement.path, core.read_bytes(), mode=0o755)
    if len(cores) > 1:
        _write_stub(request, base_wheel, next(iter(cores)))
    for name in before.keys() - _find_used_libraries(base_wheel).keys():
        files.discard(before[name])


def _write_stub(request: BuildRequest, base_wheel: BaseWheel, baseline: CorePlacement) -> None:
    bare = ("-shared", "-nostdlib", "-s", "-x", "c", "-", "-x", "none", "-o", str(base_wheel.core))
    wanted = ("-Wl,--no-as-needed", f"-L{baseline.path.parent}", f"-l:{baseline.path.name}")
    marks = ("-Wl,--allow-shlib-undefined", "-Wl,-z,noexecstack", "-Wl,--build-id")
    base_wheel.core.unlink()
    argv = (*request.compiler.command, *bare, *wanted, *location_flags(base_wheel.run_path), *marks)
    run(argv, environment=request.variables, stdin="\n")
    base_wheel.core.chmod(0o755)


def location_flags(run_path: str, soname: str = "") -> tuple[str, ...]:
    """Return linker flags that set a core's search path and name.

    Args:
        run_path: the directory in which the core looks for libraries, relative to the core; empty for no DT_RPATH.
        soname: the core's own name if another file links the core; empty otherwise.
    """
    search = (f"-Wl,--disable-new-dtags,-rpath,{run_path}",) if run_path else ()
    return (*search, f"-Wl,-soname,{soname}") if soname else search
