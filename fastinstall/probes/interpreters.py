"""The interpreters of this machine that a wheel could be built with: found by name, then asked what they are."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.errors import UndeterminedError
from fastinstall.model.facts import Interpreter
from fastinstall.probes.interpreter import observe_interpreter
from fastinstall.system import foreign
from fastinstall.system.surroundings import stranger_in

_ELF = b"\x7fELF"


def interpreter_with(
    abi: str, python: str, first: tuple[Path, ...], variables: Mapping[str, str]
) -> Interpreter | None:
    """Find a CPython with this ABI, or return None. Root never runs another user's interpreter.

    Args:
        abi: the ABI tag that its extension modules have: "cp311".
        python: its version, by which it is looked up: "3.11".
        first: interpreters that are asked before all others.
        variables: those on PATH come first, then those that pyenv and uv keep (PYENV_ROOT, XDG_DATA_HOME, HOME).
    """
    free_threaded = "t" if abi.endswith("t") else ""
    seen: set[str] = set()
    for candidate in (*first, *_candidates(f"python{python}{free_threaded}", variables)):
        real = os.path.realpath(candidate)
        if real in seen or (candidate not in first and stranger_in(Path(real).parent.parent)):
            continue
        seen.add(real)
        try:
            found = observe_interpreter(candidate)
        except UndeterminedError:
            continue
        if found.abi == abi and found.implementation == "cpython":
            return found
    return None


def _candidates(name: str, variables: Mapping[str, str]) -> Iterator[Path]:
    for directory in filter(None, variables.get("PATH", "").split(os.pathsep)):
        yield from _executable(Path(directory, name))
    home = Path(variables.get("HOME", "/"))
    versions = Path(variables.get("PYENV_ROOT") or home / ".pyenv", "versions")
    kept_by_uv = Path(variables.get("XDG_DATA_HOME") or home / ".local/share", "uv", "python")
    for root in (versions, kept_by_uv):
        for found in sorted(root.glob(f"*/bin/{name}")):
            yield from _executable(found)


def _executable(file: Path) -> Iterator[Path]:
    """A program, and no script that stands for one and may refuse to run: pyenv's shims do."""
    try:
        with foreign.opened(file) as stream:
            if stream.read(len(_ELF)) == _ELF and os.access(file, os.X_OK):
                yield file
    except OSError:
        return
