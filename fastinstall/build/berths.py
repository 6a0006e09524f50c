"""Where the cores of a wheel lie: one as the module itself, or several behind a module that holds no code.

The dynamic loader chooses among several: it looks for the library that the empty module asks for in
`glibc-hwcaps/LEVEL/` below the search path first, the best level that the CPU has, and then beside it
(ld.so(8), since glibc 2.33; an older one takes the copy beside it). A process that loads two of our
wheels must not take the first one's core for the second's, so the name is made of what decides the bytes.
"""

from pathlib import Path

from fastinstall.build.chassis import Chassis, require_known_libraries
from fastinstall.build.linking import Place
from fastinstall.build.request import BuildRequest
from fastinstall.errors import FailedError
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import Target
from fastinstall.system import files
from fastinstall.system.process import run

HWCAPS = "glibc-hwcaps"


@immutable
class Berth:
    """The place of one core in a wheel.

    Attributes:
        target: the level that it is for.
        path: where the file lies.
        place: what the linker must know of it.
    """

    target: Target
    path: Path
    place: Place


def berths(request: BuildRequest, chassis: Chassis, key: str) -> tuple[Berth, ...]:
    """The places of all cores of a build, the baseline's first.

    Args:
        request: the build.
        chassis: the unpacked official wheel.
        key: a digest of everything that decides the bytes of the cores.

    Raises:
        FailedError: the wheel bundles no library, so that there is no place beside them.
    """
    targets = request.step.targets
    if len(targets) == 1:
        return (Berth(target=targets[0], path=chassis.core, place=Place(run_path=chassis.run_path)),)
    if chassis.libraries is None:
        raise FailedError(
            f"{chassis.filename} has no directory of libraries, so it cannot carry several levels",
            hint=f"--level {targets[-1].level}",
        )
    name, beside = f"lib_imaging_core-{key[:8]}.so", chassis.libraries
    first = Berth(target=targets[0], path=beside / name, place=Place(run_path="$ORIGIN", soname=name))
    higher = Place(run_path="$ORIGIN/../..", soname=name)
    further = (Berth(target=each, path=beside / HWCAPS / each.level / name, place=higher) for each in targets[1:])
    return (first, *further)


def moor(request: BuildRequest, chassis: Chassis, cores: dict[Berth, Path]) -> None:
    """Place the built cores; before several of them, the module that holds no code.

    Raises:
        FailedError: a core asks for a library that the official one does not ask for.
    """
    for berth, core in cores.items():
        require_known_libraries(chassis, core, berth.place.run_path)
        files.write_bytes(berth.path, core.read_bytes(), mode=0o755)
    if len(cores) > 1:
        _write_stub(request, chassis, next(iter(cores)))


def _write_stub(request: BuildRequest, chassis: Chassis, baseline: Berth) -> None:
    place = Place(run_path=chassis.run_path)
    bare = ("-shared", "-nostdlib", "-s", "-x", "c", "-", "-x", "none", "-o", str(chassis.core))
    wanted = ("-Wl,--no-as-needed", f"-L{baseline.path.parent}", f"-l:{baseline.path.name}")
    marks = ("-Wl,--allow-shlib-undefined", "-Wl,-z,noexecstack", "-Wl,--build-id")
    chassis.core.unlink()
    argv = (*request.compiler.command, *bare, *wanted, *place.flags, *marks)
    run(argv, environment=request.variables, stdin="\n")
    chassis.core.chmod(0o755)
