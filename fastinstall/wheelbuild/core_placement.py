"""Place cores in an official wheel: a single core is the module itself; several are loaded by a stub module.

The dynamic loader chooses among several cores. The stub module has no code, but needs a library: the core. The loader
looks for this library first in `glibc-hwcaps/LEVEL/` of the search path, best level of the CPU first, then in the
search path itself, which has the lowest level's core (ld.so(8), since glibc 2.33; an older glibc always takes this
core). A core's file name is derived from the inputs of its build, so that a process that loads two of our wheels does
not use the core of one for the other.
"""

from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.process import run
from fastinstall.core.values import immutable
from fastinstall.model.artefact import LevelTarget
from fastinstall.wheelbuild.base_wheel import BaseWheel, require_known_libraries
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.linking import location_flags

HWCAPS = "glibc-hwcaps"


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
        FailedError: the build has several levels, and the wheel has no library directory for them.
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
    first = CorePlacement(target=targets[0], path=beside / name, run_path="$ORIGIN", soname=name)
    higher = beside / HWCAPS
    further = (
        CorePlacement(target=each, path=higher / each.level / name, run_path="$ORIGIN/../..", soname=name)
        for each in targets[1:]
    )
    return (first, *further)


def place_cores(request: BuildRequest, base_wheel: BaseWheel, cores: dict[CorePlacement, Path]) -> None:
    """Copy the built cores to their places; with several cores, also write the stub module.

    Raises:
        FailedError: a core needs a library that it may not need, or has another search path than planned.
    """
    for placement, core in cores.items():
        require_known_libraries(base_wheel, core, placement.run_path)
        files.write_bytes(placement.path, core.read_bytes(), mode=0o755)
    if len(cores) > 1:
        _write_stub(request, base_wheel, next(iter(cores)))


def _write_stub(request: BuildRequest, base_wheel: BaseWheel, baseline: CorePlacement) -> None:
    bare = ("-shared", "-nostdlib", "-s", "-x", "c", "-", "-x", "none", "-o", str(base_wheel.core))
    wanted = ("-Wl,--no-as-needed", f"-L{baseline.path.parent}", f"-l:{baseline.path.name}")
    marks = ("-Wl,--allow-shlib-undefined", "-Wl,-z,noexecstack", "-Wl,--build-id")
    base_wheel.core.unlink()
    argv = (*request.compiler.command, *bare, *wanted, *location_flags(base_wheel.run_path), *marks)
    run(argv, environment=request.variables, stdin="\n")
    base_wheel.core.chmod(0o755)
