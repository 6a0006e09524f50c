"""Install wheels as pip would, but into other directories; compile and describe a staged stack.

A staged wheel may have been built elsewhere: its core, its version and its build record are read from the staged tree.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

from fastinstall.core import foreign, process
from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.errors import FailedError
from fastinstall.core.parsing import json_data
from fastinstall.elf.description import ImagingCore
from fastinstall.elf.imaging_core import read_core
from fastinstall.index.wheelhouse import require_stack_alone
from fastinstall.model.facts import Interpreter
from fastinstall.model.receipt import BuiltCore
from fastinstall.wheelbuild.wheel_files import PROVENANCE_FILE

INSTALLER = b"fastinstall\n"


_WORTH_A_POOL, _MOST_WORKERS = 3, 8
"""The least number of CPUs for which bytecode is compiled in parallel, and the greatest number of processes."""


def stage_wheel(wheel: Path, stage: Path, interpreter: Interpreter, ours: str = "") -> str:
    """Install a wheel into `stage` instead of site-packages, without bytecode, which `compile_meanwhile` adds.

    Args:
        stage: an empty directory on the target's filesystem.
        ours: SHA-256 of the wheel if fastinstall itself packed it, for `require_stack_alone`; empty for other wheels.

    Returns:
        The name of the wheel's `.dist-info` directory.

    Raises:
        FailedError: the wheel is damaged, or has files that are not part of PIL.
    """
    require_stack_alone(wheel, ours=ours)
    schemes = {"purelib": stage, "platlib": stage}  # the check above refuses wheels with other schemes
    return install_wheel(wheel, schemes, interpreter, INSTALLER)


def install_wheel(
    wheel: Path, schemes: Mapping[str, Path], interpreter: Interpreter, installer: bytes | None = None
) -> str:
    """Install a wheel as pip would, but into other directories.

    Args:
        schemes: directory for each installation scheme key that the wheel uses ("purelib", "scripts").
        interpreter: the interpreter that runs the wheel's programs.
        installer: content of the INSTALLER file; None for no such file.

    Returns:
        The name of the wheel's `.dist-info` directory.

    Raises:
        FailedError: the wheel is damaged.
    """
    from installer import destinations, exceptions, install, sources  # needed only for an installation

    places = {name: str(directory) for name, directory in schemes.items()}
    destination = destinations.SchemeDictionaryDestination(
        places, interpreter=str(interpreter.executable), script_kind="posix"
    )
    try:
        with sources.WheelFile.open(wheel) as source:
            install(source, destination, additional_metadata={"INSTALLER": installer} if installer else {})
            return source.dist_info_dir
    except (exceptions.InstallerError, BadZipFile, ValueError) as error:
        raise FailedError(f"{wheel}: damaged: {error}", hint="remove it and run the same command again") from error


@contextmanager
def compile_meanwhile(stage: Path, interpreter: Interpreter) -> Iterator[None]:
    """Compile bytecode with the target's interpreter while the block runs; at its end, wait for the compiler."""
    compiling = RunningProbe(partial(_compile_bytecode, stage, interpreter))
    try:
        yield
    finally:
        compiling.result()


def _compile_bytecode(stage: Path, interpreter: Interpreter) -> None:
    """Compile bytecode with the paths that the files will have in site-packages, not their paths in the stage."""
    granted = len(os.sched_getaffinity(0))
    # On one or two CPUs, a pool costs more time than it saves (0.15 s).
    workers = min(granted, _MOST_WORKERS) if granted >= _WORTH_A_POOL else 1
    compiler = (interpreter.executable, "-I", "-S", "-m", "compileall", "-q", "-j", str(workers))
    minor = tuple(int(part) for part in interpreter.version.split(".")[:2])
    paths = ("-s", stage, "-p", interpreter.site_packages) if minor >= (3, 9) else ("-d", interpreter.site_packages)
    process.run((*compiler, *map(str, paths), str(stage)), timeout=120, while_working=True)


def describe_core(stage: Path, interpreter: Interpreter, symbols: tuple[str, ...]) -> BuiltCore:
    """Return the description of a staged tree's core.

    If there are several copies of the core, one per CPU level, only SIMD symbols that all copies have are listed.

    Raises:
        FailedError: the tree has no core for this interpreter, or the core or a copy of it cannot be read or loaded.
    """
    relative = f"PIL/_imaging{interpreter.extension_suffix}"
    if not (stage / relative).is_file():
        raise FailedError(f"the wheel has no {relative}", hint="it was built for another Python")
    read = partial(read_core, stage / relative, symbols, main=interpreter.executable)
    core = read(hwcaps=())
    _refuse_unusable(relative, core)
    for copy in core.levels[1:]:
        _refuse_unusable(relative, read(hwcaps=(copy.level,)))
    everywhere = [symbol for symbol in core.simd_symbols if all(symbol in copy.simd_symbols for copy in core.levels)]
    return BuiltCore(
        path=relative, size=core.size, mtime_ns=core.mtime_ns, sha256=core.sha256, simd_symbols=tuple(everywhere)
    )


def _refuse_unusable(relative: str, core: ImagingCore) -> None:
    """Raise FailedError if a copy of the core cannot be loaded.

    Running PIL is not enough to find this out: it loads only the copy for this machine's CPU.
    """
    problems = [f"{copy.path.name} for {copy.level}: {copy.problem}" for copy in core.levels if copy.problem]
    if problems or not core.readable:
        raise FailedError(f"{relative}: {problems[0] if problems else core.problem}", details=tuple(problems))
    lost = [library.soname for library in core.libraries if library.path is None]
    if core.levels and lost:
        level = next(copy.level for copy in core.levels if copy.loaded)
        raise FailedError(f"{relative}: its copy for {level} would not find {', '.join(lost)}")


def stack_version(stage: Path) -> str:
    """Return the version in `PIL/_version.py` of a staged tree.

    Raises:
        FailedError: the file has no version.
    """
    text = foreign.read_text(stage / "PIL" / "_version.py")
    found = re.search(r"""^__version__ = ["'](.+?)["']""", text, re.MULTILINE)
    if found is None:
        raise FailedError("PIL/_version.py of the wheel names no version")
    return found[1]


def read_left_out(stage: Path, metadata: str) -> tuple[str, ...]:
    """Return the names of the kernels that a wheel's build left out; empty if the wheel has no valid build record.

    Args:
        stage: the staged tree.
        metadata: name of the wheel's `.dist-info` directory.
    """
    try:
        said = json_data(foreign.read_text(stage / metadata / PROVENANCE_FILE))
        return tuple(map(str, said["left_out"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ()
