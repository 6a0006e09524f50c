"""Find an interpreter that a wheel could be built with."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import UndeterminedError
from fastinstall.core.foreign_code import find_stranger
from fastinstall.model.facts import Interpreter
from fastinstall.observe.interpreter import observe_interpreter

_ELF = b"\x7fELF"


def interpreter_with(
    abi: str, python: str, first: tuple[Path, ...], variables: Mapping[str, str]
) -> Interpreter | None:
    """Find a CPython with this ABI, or return None. Root never runs another user's interpreter.

    Args:
        abi: the ABI tag of its extension modules: "cp311".
        python: its minor version: "3.11".
        first: interpreters to ask before all others.
        variables: to find those on PATH, then those of pyenv and uv (PYENV_ROOT, XDG_DATA_HOME, HOME).
    """
    free_threaded = "t" if abi.endswith("t") else ""
    seen: set[str] = set()
    for candidate in (*first, *_list_interpreters(f"python{python}{free_threaded}", variables)):
        real = os.path.realpath(candidate)
        if real in seen or (candidate not in first and find_stranger(Path(real).parent.parent)):
            continue
        seen.add(real)
        try:
            found = observe_interpreter(candidate)
        except UndeterminedError:
            continue
        if found.abi == abi and found.implementation == "cpython":
            return found
    return None


def _list_interpreters(name: str, variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield programs, not scripts that start one and may refuse: pyenv's shims do."""
    home = Path(variables.get("HOME", "/"))
    candidates = [Path(place, name) for place in variables.get("PATH", "").split(os.pathsep) if place]
    versions = Path(variables.get("PYENV_ROOT") or home / ".pyenv", "versions")
    kept_by_uv = Path(variables.get("XDG_DATA_HOME") or home / ".local/share", "uv", "python")
    for root in (versions, kept_by_uv):
        candidates += sorted(root.glob(f"*/bin/{name}"))
    for file in candidates:
        with suppress(OSError), foreign.open_foreign_file(file) as stream:
            if stream.read(len(_ELF)) == _ELF and os.access(file, os.X_OK):
                yield file
