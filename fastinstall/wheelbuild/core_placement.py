"""Where the cores go in an official wheel: one is the module itself; several are loaded by a stub.

The dynamic loader chooses among several cores: it looks for the library that the empty module asks for in
`glibc-hwcaps/LEVEL/` below the search path first, taking the best level that the CPU has, and then beside it (ld.so(8),
since glibc 2.33; an older one takes the copy beside it). A process that loads two of our wheels must not take the first
one's core for the second's, so the name is derived from what decides the bytes.
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
        path: of the file.
        run_path: where it looks for libraries, relative to itself.
        soname: its own name, if the stub needs it; empty otherwise.
    """

    target: LevelTarget
    path: Path
    run_path: str
    soname: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """The linker's flags."""
        return location_flags(self.run_path, self.soname)


def plan_core_placements(request: BuildRequest, base_wheel: BaseWheel, key: str) -> tuple[CorePlacement, ...]:
    """Return the places of all cores of a build, the baseline's first.

    Args:
        base_wheel: the unpacked official wheel.
        key: a digest of everything that decides the bytes of the cores.

    Raises:
        FailedError: the wheel bundles no library, so there is no directory for several cores.
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
    """Place the built cores; with several, also the stub module without code.

    Raises:
        FailedError: a core needs a library that the official one does not need.
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
