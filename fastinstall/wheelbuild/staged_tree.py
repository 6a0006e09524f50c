"""Read the core, the version and the build record of a staged wheel, which may have been built elsewhere."""

import re
from functools import partial
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import FailedError
from fastinstall.core.parsing import json_data
from fastinstall.elf.description import ImagingCore
from fastinstall.elf.imaging_core import read_core
from fastinstall.model.facts import Interpreter
from fastinstall.model.receipt import BuiltCore
from fastinstall.wheelbuild.wheel_files import PROVENANCE_FILE


def describe_core(stage: Path, interpreter: Interpreter, symbols: tuple[str, ...]) -> BuiltCore:
    """Return the description of a staged tree's core.

    If there is a copy of the core per CPU level, only SIMD symbols that all copies have are listed.

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
    """Raise FailedError if a copy of the core cannot be loaded: running PIL tests only the copy for this CPU."""
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
    """Return the kernels that were left out of a wheel; empty if the wheel has no valid build record.

    Args:
        stage: the staged tree.
        metadata: name of the wheel's `.dist-info` directory.
    """
    try:
        said = json_data(foreign.read_text(stage / metadata / PROVENANCE_FILE))
        return tuple(map(str, said["left_out"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ()
