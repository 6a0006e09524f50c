"""Unpack a wheel into a staging directory as an installer would, with bytecode for the target."""

import os
import re
from functools import partial
from pathlib import Path

from fastinstall.binary.core import read_core
from fastinstall.errors import FailedError
from fastinstall.installers.sound_wheel import require_stack_alone
from fastinstall.model.core import Core
from fastinstall.model.facts import Interpreter
from fastinstall.model.receipt import BuiltCore
from fastinstall.system import foreign, process

INSTALLER = b"fastinstall\n"
_STRIPS_PATHS = (3, 9)
_WORTH_A_POOL, _MOST_WORKERS = 3, 8
"""CPUs."""


def stage_wheel(wheel: Path, stage: Path, interpreter: Interpreter) -> str:
    """Install a wheel into `stage` instead of site-packages.

    Args:
        wheel: the file.
        stage: an empty directory on the target's filesystem.
        interpreter: whose bytecode is compiled.

    Returns:
        The name of its `.dist-info` directory.

    Raises:
        FailedError: the wheel is not whole, or brings something that is no part of PIL.
    """
    require_stack_alone(wheel)
    from installer import install  # noqa: PLC0415 (only a setup stages)
    from installer.destinations import SchemeDictionaryDestination  # noqa: PLC0415
    from installer.exceptions import InstallerError  # noqa: PLC0415
    from installer.sources import WheelFile  # noqa: PLC0415

    destination = SchemeDictionaryDestination(
        {"purelib": str(stage), "platlib": str(stage)},  # all that is let through above
        interpreter=str(interpreter.executable),
        script_kind="posix",
    )
    try:
        with WheelFile.open(wheel) as source:
            install(source, destination, additional_metadata={"INSTALLER": INSTALLER})
            metadata = source.dist_info_dir
    except InstallerError as error:
        raise FailedError(
            f"{wheel}: not a whole wheel: {error}", hint="remove it and run the same command again"
        ) from error
    compile_bytecode(stage, interpreter)
    return metadata


def compile_bytecode(stage: Path, interpreter: Interpreter) -> None:
    """Write bytecode as the target's interpreter would, with the paths that it will have there."""
    compiler = (interpreter.executable, "-I", "-S", "-m", "compileall", "-q", "-j", str(_workers()))
    minor = tuple(int(part) for part in interpreter.version.split(".")[:2])
    paths = (
        ("-s", stage, "-p", interpreter.site_packages) if minor >= _STRIPS_PATHS else ("-d", interpreter.site_packages)
    )
    process.run((*compiler, *map(str, paths), str(stage)), timeout=120)


def _workers() -> int:
    """How many processes compile: a pool costs 0.15 s of CPU, which two CPUs do not win back (measured)."""
    granted = len(os.sched_getaffinity(0))
    return min(granted, _MOST_WORKERS) if granted >= _WORTH_A_POOL else 1


def describe_core(stage: Path, interpreter: Interpreter, symbols: tuple[str, ...]) -> BuiltCore:
    """The imaging core of a staged tree; of one with a copy per CPU level, what all copies have.

    Raises:
        FailedError: there is none for this interpreter, it cannot be read, or a copy of it could not be loaded.
    """
    relative = f"PIL/_imaging{interpreter.extension_suffix}"
    if not (stage / relative).is_file():
        raise FailedError(f"the wheel has no {relative}", hint="it was built for another Python")
    read = partial(read_core, stage / relative, symbols, main=Path(interpreter.executable))
    core = read(hwcaps=())
    _refuse_unusable(relative, core)
    for copy in core.levels[1:]:
        _refuse_unusable(relative, read(hwcaps=(copy.level,)))
    everywhere = [symbol for symbol in core.simd_symbols if all(symbol in copy.simd_symbols for copy in core.levels)]
    return BuiltCore(
        path=relative,
        size=core.size,
        mtime_ns=core.mtime_ns,
        sha256=core.sha256,
        simd_symbols=tuple(everywhere),
    )


def _refuse_unusable(relative: str, core: Core) -> None:
    """Refuse a core that this or another CPU could not load: nothing that runs here shows the others."""
    problems = [f"{copy.path.name} for {copy.level}: {copy.problem}" for copy in core.levels if copy.problem]
    if problems or not core.readable:
        raise FailedError(f"{relative}: {problems[0] if problems else core.problem}", details=tuple(problems))
    lost = [library.soname for library in core.libraries if library.path is None]
    if core.levels and lost:
        level = next(copy.level for copy in core.levels if copy.loaded)
        raise FailedError(f"{relative}: its copy for {level} would not find {', '.join(lost)}")


def stack_version(stage: Path) -> str:
    """What `PIL/_version.py` of a staged tree says.

    Raises:
        FailedError: it says nothing.
    """
    text = foreign.read_text(stage / "PIL" / "_version.py")
    found = re.search(r"""^__version__ = ["'](.+?)["']""", text, re.MULTILINE)
    if found is None:
        raise FailedError("PIL/_version.py of the wheel names no version")
    return found[1]
