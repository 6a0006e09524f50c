"""Find the user's conda, its version and its solver. conda is not run: that would take longer than all other probes."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import RefusedError
from fastinstall.core.surroundings import find_program, refuse_planted
from fastinstall.model.conda import CondaTool
from fastinstall.observe.conda.channels import read_settings

_RECORD = re.compile(r"conda-(\d[^-]*)-[^-]+\.json")


_VERSION = re.compile(r"""^__version__\s*(?::[^=]*)?=.*?(['"])(\d[^'"]*)\1""", re.MULTILINE)


_COMMAND = re.compile(r"^#\s*cmd:\s*(/[^\s\0]+)", re.MULTILINE)


_MODULE = re.compile(r"(/.*)/lib/python[^/]*/site-packages/conda/__main__\.py")


_SHEBANG = re.compile(rb"#![ \t]*(/[^\r\n]*?)[ \t]*\r?\n")


_SHELLS = ("/bin/sh", "/bin/bash", "/usr/bin/env")


_SOLVER = ("solver", "experimental_solver")


_LIBMAMBA_SINCE = (23, 10)


_SUGGESTED = "environment"


def find_conda(variables: Mapping[str, str], prefix: Path | None) -> CondaTool | None:
    """Find the user's conda: from CONDA_EXE, CONDA_PYTHON_EXE or PATH, else the conda that created an environment.

    Args:
        variables: the shell's environment variables.
        prefix: the environment, or None if it does not exist yet.

    Returns:
        The first conda that can be started, or None; mamba and micromamba do not count.

    Raises:
        RefusedError: a variable or PATH names a conda that another user could have put there.
    """
    for command, found_by in _list_conda_candidates(variables, prefix):
        try:
            refuse_planted(Path(command[0]), variables, "name a conda of your own: CONDA_EXE=/path/of/conda")
        except RefusedError:
            if found_by != _SUGGESTED:
                raise
            continue  # the user did not choose this path: try the next candidate
        root = _find_root(command, variables)
        version = _find_conda_version(root)
        solver = read_settings(_SOLVER, variables, prefix or root, root).read_word(*_SOLVER)
        if not solver and (parts := re.match(r"(\d+)\.(\d+)", version)) is not None:
            # The default of conda 4.13 to 26.7, from `DEFAULT_SOLVER` in conda's `base/constants.py`.
            solver = "libmamba" if (int(parts[1]), int(parts[2])) >= _LIBMAMBA_SINCE else "classic"
        return CondaTool(command=command, version=version, root=root, solver=solver, found_by=found_by)
    return None


def _list_conda_candidates(variables: Mapping[str, str], prefix: Path | None) -> Iterator[tuple[tuple[str, ...], str]]:
    executable, python = variables.get("CONDA_EXE", ""), variables.get("CONDA_PYTHON_EXE", "")
    on_path = find_program("conda", {**variables, "PATH": variables.get("PATH", "")}) or ""
    if _is_conda(executable):
        yield (str(Path(executable).absolute()),), "CONDA_EXE"
    if python and os.access(python, os.X_OK) and _find_conda_module(Path(python).parent.parent):
        yield (str(Path(python).absolute()), "-I", "-m", "conda"), "CONDA_PYTHON_EXE"
    if _is_conda(on_path):
        yield (str(Path(on_path).absolute()),), "PATH"
    for path in _list_suggested_commands(prefix) if prefix is not None else ():
        if _is_conda(str(path)):
            yield (str(path),), _SUGGESTED


def _list_suggested_commands(prefix: Path) -> Iterator[Path]:
    """Yield the paths of conda executables that may have created a prefix; some paths may not exist.

    1. If the prefix is in a directory `envs`: the executable in the environment that contains `envs`. 2. Executables
    that the prefix's history names. 3. The executable in the prefix itself.
    """
    if prefix.parent.name == "envs":
        yield prefix.parent.parent / "bin/conda"
    history = foreign.text_or_empty(prefix / "conda-meta/history")
    for command in dict.fromkeys(_COMMAND.findall(history)):
        module = _MODULE.fullmatch(command)
        if module is not None or Path(command).name in ("conda", "conda-env"):
            yield Path(module[1], "bin/conda") if module is not None else Path(command).with_name("conda")
    yield prefix / "bin/conda"


def _is_conda(path: str) -> bool:
    """Return whether a path leads to an executable other than mamba; if it is a script, its interpreter must exist."""
    resolved = Path(os.path.realpath(path))
    if not path or "mamba" in resolved.name or not resolved.is_file():
        return False
    interpreter = _read_shebang(resolved)
    return os.access(resolved, os.X_OK) and (interpreter is None or os.access(interpreter, os.X_OK))


def _read_shebang(script: Path) -> str | None:
    """Return the program that a script's first line names; None for a binary or an unreadable file."""
    try:
        with foreign.open_foreign_file(script) as stream:
            found = _SHEBANG.match(stream.read(4096))
    except OSError:
        return None
    return os.fsdecode(found[1]).partition(" ")[0] if found else None


def _find_root(command: tuple[str, ...], variables: Mapping[str, str]) -> Path:
    """Return the prefix that contains conda: that of conda's Python if known, else that of conda's executable."""
    script = Path(os.path.realpath(command[0]))
    pythons = (command[0] if len(command) > 1 else _read_shebang(script), variables.get("CONDA_PYTHON_EXE"))
    for python in pythons:
        if python and python not in _SHELLS and _find_conda_module(Path(python).parent.parent):
            return Path(python).absolute().parent.parent
    return script.parent.parent


def _find_conda_module(root: Path) -> Path | None:
    """Return the directory of the Python package `conda` in a prefix, or None if the prefix does not contain it."""
    return next((path for path in sorted(root.glob("lib/python3*/site-packages/conda")) if path.is_dir()), None)


def _find_conda_version(root: Path) -> str:
    """Return conda's version from its record in `conda-meta`, else from its `_version.py`; empty if unknown."""
    names = foreign.list_names(root / "conda-meta")
    recorded = [found[1] for name in names if (found := _RECORD.fullmatch(name))]
    if recorded:
        return recorded[-1]
    said = _VERSION.search(foreign.text_or_empty((_find_conda_module(root) or root) / "_version.py"))
    return said[2] if said else ""
