"""Where conda is, and what its files tell of it. It is not run: that takes longer than everything else together."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.model.conda import CondaTool
from fastinstall.probes.conda_condarc import observe_condarc, search_path
from fastinstall.system import foreign
from fastinstall.system.surroundings import find_program

_RECORD = re.compile(r"conda-(\d[^-]*)-[^-]+\.json")
_VERSION = re.compile(r"""^__version__\s*(?::[^=]*)?=.*?(['"])(\d[^'"]*)\1""", re.MULTILINE)
_COMMAND = re.compile(r"^#\s*cmd:\s*(/[^\s\0]+)", re.MULTILINE)
_MODULE = re.compile(r"(/.*)/lib/python[^/]*/site-packages/conda/__main__\.py")
_SHEBANG = re.compile(rb"#![ \t]*(/[^\r\n]*?)[ \t]*\r?\n")
_SHELLS = ("/bin/sh", "/bin/bash", "/usr/bin/env")
_SOLVER = ("solver", "experimental_solver")
_LIBMAMBA_SINCE = (23, 10)
_HERE = "environment"


def find_conda(variables: Mapping[str, str], prefix: Path | None) -> CondaTool | None:
    """The conda that a person means: of CONDA_EXE, CONDA_PYTHON_EXE or PATH, else the one that made an environment.

    Args:
        variables: the shell's environment variables.
        prefix: the environment, or None if it does not exist yet.

    Returns:
        None where there is none that could be started; mamba and micromamba are none.
    """
    for command, found_by in _candidates(variables, prefix):
        root = _root(command, variables)
        version = _version(root)
        solver = _configured_solver(variables, prefix, root) or _default_solver(version)
        return CondaTool(command=command, version=version, root=root, solver=solver, found_by=found_by)
    return None


def _candidates(variables: Mapping[str, str], prefix: Path | None) -> Iterator[tuple[tuple[str, ...], str]]:
    executable, python = variables.get("CONDA_EXE", ""), variables.get("CONDA_PYTHON_EXE", "")
    on_path = find_program("conda", {**variables, "PATH": variables.get("PATH", "")})
    if _is_conda(executable):
        yield (str(Path(executable).absolute()),), "CONDA_EXE"
    if python and os.access(python, os.X_OK) and _module(Path(python).parent.parent):
        yield (str(Path(python).absolute()), "-I", "-m", "conda"), "CONDA_PYTHON_EXE"
    if on_path and _is_conda(on_path):
        yield (str(Path(on_path).absolute()),), "PATH"
    for path in _suggested(prefix) if prefix is not None else ():
        if _is_conda(str(path)):
            yield (str(path),), _HERE


def _suggested(prefix: Path) -> Iterator[Path]:
    """Where the conda may be that made an environment: above its directory, in its history, in itself."""
    if prefix.parent.name == "envs":
        yield prefix.parent.parent / "bin/conda"
    try:
        history = foreign.read_text(prefix / "conda-meta/history", errors="replace")
    except OSError:
        history = ""
    for command in dict.fromkeys(_COMMAND.findall(history)):
        module = _MODULE.fullmatch(command)
        if module is not None or Path(command).name in ("conda", "conda-env"):
            yield Path(module[1], "bin/conda") if module is not None else Path(command).with_name("conda")
    yield prefix / "bin/conda"


def _is_conda(path: str) -> bool:
    """Whether a file can be started and is named conda; what its first line asks for has to be there too."""
    resolved = Path(os.path.realpath(path))
    if not path or "mamba" in resolved.name or not resolved.is_file():
        return False
    interpreter = _interpreter(resolved)
    return os.access(resolved, os.X_OK) and (interpreter is None or os.access(interpreter, os.X_OK))


def _interpreter(script: Path) -> str | None:
    """The program that a script's first line names; None of a binary, or where it cannot be read."""
    try:
        with foreign.opened(script) as stream:
            found = _SHEBANG.match(stream.read(4096))
    except OSError:
        return None
    return os.fsdecode(found[1]).partition(" ")[0] if found else None


def _root(command: tuple[str, ...], variables: Mapping[str, str]) -> Path:
    """The prefix that conda is installed in: its Python's, else the one that the file lies in."""
    script = Path(os.path.realpath(command[0]))
    pythons = (command[0] if len(command) > 1 else _interpreter(script), variables.get("CONDA_PYTHON_EXE"))
    for python in pythons:
        if python and python not in _SHELLS and _module(Path(python).parent.parent):
            return Path(python).absolute().parent.parent
    return script.parent.parent


def _module(root: Path) -> Path | None:
    """The package `conda` in a prefix."""
    return next((path for path in sorted(root.glob("lib/python3*/site-packages/conda")) if path.is_dir()), None)


def _version(root: Path) -> str:
    """Of conda, from its record; where it was installed without one, as it says itself; empty if unknown."""
    try:
        names = os.listdir(root / "conda-meta")  # noqa: PTH208 (names are what is compared)
    except OSError:
        names = []
    recorded = [found[1] for name in sorted(names) if (found := _RECORD.fullmatch(name))]
    if recorded:
        return recorded[-1]
    try:
        said = _VERSION.search(foreign.read_text((_module(root) or root).joinpath("_version.py")))
    except (OSError, ValueError):
        return ""
    return said[2] if said else ""


def _configured_solver(variables: Mapping[str, str], prefix: Path | None, root: Path) -> str:
    """The solver that a variable or a configuration file names; empty where none does."""
    files = (observe_condarc(file, _SOLVER, variables) for file in search_path(variables, prefix or root, root))
    found = [word for file in files if file is not None and (word := file.word(*_SOLVER)) is not None]
    final = next((word.text for word in found if word.flag == "final"), "")
    named = variables.get("CONDA_SOLVER") or variables.get("CONDA_EXPERIMENTAL_SOLVER") or ""
    return final or named or (found[-1].text if found else "")


def _default_solver(version: str) -> str:
    """What conda takes unasked. Source: `DEFAULT_SOLVER` in its `base/constants.py`, from 4.13 to 26.7."""
    parts = re.match(r"(\d+)\.(\d+)", version)
    if parts is None:
        return ""
    return "libmamba" if (int(parts[1]), int(parts[2])) >= _LIBMAMBA_SINCE else "classic"
